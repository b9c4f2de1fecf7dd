"""A FastMCP server whose tools fail as such servers do: by their own errors, and by those of a service behind them.
scripts/upstreams checks what panpan returns for them.

Usage: fastmcp-server.py [PORT]

Serves stdin and stdout, or http://127.0.0.1:PORT/mcp.
"""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import httpx2
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from mcp.types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult


class Service(BaseHTTPRequestHandler):
    """Answers /status/404 with that status."""

    def do_GET(self):
        body = b'{"detail": "no", "token": "sk-live-abcdefghijklmnopqrstuvwxyz012345"}'
        self.send_response(int(self.path.rsplit("/", 1)[1]))
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


service = ThreadingHTTPServer(("127.0.0.1", 0), Service)
Thread(target=service.serve_forever, daemon=True).start()
integer = {"type": "integer"}
document = {
    "openapi": "3.1.0",
    "info": {"title": "service", "version": "1"},
    "paths": {
        "/status/{status}": {
            "get": {
                "operationId": "get_status",
                "parameters": [{"name": "status", "in": "path", "required": True, "schema": integer}],
                "responses": {"200": {"description": "fine"}},
            }
        }
    },
}
base = f"http://127.0.0.1:{service.server_port}"
server = FastMCP.from_openapi(document, client=httpx2.AsyncClient(base_url=base), name="failing")


@server.tool(annotations={"readOnlyHint": True})
def add(one: int, other: int) -> int:
    """Adds two numbers."""
    return one + other


@server.tool(annotations={"readOnlyHint": True})
def refuse(reason: str) -> str:
    """Fails with a reason."""
    raise ToolError(reason)


@server.tool
def crash() -> str:
    """Fails with a bug."""
    return {}["missing"]


@server.tool
async def book(what: str, ctx: Context) -> str:
    """Asks the user with an elicitation request in the session."""
    reply = await ctx.elicit(f"Book {what} for whom?", response_type=str)
    return f"{reply.action} {getattr(reply, 'data', '')}".strip()


@server.tool
async def reserve(what: str, ctx: Context) -> str | InputRequiredResult:
    """Asks the user with an input request in the response, for clients without sessions."""
    replies = ctx.input_responses
    if replies is None:
        name = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        params = ElicitRequestFormParams(message=f"Reserve {what} for whom?", requested_schema=name)
        question = ElicitRequest(params=params)
        return InputRequiredResult(input_requests={"name": question}, request_state=what)
    reply = replies["name"]
    return f"{reply.action} {(reply.content or {}).get('name', '')}".strip()


@server.resource("note://today", name="today")
def today() -> str:
    return "Nothing happened."


@server.prompt
def greet(who: str) -> str:
    """Greets a person."""
    return f"Greet {who}."


if len(sys.argv) > 1:
    server.run(transport="http", host="127.0.0.1", port=int(sys.argv[1]), show_banner=False)
else:
    server.run(show_banner=False)
