#!/usr/bin/env python3
"""Tests panpan with the official Python MCP SDK, used as an agent framework would use it.

Usage: .venv/bin/python scripts/mcp-client.py [--show] PATH_TO_PANPAN
       .venv/bin/python scripts/mcp-client.py [--show] URL

Connects to a program over stdio or to a URL over Streamable HTTP, in both protocol versions. For a URL, the
tokens of the server are in WATCH_TOKEN (scope panpan:watch) and PLAIN_TOKEN (no scope).
Prints a line for each check; with --show, also what a model would see of each call. The text of each failure
is compared in full with scripts/agent_views.py.
Exits 0 if all checks pass, 1 if one fails, 2 if panpan could not be run.
Set-up: scripts/setup-python
"""

import asyncio
import json
import logging
import os
import sys
import tempfile
from contextlib import asynccontextmanager

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

import agent_views
from checks import Checks

TIMEOUT_SECONDS = 30

# connection mode, and the protocol version that it has to negotiate
VERSIONS = [("auto", "2026-07-28"), ("legacy", "2025-11-25")]

# tool, arguments, the text of the failure (None for success)
CALLS = [
    ("demo__echo", {"hello": "world"}, None),
    ("demo__divide", {"dividend": 6, "divisor": 4}, None),
    ("demo__divide", {"dividend": 1, "divisor": 0}, agent_views.DIVISION_BY_ZERO),
    ("demo__divide", {"dividend": 1, "divisor": "two"}, agent_views.WRONG_TYPE),
    ("demo__divide", {"divisor": "two"}, agent_views.MISSING_ARGUMENT),
    ("demo__fail", {"code": "ERR_HTTP_429_RATE_LIMITED"}, agent_views.RATE_LIMITED),
    ("demo__fail", {"code": "INTERNAL_ERROR"}, agent_views.INTERNAL),
    ("demo__fail", {"code": "ERR_TIMEOT"}, agent_views.UNKNOWN_CODE),
    ("demo__flaky", {"failures": 2}, None),
    ("demo__flaky", {"failures": 9}, agent_views.STILL_UNAVAILABLE),
]
# Clients treat failures of tools with an output schema differently from those of tools without.
HAS_OUTPUT_SCHEMA = {"demo__divide": True, "demo__fail": False}
SCOPED_TOOL = "calls__recent"
UNKNOWN_TOOL = "demo__divde"
INVALID_PARAMS = -32602
FORBIDDEN = -32004
UNAUTHORIZED = 401
META_KEY = "dev.panpan/failure"
IDEMPOTENCY_META_KEY = "dev.panpan/idempotency"


