#!/usr/bin/env python3
"""Tests panpan in front of MCP servers and an HTTP service, with the official Python MCP SDK.

Usage: .venv/bin/python scripts/gateway-client.py PATH_TO_PANPAN NODE MODULES FOLDER FASTMCP URL URL

NODE is the path of Node.js, MODULES the folder of the npm servers, FOLDER the folder that the filesystem server may
read, FASTMCP a server that sends elicitations. The URLs are those of the everything server and of FASTMCP.
A local HTTP service returns responses that its description does not declare.
Exits 0 if all checks pass, 1 if one fails.
"""

import asyncio
import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from mcp import Client, StdioServerParameters
from mcp.types import ElicitResult

TIMEOUT_SECONDS = 60

DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Pets", "version": "1"},
    "paths": {
        "/pets/{id}": {
            "get": {
                "operationId": "getPet",
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
                "responses": {
                    "200": {
                        "description": "A pet.",
                        "content": {
                            "application/json": {
                                "schema": {
                                    "type": "object",
                                    "required": ["name"],
                                    "properties": {"name": {"type": "string"}},
                                }
                            }
                        },
                    },
                    "404": {"description": "There is no such pet."},
                },
            }
        }
    },
}


class Pets(BaseHTTPRequestHandler):
    """A pet that matches its schema, one that does not, one behind a rate limit, and 404 for all others."""

    def do_GET(self):
        status, body = {
            "/pets/1": (200, {"name": "Ada"}),
            "/pets/2": (200, {"name": 2}),
            "/pets/3": (429, {"message": "slow down"}),
        }.get(self.path, (404, {"message": "there is no such pet"}))
        written = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(written)))
        if status == 429:
            self.send_header("retry-after", "120")
        self.end_headers()
        self.wfile.write(written)

    def log_message(self, *_):
        pass


wrong = 0


def same(what, expected, found):
    global wrong
    if expected == found:
        print(f"ok     {what}")
        return
    wrong += 1
    print(f"WRONG  {what}\n  expected {expected}\n  found    {found}")


def text_of(result):
    return result.content[0].text if result.content else ""


async def drive(panpan, node, modules, folder):
    service = ThreadingHTTPServer(("127.0.0.1", 0), Pets)
    threading.Thread(target=service.serve_forever, daemon=True).start()
    document = Path(folder, "pets.json")
    document.write_text(json.dumps(DOCUMENT))
    module = f"{modules}/@modelcontextprotocol"
    arguments = ["mcp", "--store", "memory:"]
    arguments += ["--openapi", f"pets={document}@http://127.0.0.1:{service.server_port}"]
    arguments += ["--mcp-stdio", f"everything={node} {module}/server-everything/dist/index.js stdio"]
    arguments += ["--mcp-stdio", f"files={node} {module}/server-filesystem/dist/index.js {folder}"]
    async with Client(StdioServerParameters(command=panpan, args=arguments)) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        for name in ("pets__getPet", "everything__echo", "files__read_text_file"):
            same(f"{name} is a tool", True, name in tools)
        same("a pet", {"name": "Ada"}, (await client.call_tool("pets__getPet", {"id": 1})).structured_content)
        odd = await client.call_tool("pets__getPet", {"id": 2})
        same("a pet that breaks its schema is delivered", (False, {"name": 2}), (odd.is_error, json.loads(text_of(odd))))
        for arguments, code in [({"id": 9}, "HTTP_404"), ({"id": 3}, "HTTP_429"), ({"id": "x"}, "INVALID_INPUT")]:
            result = await client.call_tool("pets__getPet", arguments)
            same(f"{arguments} fails with {code}", (True, code), (result.is_error, json.loads(text_of(result))["error"]["code"]))
        limited = json.loads(text_of(await client.call_tool("pets__getPet", {"id": 3})))
        same("the delay is passed on", 120_000, limited["error"]["retry_after_ms"])
        echo = await client.call_tool("everything__echo", {"message": "hello"})
        same("an echo", (False, True), (echo.is_error, "hello" in text_of(echo)))
        denied = await client.call_tool("files__read_text_file", {"path": "/etc/hostname"})
        same("a file outside the folder", (True, "TOOL_FAILED"), (denied.is_error, json.loads(text_of(denied))["error"]["code"]))
        resources = (await client.list_resources()).resources
        same("resources are passed on", True, len(resources) > 0)
        read = await client.read_resource(str(resources[0].uri))
        same("a resource is read", True, len(read.contents) > 0)
        prompts = (await client.list_prompts()).prompts
        simple = next((prompt.name for prompt in prompts if not prompt.arguments), None)
        same("prompts are passed on", True, simple is not None and simple.startswith("everything__"))
        filled = await client.get_prompt(simple)
        same("a prompt is filled in", True, len(filled.messages) > 0)
    service.shutdown()


