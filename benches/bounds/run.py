"""Measures the cost of one hostile caller: responses larger than the request, and responses that it does not read.

Starts panpan on loopback and measures figures with a limit:

- an input with 330,000 unknown members: the size of the failure over every protocol, and the processor time as a
  multiple of that for an input of the same size to an unknown operation;
- an input of 4 MB full of labels such as `password=`: the same processor time;
- the same input repeatedly: how many requests are read before the rate limit refuses them;
- 400 connections that request 4 MB each and read nothing: the memory during that time and afterwards.

Exits 1 if a limit is exceeded. `--plant-unbounded` simulates a server without bounds: it raises the limits out of
reach, uses an echo of the input as the failure, and counts eight calls as one. It exits 1 if every figure exceeds its
limit, except the memory afterwards.
"""

import argparse
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MEMBERS = 330_000
FAILURE_BYTES = 64 * 1024
AGENT_VIEW_BYTES = 4 * 1024
CPU_RATIO = 3.0
ASKED_AGAIN = 60
CALLS_PER_SECOND = 1
READERS = 400
ANSWER_BYTES = 3_900_000
# Unread responses of one caller, responses in progress, and the process itself.
READERS_MB = 300
# Memory of the idle process beyond that before the first request.
AFTERWARDS_MB = 40


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--panpan", type=Path, default=ROOT / "target" / "release" / "panpan")
    parser.add_argument("--plant-unbounded", action="store_true")
    options = parser.parse_args()
    figures = [*amplified(options), *unread(options)]
    for name, figure, limit, unit in figures:
        print(f"{name:<58} {figure:>12,.1f} {limit:>10,.0f} {unit:<6} {'' if figure <= limit else 'EXCEEDED'}")
    exceeded = [figure > limit for _, figure, limit, _ in figures]
    if options.plant_unbounded:
        # The allocator decides how much memory is returned afterwards, whatever the limits are.
        sys.exit(1 if all(exceeded[:-1]) else 0)
    sys.exit(1 if any(exceeded) else 0)