class Warnings(logging.Handler):
    """Collects the warnings in the log of the SDK."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines = set()

    def emit(self, record):
        self.lines.add(record.getMessage())


def text_of(result):
    """What a model sees: the first text block."""
    return result.content[0].text if result.content else ""


def summary(result):
    """What a client sees of a call: the text for the model, and whether the failure in `_meta` is complete."""
    if not result.is_error:
        return {"is_error": False}
    whole = (result.meta or {}).get(META_KEY, {})
    same_id = f'"id":"{whole.get("id")}"' in text_of(result)
    return {
        "is_error": True,
        "blocks": [block.type for block in result.content],
        "text": agent_views.without_id(text_of(result)),
        "whole": {"code": whole.get("code"), "same_id": same_id, "has_time": "at" in whole},
    }


def expected_of(view):
    if view is None:
        return {"is_error": False}
    code = json.loads(view)["error"]["code"]
    return {
        "is_error": True,
        "blocks": ["text"],
        "text": view,
        "whole": {"code": code, "same_id": True, "has_time": True},
    }


def check_call(checks, tool, arguments, result, view):
    checks.same(f"{tool} {json.dumps(arguments)}", expected_of(view), summary(result))
    if checks.show:
        print(f"  {text_of(result)}")


async def call(client, tool, arguments, **options):
    return await client.call_tool(
        tool, arguments, read_timeout_seconds=TIMEOUT_SECONDS, **options
    )


async def check_client(checks, client, version):
    """The checks for every transport."""
    checks.same("the negotiated version", version, client.protocol_version)
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    found = {
        name: name in tools and tools[name].output_schema is not None for name in HAS_OUTPUT_SCHEMA
    }
    checks.same("the tools with an output schema", HAS_OUTPUT_SCHEMA, found)
    for tool, arguments, view in CALLS:
        check_call(checks, tool, arguments, await call(client, tool, arguments), view)
    await check_unknown_tool(checks, client)
    await check_progress(checks, client)


async def check_unknown_tool(checks, client):
    try:
        found = summary(await call(client, UNKNOWN_TOOL, {}))
    except MCPError as error:
        found = error.error.code
    checks.same(f"{UNKNOWN_TOOL}, which does not exist", INVALID_PARAMS, found)


async def check_progress(checks, client):
    reported = []

    async def note(progress, total, _message):
        reported.append((progress, total))

    result = await call(client, "demo__wait", {"ms": 500}, progress_callback=note)
    rises = all(before < after for before, after in zip(reported, reported[1:]))
    found = {
        "answer": result.structured_content,
        "reported": len(reported) > 1,
        "rises": rises,
        "totals": {total for _, total in reported},
    }
    expected = {"answer": {"waited_ms": 500}, "reported": True, "rises": True, "totals": {10}}
    checks.same("demo__wait reports its progress", expected, found)


async def check_orders(checks, connect, key):
    """A key returns the recorded order on every connection."""
    answers = []
    for item in ("widget", "widget", "gadget"):
        arguments = {"item": item, "idempotency_key": key}
        async with connect() as client:
            answers.append(await call(client, "demo__order", arguments))
        if checks.show:
            print(f"demo__order {json.dumps(arguments)}\n  {text_of(answers[-1])}")
    first, again, other = answers
    checks.same("a successful order", expected_of(None), summary(first))
    checks.same(
        "the same order with the same key", first.structured_content, again.structured_content
    )
    replayed = [
        bool((answer.meta or {}).get(IDEMPOTENCY_META_KEY, {}).get("replayed"))
        for answer in (first, again)
    ]
    checks.same("only the second is marked as replayed", [False, True], replayed)
    reused = expected_of(agent_views.key_reused(key))
    checks.same("another order with the same key", reused, summary(other))


async def check_scope(checks, client, view):
    """A tool that needs a scope is listed and callable with the scope only; `view` is the refusal, or None."""
    is_allowed = view is None
    names = {tool.name for tool in (await client.list_tools()).tools}
    what = "listed" if is_allowed else "not listed"
    checks.same(f"{SCOPED_TOOL} is {what}", is_allowed, SCOPED_TOOL in names)
    arguments = {"limit": 1}
    check_call(checks, SCOPED_TOOL, arguments, await call(client, SCOPED_TOOL, arguments), view)


async def check_wrong_token(checks, url, mode):
    statuses = set()
    try:
        async with over_http(url, mode, "wrong", statuses) as client:
            found = f"connected, {client.protocol_version}"
    except BaseExceptionGroup as group:
        found = [code_of(error) for error in leaves(group)]
    except MCPError as error:
        found = [error.error.code]
    checks.same("a wrong token is refused with a reason", [FORBIDDEN], found)
    checks.same("a wrong token always gets status 401", {UNAUTHORIZED}, statuses)


def code_of(error):
    return error.error.code if isinstance(error, MCPError) else repr(error)


def leaves(error):
    """All errors in a group, at any depth."""
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for inner in error.exceptions for leaf in leaves(inner)]


def over_stdio(program, store, mode="auto"):
    return Client(
        StdioServerParameters(command=program, args=["mcp", "--store", store]), mode=mode
    )


@asynccontextmanager
async def over_http(url, mode="auto", token=None, statuses=None):
    """A client with a token; adds the status of every response to the set."""

    async def note(response):
        if statuses is not None:
            statuses.add(response.status_code)

    headers = {"authorization": f"Bearer {token}"} if token else {}
    async with httpx2.AsyncClient(
        headers=headers, timeout=TIMEOUT_SECONDS, event_hooks={"response": [note]}
    ) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            yield client


async def drive_program(checks, program):
    checks.where = "Python SDK, stdio"
    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:{os.path.join(folder, 'outcomes.db')}"
        await check_orders(checks, lambda: over_stdio(program, store), "order-1")
    for mode, version in VERSIONS:
        checks.where = f"Python SDK, stdio, {version}"
        async with over_stdio(program, "memory:", mode) as client:
            await check_client(checks, client, version)


async def drive_url(checks, url):
    for mode, version in VERSIONS:
        where = f"Python SDK, HTTP, {version}"
        checks.where = where
        async with over_http(url, mode) as client:
            await check_client(checks, client, version)
        await check_orders(checks, lambda: over_http(url, mode), f"order-{version}")
        for who, token, view in [
            ("without a token", None, agent_views.forbidden(authenticated=False)),
            ("without the scope", os.environ["PLAIN_TOKEN"], agent_views.forbidden(authenticated=True)),
            ("with the scope", os.environ["WATCH_TOKEN"], None),
        ]:
            checks.where = f"{where}, {who}"
            async with over_http(url, mode, token) as client:
                await check_scope(checks, client, view)
        checks.where = where
        await check_wrong_token(checks, url, mode)


def main():
    arguments = sys.argv[1:]
    show = arguments[:1] == ["--show"]
    if len(arguments) != 1 + show:
        print(__doc__, file=sys.stderr)
        return 2
    target, checks = arguments[-1], Checks(show)
    is_url = target.startswith(("http://", "https://"))
    warnings = Warnings()
    logging.getLogger("mcp").addHandler(warnings)
    try:
        driven = drive_url(checks, target) if is_url else drive_program(checks, target)
        asyncio.run(asyncio.wait_for(driven, timeout=4 * TIMEOUT_SECONDS))
    except KeyError as missing:
        print(f"could not run {target}: {missing} is not set", file=sys.stderr)
        return 2
    except (OSError, TimeoutError, MCPError, httpx2.HTTPError, ExceptionGroup) as error:
        print(f"could not run {target}: {error!r}", file=sys.stderr)
        return 2
    checks.where = "Python SDK"
    checks.same("the SDK logs no warning", set(), warnings.lines)
    return 1 if checks.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