def person(action, content=None):
    """An elicitation callback that gives the same reply to every question."""

    async def says(_, asked):
        content_of = {"Book": "value", "Rese": "name", "Plea": "name"}[asked.message[:4]]
        return ElicitResult(action=action, content=content and {content_of: content})

    return says


def configured(folder, name, servers):
    """Writes a configuration with these servers (namespace, URL or command, sessions) and returns its path."""
    tables = []
    for namespace, reached, sessions in servers:
        place = "url" if isinstance(reached, str) else "command"
        tables += ["[[mcp_servers]]", f"namespace = {json.dumps(namespace)}"]
        tables += [f"{place} = {json.dumps(reached)}", f"sessions = {json.dumps(sessions)}"]
    config = Path(folder, name)
    config.write_text("\n".join(tables))
    return str(config)


async def ask(server, what):
    """Elicitations reach the caller in both protocol versions; a client accepts, declines or cannot be asked."""
    tools = [
        ("everything__trigger-elicitation-request", {}),
        ("lasting__book", {"what": "a room"}),
        ("single__reserve", {"what": "a seat"}),
    ]
    for mode in ("legacy", "auto"):
        for said, expected in [(("accept", "Ada"), "Ada"), (("decline",), "decline"), (None, None)]:
            callback = person(*said) if said else None
            async with Client(server, mode=mode, elicitation_callback=callback) as client:
                listed = {tool.name for tool in (await client.list_tools()).tools}
                for tool, arguments in tools:
                    if not said and tool.startswith("everything__"):
                        # As directly, this server has it only for a client that can be asked.
                        fails = tool not in listed or (await client.call_tool(tool, arguments)).is_error
                        same(f"{tool} has no output {what} in mode {mode}, reply {said}", True, fails)
                        continue
                    result = await client.call_tool(tool, arguments)
                    asked = f"{tool} asks {what} in mode {mode}, reply {said}"
                    if said:
                        text = " ".join(block.text for block in result.content)
                        same(asked, (False, True), (bool(result.is_error), expected in text))
                        continue
                    error = json.loads(text_of(result))["error"]
                    same(asked, (True, "TOOL_FAILED"), (result.is_error, error["code"]))
                    helps = [action for action in error["actions"] if "elicitation" in action]
                    same("an action names elicitation", 1, len(helps))


async def ask_on_pipes(panpan, node, modules, folder, fastmcp):
    everything = f"{modules}/@modelcontextprotocol/server-everything/dist/index.js"
    servers = [
        ("everything", [node, everything, "stdio"], False),
        ("lasting", [sys.executable, fastmcp], True),
        ("single", [sys.executable, fastmcp], False),
    ]
    config = configured(folder, "pipes.toml", servers)
    await ask(StdioServerParameters(command=panpan, args=["mcp", "--store", "memory:", "--config", config]), "over stdio")


async def ask_over_http(panpan, folder, everything_url, fastmcp_url):
    servers = [("everything", everything_url, False), ("lasting", fastmcp_url, True), ("single", fastmcp_url, False)]
    config = configured(folder, "http.toml", servers)
    command = [panpan, "serve", "--listen", "127.0.0.1:0", "--store", "memory:", "--config", config]
    gateway = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    try:
        while not (found := re.search(r"http://127\.0\.0\.1:\d+", (await gateway.stderr.readline()).decode())):
            pass
        unread = asyncio.create_task(gateway.stderr.read())
        await ask(f"{found[0]}/mcp", "over HTTP")
        gateway.terminate()
        same("panpan ends on SIGTERM", 0, await gateway.wait())
        await unread
    finally:
        if gateway.returncode is None:
            gateway.kill()


def main():
    panpan, node, modules, folder, fastmcp, everything_url, fastmcp_url = sys.argv[1:]
    for work in (
        drive(panpan, node, modules, folder),
        ask_on_pipes(panpan, node, modules, folder, fastmcp),
        ask_over_http(panpan, folder, everything_url, fastmcp_url),
    ):
        asyncio.run(asyncio.wait_for(work, TIMEOUT_SECONDS))
    sys.exit(1 if wrong else 0)


main()
