#!/usr/bin/env python3
"""Tests panpan with the MCP client of the OpenAI Agents SDK, and checks what it passes to its model.

Usage: .venv-agents/openai/bin/python scripts/openai-client.py PATH_TO_PANPAN URL

Connects to the program over stdio and to the URL over Streamable HTTP. Uses no real model: a stand-in calls
a tool and keeps what the SDK shows it of the result.
Prints a line for each check. Exits 0 if the model gets the complete agent view of every failure,
1 if not, 2 if panpan could not be run.
Set-up: scripts/setup-agents
"""

import json
import sys

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

import agent_views
from checks import run

TIMEOUT_SECONDS = 60
CALL_ID = "call-1"
META_KEY = "dev.panpan/failure"

# tool, arguments, the text of the failure
FAILURES = [
    ("demo__divide", {"dividend": 1, "divisor": 0}, agent_views.DIVISION_BY_ZERO),
    ("demo__divide", {"dividend": 1, "divisor": "two"}, agent_views.WRONG_TYPE),
    ("demo__fail", {"code": "ERR_HTTP_429_RATE_LIMITED"}, agent_views.RATE_LIMITED),
    ("demo__fail", {"code": "INTERNAL_ERROR"}, agent_views.INTERNAL),
    ("demo__fail", {"code": "ERR_TIMEOT"}, agent_views.UNKNOWN_CODE),
]
# The SDK refuses a call without a required argument itself; it does not reach panpan.
REFUSED = ("demo__divide", {"divisor": "two"})
REFUSAL = "An error occurred while running the tool. Please try again."


class OneCall(Model):
    """A stand-in for a model: calls a tool once, and keeps the last input it got."""

    def __init__(self, tool, arguments):
        self.shown = None
        self.call = ResponseFunctionToolCall(
            type="function_call", call_id=CALL_ID, name=tool, arguments=json.dumps(arguments)
        )

    async def get_response(self, system_instructions, input, *_, **__):
        self.shown = input[-1]
        is_answered = self.shown.get("type") == "function_call_output"
        text = ResponseOutputText(type="output_text", text="done", annotations=[])
        answer = ResponseOutputMessage(
            type="message", id="message-1", role="assistant", status="completed", content=[text]
        )
        output = [answer if is_answered else self.call]
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *_, **__):
        raise NotImplementedError


async def shown(server, tool, arguments):
    """The input that the model gets after a call."""
    model = OneCall(tool, arguments)
    await Runner.run(Agent(name="caller", mcp_servers=[server], model=model), "go")
    return json.loads(json.dumps(model.shown))


def output_of(output):
    return {"type": "function_call_output", "call_id": CALL_ID, "output": output}


async def check(checks, server):
    for tool, arguments, view in FAILURES:
        what = f"{tool} {json.dumps(arguments)}"
        found = await shown(server, tool, arguments)
        for block in found["output"] if isinstance(found["output"], list) else []:
            block["text"] = agent_views.without_id(block["text"])
        expected = output_of([{"type": "input_text", "text": view}])
        checks.same(f"{what}, as the model sees it", expected, found)
        result = await server.call_tool(tool, arguments)
        texts = [agent_views.without_id(block.text) for block in result.content]
        whole = (result.meta or {}).get(META_KEY, {}).get("code")
        code = json.loads(view)["error"]["code"]
        checks.same(what, (True, [view], code), (result.is_error, texts, whole))
    tool, arguments = REFUSED
    what = f"{tool} {json.dumps(arguments)}, which the SDK refuses itself"
    checks.same(what, output_of(REFUSAL), await shown(server, tool, arguments))


async def drive(checks, program, url):
    set_tracing_disabled(True)
    # With the default settings, which include a timeout of five seconds.
    stdio = MCPServerStdio({"command": program, "args": ["mcp", "--store", "memory:"]})
    for transport, server in [("stdio", stdio), ("HTTP", MCPServerStreamableHttp({"url": url}))]:
        checks.where = f"OpenAI Agents SDK, PyPI, {transport}"
        async with server:
            await check(checks, server)


if __name__ == "__main__":
    sys.exit(run(drive, __doc__, TIMEOUT_SECONDS))
