"""The service: a raw HTTP/1.1 server on loopback that plays the scenarios and counts what it sees.
It implements HTTP itself, so that it can cut connections, hang and send bytes that no library would send.
"""

import asyncio
import json
import time
from collections import Counter
from dataclasses import dataclass, field
from email.utils import formatdate
from http import HTTPStatus
from urllib.parse import parse_qsl, urlsplit

import planted
from contract import KEY_HEADER

HANG_SECONDS = 60
FINAL = "/final"


@dataclass
class Record:
    """What the service has seen of one endpoint since the task began."""

    calls: int = 0
    checks: int = 0
    # calls that repeated a write whose outcome was unknown, without a check and without its key
    blind_repeats: int = 0
    items: list = field(default_factory=list)
    answers_by_key: dict = field(default_factory=dict)
    is_open: bool = False
    open_key: str | None = None
    hits: Counter = field(default_factory=Counter)
    first_hits: dict = field(default_factory=dict)

    @property
    def effects(self):
        return len(self.items)


@dataclass
class Request:
    method: str
    path: str
    arguments: dict
    key: str | None


class Service:
    """Plays the scenarios at `base`; `reset` starts a new task."""

    def __init__(self, scenarios):
        self.endpoints = {
            endpoint.operation.path: endpoint
            for scenario in scenarios
            for endpoint in scenario.endpoints
        }
        self.records = {}
        self.base = ""
        self.server = None

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        port = self.server.sockets[0].getsockname()[1]
        self.base = f"http://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_):
        self.server.close()

    def reset(self, scenario):
        for endpoint in scenario.endpoints:
            self.records[endpoint.operation.path] = Record()

    def record(self, endpoint):
        return self.records.setdefault(endpoint.operation.path, Record())

    async def serve(self, reader, writer):
        try:
            request = await read_request(reader)
            if request:
                await self.answer(request, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, ValueError):
            pass
        finally:
            writer.close()

    async def answer(self, request, reader, writer):
        path = request.path
        if path.endswith(FINAL) and path.removesuffix(FINAL) in self.endpoints:
            endpoint = self.endpoints[path.removesuffix(FINAL)]
            await send(writer, 200, body={"value": endpoint.value, "reference": endpoint.value})
        elif path not in self.endpoints:
            await send(writer, 404, body={"error": "there is no such path"})
        elif request.method == "GET" and not self.endpoints[path].operation.is_read:
            record = self.record(self.endpoints[path])
            record.checks += 1
            record.is_open = False
            await send(writer, 200, body={"items": record.items})
        elif request.method != self.endpoints[path].operation.method:
            await send(writer, 405, body={"error": "method not allowed"})
        else:
            await self.play(self.endpoints[path], request, reader, writer)

    async def play(self, endpoint, request, reader, writer):
        record = self.record(endpoint)
        record.calls += 1
        key = request.key if endpoint.operation.has_key else None
        if record.is_open and (key is None or key != record.open_key):
            record.blind_repeats += 1
        if key in record.answers_by_key:
            await send(writer, 201, body=record.answers_by_key[key])
            return
        rule, seconds_left = matching(endpoint.rules, record, request.arguments)
        status = rule.get("status", 200 if endpoint.operation.is_read else 201)
        done = success_body(endpoint, record, request)
        is_write = not endpoint.operation.is_read
        if is_write and rule.get("effect", status < 300 and not rule.get("cut")):
            record.items.append(done)
            if key is not None:
                record.answers_by_key[key] = done
        is_doubtful = status >= 500 or "cut" in rule or "hang" in rule
        record.is_open = is_write and rule.get("open", is_doubtful)
        record.open_key = key
        await asyncio.sleep(rule.get("delay_seconds", 0))
        await self.perform(rule, seconds_left, status, done, reader, writer)

    async def perform(self, rule, seconds_left, status, done, reader, writer):
        """Sends the response of the rule, cuts it off, or hangs."""
        if rule.get("hang"):
            await wait_for_end(reader)
            return
        if rule.get("cut") == "answer":
            return
        body = payload(rule, seconds_left, self.base, done)
        headers = planted.fill(rule.get("headers", {}), seconds_left, self.base)
        content_type = rule.get("content_type", "text/plain" if "text" in rule else None)
        cut = rule.get("cut") == "body"
        await send(writer, status, headers, body, content_type, cut)


