#!/usr/bin/env python3
"""Tests panpan with LangChain's MCP adapters, and checks what they pass to a model.

Usage: .venv-agents/langchain/bin/python scripts/langchain-client.py PATH_TO_PANPAN URL

Connects to the program over stdio and to the URL over Streamable HTTP. Uses no model.
Prints a line for each check. Exits 0 if the model would get the complete agent view of every failure,
1 if not, 2 if panpan could not be run.
Set-up: scripts/setup-agents
"""

import json
import os
import sys

from langchain_core.tools import ToolException
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

import agent_views
from checks import run

TIMEOUT_SECONDS = 60
CALL_ID = "call-1"
# If one of these is set, LangChain reports each call to a service.
REPORTING = ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2")

# tool, arguments, the text of the failure
FAILURES = [
    ("demo__divide", {"dividend": 1, "divisor": 0}, agent_views.DIVISION_BY_ZERO),
    ("demo__divide", {"dividend": 1, "divisor": "two"}, agent_views.WRONG_TYPE),
    ("demo__divide", {"divisor": "two"}, agent_views.MISSING_ARGUMENT),
    ("demo__fail", {"code": "ERR_HTTP_429_RATE_LIMITED"}, agent_views.RATE_LIMITED),
    ("demo__fail", {"code": "INTERNAL_ERROR"}, agent_views.INTERNAL),
    ("demo__fail", {"code": "ERR_TIMEOT"}, agent_views.UNKNOWN_CODE),
]


async def shown(tool, arguments):
    """The message about a call that a LangChain agent shows its model."""
    call = {"type": "tool_call", "id": CALL_ID, "name": tool.name, "args": arguments}
    message = await tool.ainvoke(call)
    blocks = [(block["type"], agent_views.without_id(block["text"])) for block in message.content]
    return message.type, message.status, message.tool_call_id, blocks


async def raised(tool, arguments):
    """The text of the exception when the adapters are configured to raise failures."""
    try:
        return await tool.ainvoke(arguments)
    except ToolException as error:
        return agent_views.without_id(str(error))


async def check(checks, connection):
    async with MultiServerMCPClient({"panpan": connection}).session("panpan") as session:
        showing = {tool.name: tool for tool in await load_mcp_tools(session)}
        raising = await load_mcp_tools(session, handle_tool_errors=False)
        raising = {tool.name: tool for tool in raising}
        for tool, arguments, view in FAILURES:
            what = f"{tool} {json.dumps(arguments)}"
            expected = ("tool", "error", CALL_ID, [("text", view)])
            found = await shown(showing[tool], arguments)
            checks.same(f"{what}, as the model sees it", expected, found)
            checks.same(f"{what}, raised", view, await raised(raising[tool], arguments))


async def drive(checks, program, url):
    for name in REPORTING:
        os.environ.pop(name, None)
    arguments = ["mcp", "--store", "memory:"]
    checks.where = "LangChain MCP adapters, PyPI, stdio"
    await check(checks, {"transport": "stdio", "command": program, "args": arguments})
    checks.where = "LangChain MCP adapters, PyPI, HTTP"
    await check(checks, {"transport": "http", "url": url})


if __name__ == "__main__":
    sys.exit(run(drive, __doc__, TIMEOUT_SECONDS))
