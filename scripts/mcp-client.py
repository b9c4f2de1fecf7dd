#!/usr/bin/env python3
"""Drives `panpan mcp` with the official Python SDK, the way an agent framework would.

Usage: .venv/bin/python scripts/mcp-client.py PATH_TO_PANPAN

Speaks both protocol versions, one after the other. Prints what a model would see of each call, its
first text block. Exits 0 when every failure is typed
as expected, 1 when one is not, 2 when the program could not be driven at all.
Set-up: scripts/setup-python
"""

import asyncio
import json
import os
import sys
import tempfile

from mcp import Client, MCPError, StdioServerParameters

TIMEOUT_SECONDS = 30

# how to connect, and the version that has to come of it
VERSIONS = [("auto", "2026-07-28"), ("legacy", "2025-11-25")]

# tool, arguments, expected code (None for success), whether the bot dialect calls it retryable
CALLS = [
    ("demo__echo", {"hello": "world"}, None, None),
    ("demo__divide", {"dividend": 6, "divisor": 4}, None, None),
    ("demo__divide", {"dividend": 1, "divisor": 0}, "DIVISION_BY_ZERO", True),
    ("demo__divide", {"divisor": "two"}, "INVALID_INPUT", True),
    ("demo__fail", {"code": "ERR_HTTP_429_RATE_LIMITED"}, "ERR_HTTP_429_RATE_LIMITED", True),
    ("demo__fail", {"code": "INTERNAL_ERROR"}, "INTERNAL_ERROR", False),
    ("demo__fail", {"code": "ERR_TIMEOT"}, "INVALID_INPUT_ERROR", True),
    ("demo__flaky", {"failures": 2}, None, None),
    ("demo__flaky", {"failures": 9}, "ERR_HTTP_503_UNAVAILABLE", True),
]
UNKNOWN_TOOL = "demo__divde"
INVALID_PARAMS = -32602
META_KEY = "dev.panpan/failure"
IDEMPOTENCY_META_KEY = "dev.panpan/idempotency"


def problems_of(result, code, retryable):
    """What is wrong with the answer of one call."""
    if code is None:
        if result.is_error:
            yield "a good call answered with isError"
        return
    if not result.is_error:
        yield "a failing call answered without isError"
    try:
        error = json.loads(result.content[0].text)["error"]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as problem:
        yield f"the first text block is not a failure: {problem!r}"
        return
    if error.get("code") != code:
        yield f"the code is {error.get('code')}, not {code}"
    recovery = error.get("recovery", {})
    if recovery.get("is_retryable") is not retryable:
        yield f"is_retryable is {recovery.get('is_retryable')}, not {retryable}"
    ways = ("retry_strategy", "alternatives", "required_actions")
    if not any(recovery.get(way) for way in ways):
        yield "there is no way forward"
    whole = (result.meta or {}).get(META_KEY, {})
    if whole.get("code") != code or not whole.get("id") or not whole.get("at"):
        yield f"_meta does not hold the whole failure: {whole}"


async def check_calls(client):
    found = 0
    for tool, arguments, code, retryable in CALLS:
        result = await client.call_tool(tool, arguments, read_timeout_seconds=TIMEOUT_SECONDS)
        print(f"{tool} {json.dumps(arguments)}\n  {result.content[0].text}")
        for problem in problems_of(result, code, retryable):
            print(f"  WRONG: {problem}")
            found += 1
    return found


async def check_unknown_tool(client):
    try:
        await client.call_tool(UNKNOWN_TOOL, {}, read_timeout_seconds=TIMEOUT_SECONDS)
    except MCPError as error:
        print(f"{UNKNOWN_TOOL}\n  {error.error.code} {error.error.message} {error.error.data}")
        return 0 if error.error.code == INVALID_PARAMS else 1
    print(f"{UNKNOWN_TOOL}\n  WRONG: a tool that does not exist was called")
    return 1


async def order(program, store, item):
    """Orders something under one and the same key, from a server that was just started."""
    server = StdioServerParameters(command=program, args=["mcp", "--store", f"sqlite:{store}"])
    async with Client(server) as client:
        arguments = {"item": item, "idempotency_key": "order-1"}
        result = await client.call_tool(
            "demo__order", arguments, read_timeout_seconds=TIMEOUT_SECONDS
        )
        print(f"demo__order {json.dumps(arguments)}\n  {result.content[0].text}")
        return result


async def check_orders(program):
    """What was ordered under a key stays ordered, whatever becomes of the server."""
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "outcomes.db")
        first = await order(program, store, "widget")
        again = await order(program, store, "widget")
        other = await order(program, store, "gadget")
    found = 0
    if first.is_error or first.structured_content != again.structured_content:
        print("  WRONG: the same order was placed twice")
        found += 1
    if not (again.meta or {}).get(IDEMPOTENCY_META_KEY, {}).get("replayed"):
        print("  WRONG: a replay does not say that it is one")
        found += 1
    for problem in problems_of(other, "ERR_IDEMPOTENCY_KEY_REUSED", True):
        print(f"  WRONG: {problem}")
        found += 1
    return found


async def check_version(program, mode, version):
    server = StdioServerParameters(command=program, args=["mcp"])
    async with Client(server, mode=mode) as client:
        listed = await client.list_tools()
        tools = ", ".join(tool.name for tool in listed.tools)
        print(f"protocol {client.protocol_version}, tools {tools}")
        found = await check_calls(client) + await check_unknown_tool(client)
        if client.protocol_version != version:
            print(f"  WRONG: connecting as {mode} did not give {version}")
            found += 1
        return found


async def drive(program):
    found = await check_orders(program)
    for mode, version in VERSIONS:
        found += await check_version(program, mode, version)
    return found


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        found = asyncio.run(asyncio.wait_for(drive(sys.argv[1]), timeout=2 * TIMEOUT_SECONDS))
    except (OSError, TimeoutError, MCPError, ExceptionGroup) as error:
        print(f"could not drive {sys.argv[1]}: {error!r}", file=sys.stderr)
        return 2
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