class Server:
    """A panpan server with a memory store and its own settings."""

    def __init__(self, options, **settings):
        self.folder = tempfile.TemporaryDirectory(prefix="bounds-")
        environment = {"PATH": os.environ["PATH"], "HOME": self.folder.name, "PANPAN_STORE": "memory:", **settings}
        self.log = open(Path(self.folder.name) / "log", "wb")
        self.port = free_port()
        command = [str(options.panpan.resolve()), "serve", "--listen", f"127.0.0.1:{self.port}", "--demo"]
        self.process = subprocess.Popen(
            command, env=environment, stdout=self.log, stderr=self.log, cwd=self.folder.name
        )
        self.wait_until_ready()

    def wait_until_ready(self):
        for _ in range(300):
            if self.process.poll() is not None:
                break
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.1)
        sys.exit((Path(self.folder.name) / "log").read_text() or "panpan did not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)
        self.folder.cleanup()

    def memory_mb(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def processor_seconds(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def ask(self, path, body, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"content-type": "application/json", **headers}
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        said = answer.read()
        connection.close()
        return answer.status, said


def free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def compact(document):
    return json.dumps(document, separators=(",", ":"))


def amplified(options):
    members = {f"m{number}": 1 for number in range(MEMBERS)}
    operation = "demo/echo" if options.plant_unbounded else "demo/divide"
    tool = operation.replace("/", "__")
    call = compact({"operation": operation, "input": members})
    nowhere = compact({"operation": "demo/absent", "input": members})
    suspect = {"code": "ERR_TIMEOUT", "message": "password=x1 " * (len(call) // 12)}
    labels = compact({"operation": "demo/fail", "input": suspect})
    rpc = compact({"jsonrpc": "2.0", "id": 1, "method": operation, "params": members})
    params = {"name": tool, "arguments": members, "_meta": MCP_META}
    mcp = compact({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    mcp_headers = {
        "accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call", "mcp-name": tool,
    }  # fmt: skip
    with Server(options) as server:
        largest = max(
            len(server.ask(path, call)[1])
            for path in ["/call"] + [f"/call?dialect={it}" for it in "flat bot outcome problem mcp grpc".split()]
        )
        largest = max(largest, len(server.ask("/rpc", rpc)[1]))
        for body in (call, nowhere, labels):
            status, said = server.ask("/call", body)
            if status == 413:
                sys.exit(f"the input is larger than the server accepts: {said[:200]}")
        status, said = server.ask("/mcp", mcp, **mcp_headers)
        result = first_message(said).get("result") or sys.exit(f"MCP answered {status}: {said[:500]}")
        view = len(result["content"][0]["text"])
        at_once = 8 if options.plant_unbounded else 1
        refused, suspicious = (cost(server, body, at_once) for body in (call, labels))
        absent = cost(server, nowhere)
    limited = {} if options.plant_unbounded else {"PANPAN_LIMITS_CALLS_PER_SECOND": str(CALLS_PER_SECOND)}
    with Server(options, **limited) as server:
        begun = time.monotonic()
        statuses = [server.ask("/call", call)[0] for _ in range(ASKED_AGAIN)]
        seconds = time.monotonic() - begun
        # Twice as many requests as calls are allowed, with a burst of one second.
        allowed = CALLS_PER_SECOND * 2 * (1 + seconds) + 1
        read = sum(status != 429 for status in statuses)
    return [
        ("largest failure for 330,000 unknown members", largest, FAILURE_BYTES, "bytes"),
        ("agent view of the same failure", view, AGENT_VIEW_BYTES, "bytes"),
        ("its processor time, relative to an unknown operation", refused / absent, CPU_RATIO, "times"),
        ("processor time of an input full of labels, relative", suspicious / absent, CPU_RATIO, "times"),
        (f"requests read of {ASKED_AGAIN}, relative to the rate limit", read / allowed, 1, "times"),
    ]


# The metadata that a client without a session sends with every request.
MCP_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "bounds", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def first_message(said):
    """The message in a body that is JSON or an event stream."""
    text = said.decode()
    if not text.startswith("{"):
        text = next(line[5:] for line in text.splitlines() if line.startswith("data:") and "{" in line)
    return json.loads(text)


def cost(server, body, at_once=1, times=8):
    before = server.processor_seconds()
    for _ in range(times * at_once):
        server.ask("/call", body)
    return (server.processor_seconds() - before) / times


def is_begun(reader):
    """Whether a response with the output has begun to arrive."""
    reader.settimeout(0.05)
    try:
        return reader.recv(12) == b"HTTP/1.1 200"
    except OSError:
        return False


def unread(options):
    large = str(64 * 2**30)
    settings = {"PANPAN_LIMITS_UNREAD_BYTES": large, "PANPAN_LIMITS_UNREAD_BYTES_PER_CALLER": large}
    with Server(options, **(settings if options.plant_unbounded else {})) as server:
        server.ask("/call", json.dumps({"operation": "demo/echo", "input": {}}))
        before = server.memory_mb()
        body = json.dumps({"operation": "demo/echo", "input": {"text": "x" * ANSWER_BYTES}}).encode()
        head = (
            "POST /call HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        ).encode()
        held, highest = [], 0
        for _ in range(READERS):
            reader = socket.socket()
            # A small receive buffer, so that unread data stays in the server.
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.settimeout(30)
            reader.connect(("127.0.0.1", server.port))
            try:
                reader.sendall(head + body)
            except OSError:
                # The server refused the request before reading it.
                pass
            held.append(reader)
            highest = max(highest, server.memory_mb())
        for _ in range(20):
            time.sleep(0.1)
            highest = max(highest, server.memory_mb())
        begun = sum(is_begun(reader) for reader in held)
        if begun < READERS / 40:
            sys.exit(f"only {begun} of {READERS} responses began: nothing was measured")
        for reader in held:
            reader.close()
        for _ in range(100):
            time.sleep(0.1)
            afterwards = server.memory_mb()
            if afterwards <= before + AFTERWARDS_MB:
                break
    return [
        (f"memory with {READERS} unread responses of 4 MB", highest, READERS_MB, "MB"),
        ("memory afterwards, beyond that before", afterwards - before, AFTERWARDS_MB, "MB"),
    ]


if __name__ == "__main__":
    main()