def matching(rules, record, arguments):
    """The first rule that applies now, and for how many more seconds it applies."""
    for index, rule in enumerate(rules):
        if "when" in rule and not holds(rule["when"], arguments):
            continue
        if record.hits[index] >= rule.get("times", float("inf")):
            continue
        first = record.first_hits.get(index, time.monotonic())
        seconds_left = first + rule.get("for_seconds", 0) - time.monotonic()
        if "for_seconds" in rule and seconds_left <= 0:
            continue
        record.first_hits[index] = first
        record.hits[index] += 1
        return rule, max(seconds_left, 0)
    return {}, 0


def holds(conditions, arguments):
    """Whether every condition on the arguments holds: {"limit": {"above": 100}}."""
    return all(
        condition_holds(condition, arguments.get(name), name in arguments)
        for name, wanted in conditions.items()
        for condition in wanted.items()
    )


def condition_holds(condition, value, is_there):
    match condition:
        case ("missing", expected):
            return is_there != expected
        case ("above", bound):
            return is_there and number(value) > bound
        case ("below", bound):
            return is_there and number(value) < bound
        case ("not_in", allowed):
            return is_there and value not in allowed
        case ("not_integer", _):
            return is_there and (not isinstance(value, int) or isinstance(value, bool))
    raise ValueError(f"unknown condition {condition}")


def number(value):
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("inf")


def success_body(endpoint, record, request):
    if endpoint.operation.is_read:
        return {"value": endpoint.value}
    return {"id": len(record.items) + 1, **request.arguments}


def payload(rule, seconds_left, base, done):
    """The bytes of a body, or a value that becomes JSON."""
    if "hexadecimal" in rule:
        return bytes.fromhex(rule["hexadecimal"])
    if "text" in rule:
        text = planted.fill(rule["text"], seconds_left, base)
        return (text * (rule.get("fill", 0) // max(len(text), 1) or 1)).encode()
    return planted.fill(rule["body"], seconds_left, base) if "body" in rule else done


async def send(writer, status, headers=(), body=None, content_type=None, cut=False):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    if status in (204, 304):
        raw = b""
    lines = {
        "Date": formatdate(usegmt=True),
        "Content-Type": content_type or "application/json",
        "Content-Length": str(len(raw)),
        "Connection": "close",
        **dict(headers),
    }
    if status == 204:
        lines.pop("Content-Type")
        lines.pop("Content-Length")
    head = f"HTTP/1.1 {status} {reason_of(status)}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in lines.items()) + "\r\n"
    writer.write(head.encode("latin-1") + (raw[: len(raw) // 2] if cut else raw))
    await writer.drain()


def reason_of(status):
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"


async def wait_for_end(reader):
    """Waits until the client gives up, or for HANG_SECONDS."""
    try:
        await asyncio.wait_for(reader.read(1), HANG_SECONDS)
    except asyncio.TimeoutError:
        pass


async def read_request(reader):
    line = (await reader.readline()).decode("latin-1").split()
    if len(line) != 3:
        return None
    headers = {}
    while (raw := (await reader.readline()).decode("latin-1").strip()) != "":
        name, _, value = raw.partition(":")
        headers[name.strip().lower()] = value.strip()
    body = await read_body(reader, headers)
    target = urlsplit(line[1])
    arguments = dict(parse_qsl(target.query, keep_blank_values=True))
    if body:
        value = json.loads(body)
        arguments |= value if isinstance(value, dict) else {}
    return Request(line[0], target.path, arguments, headers.get(KEY_HEADER.lower()))


async def read_body(reader, headers):
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(int(headers.get("content-length", 0)))
    body = b""
    while size := int((await reader.readline()).split(b";")[0], 16):
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return body
