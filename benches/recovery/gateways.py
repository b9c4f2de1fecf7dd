"""Starts and stops each gateway in front of the service, and gives their tools and results one
interface. `nothing` is a plain client of the API; all others are called over MCP with the official
Python SDK.
"""

import asyncio
import contextlib
import json
import os
import re
import socket
import sys
import tempfile
from pathlib import Path

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from agents import Seen
from direct import DirectClient
from reading import BOOLEAN
from tools import Tool

ROOT = Path(__file__).resolve().parents[2]
SCRATCH = ROOT / "target" / "recovery"
# The default timeout of a widely used SDK; every client here uses it.
CLIENT_SECONDS = 5
START_SECONDS = 30
FLIPPED = {"true": "false", "false": "true", "yes": "no", "no": "yes"}


class McpGateway:
    """A gateway behind an MCP client."""

    def __init__(self, client):
        self.client = client
        self.tools = []

    async def open(self):
        cursor = None
        while True:
            page = await self.client.list_tools(cursor=cursor)
            self.tools += [
                Tool(tool.name, tool.description or "", tool.input_schema) for tool in page.tools
            ]
            cursor = page.next_cursor
            if not cursor:
                return self

    async def call(self, tool, arguments):
        """The text that the agent sees; an exception of the SDK is shown as frameworks show it."""
        try:
            result = await self.client.call_tool(
                tool.name, arguments, read_timeout_seconds=CLIENT_SECONDS
            )
        except MCPError as error:
            return Seen(True, f"MCP error {error.error.code}: {error.error.message}")
        except Exception as error:  # frameworks show any exception of an SDK
            return Seen(True, f"{type(error).__name__}: {error}")
        first = result.content[0] if result.content else None
        text = first.text if first is not None and first.type == "text" else ""
        return Seen(bool(result.is_error), text)


class WithWrongBooleans:
    """Flips the booleans that a reader acts on, to prove that the benchmark detects it."""

    def __init__(self, gateway):
        self.gateway = gateway
        self.tools = gateway.tools

    async def call(self, tool, arguments):
        seen = await self.gateway.call(tool, arguments)
        return Seen(seen.is_error, BOOLEAN.sub(flipped, seen.text))


def flipped(found):
    start = found.start(2) - found.start()
    return found[0][:start] + FLIPPED[found[2].lower()]


@contextlib.asynccontextmanager
async def gateway(name, document, base, options):
    """Starts the named gateway in front of the service at `base`."""
    with tempfile.TemporaryDirectory(prefix="recovery-") as folder:
        path = Path(folder) / "openapi.json"
        path.write_text(json.dumps(document))
        async with STARTERS[name](path, base, Path(folder), options) as started:
            yield started


@contextlib.asynccontextmanager
async def nothing(path, base, _folder, _options):
    async with httpx2.AsyncClient(
        base_url=base, timeout=CLIENT_SECONDS, follow_redirects=True
    ) as client:
        yield DirectClient(json.loads(path.read_text()), client)


@contextlib.asynccontextmanager
async def panpan(path, base, folder, options):
    async with served(["--openapi", f"svc={path}@{base}"], folder, options) as started:
        yield started


@contextlib.asynccontextmanager
async def panpan_strict(path, base, folder, options):
    """The same with strict redaction, which passes on none of the service's texts."""
    source = f'[[openapi]]\nfile = "{path}"\nnamespace = "svc"\nurl = "{base}"\nredaction = "strict"\n'
    configuration = folder / "panpan.toml"
    configuration.write_text(source)
    async with served(["--config", str(configuration)], folder, options) as started:
        yield started


@contextlib.asynccontextmanager
async def served(source, folder, options):
    port = free_port()
    command = [
        str(options.panpan), "serve", *source,
        "--listen", f"127.0.0.1:{port}", "--store", "memory:", "--allow-anonymous=true",
        "--allow-host", "127.0.0.1", "--tools", "each", "--log-level", "error",
    ]  # fmt: skip
    async with over_http(command, f"http://127.0.0.1:{port}/mcp", folder) as started:
        yield WithWrongBooleans(started) if options.plant_wrong_boolean else started


@contextlib.asynccontextmanager
async def rmcp_openapi(path, base, folder, _options):
    port = free_port()
    command = [
        str(SCRATCH / "rust" / "bin" / "rmcp-openapi-server"), str(path), "--base-url", base,
        "--bind-address", "127.0.0.1", "--port", str(port),
    ]  # fmt: skip
    async with over_http(command, f"http://127.0.0.1:{port}/mcp", folder) as started:
        yield started


@contextlib.asynccontextmanager
async def fastmcp(path, base, folder, _options):
    server = Path(__file__).with_name("fastmcp_server.py")
    async with over_stdio([sys.executable, str(server), str(path), base], folder) as started:
        yield started


@contextlib.asynccontextmanager
async def openapi_mcp_server(path, base, folder, _options):
    program = SCRATCH / "node" / "node_modules" / ".bin" / "openapi-mcp-server"
    command = ["node", str(program), "--transport", "stdio", "--api-base-url", base,
               "--openapi-spec", str(path), "--tools", "all", "--disable-abbreviation", "true"]  # fmt: skip
    async with over_stdio(command, folder) as started:
        yield started


STARTERS = {
    "nothing": nothing,
    "panpan": panpan,
    "panpan-strict": panpan_strict,
    "fastmcp": fastmcp,
    "rmcp-openapi": rmcp_openapi,
    "openapi-mcp-server": openapi_mcp_server,
}


@contextlib.asynccontextmanager
async def over_http(command, url, folder):
    log = open(folder / "log", "wb")
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log
    )
    try:
        await until_listening(process, url, folder)
        async with Client(url) as client:
            yield await McpGateway(client).open()
    finally:
        if process.returncode is None:
            process.terminate()
            try:
                await asyncio.wait_for(process.wait(), 5)
            except asyncio.TimeoutError:
                process.kill()
                await process.wait()
        log.close()


@contextlib.asynccontextmanager
async def over_stdio(command, folder):
    parameters = StdioServerParameters(
        command=command[0], args=command[1:], cwd=folder, env={"PATH": os.environ["PATH"]}
    )
    with open(folder / "log", "w") as log:
        async with Client(stdio_client(parameters, errlog=log)) as client:
            yield await McpGateway(client).open()


async def until_listening(process, url, folder):
    host, port = re.match(r"http://([^:]+):(\d+)", url).groups()
    for _ in range(START_SECONDS * 10):
        if process.returncode is not None:
            log = (folder / "log").read_text(errors="replace")[-2000:]
            raise RuntimeError(f"the gateway ended with {process.returncode}:\n{log}")
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection(host, int(port))
            writer.close()
            return
        await asyncio.sleep(0.1)
    raise RuntimeError(f"the gateway did not listen within {START_SECONDS} s")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_installed(name, options):
    """Whether the program of a gateway is installed."""
    needed = {
        "panpan": options.panpan,
        "panpan-strict": options.panpan,
        "rmcp-openapi": SCRATCH / "rust" / "bin" / "rmcp-openapi-server",
        "openapi-mcp-server": SCRATCH / "node" / "node_modules" / ".bin" / "openapi-mcp-server",
    }
    return name not in needed or Path(needed[name]).exists()
