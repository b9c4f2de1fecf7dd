"""Floods a server with anonymous, refused and failing calls, and watches the server.

Starts panpan on loopback with a small store, floods it for `--seconds` over several connections, and watches it
from another process: memory, files, `/healthz`, calls with a key, revoked tokens. Prints a line every ten seconds
and the results at the end; exits 1 if a goal is missed.

`--plant-growth` lets the store grow without a limit, which has to be detected.
"""

import argparse
import asyncio
import http.client
import json
import multiprocessing
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STORE_MB = 16
# The write-ahead log and the reserve file.
BESIDE_MB = 64 + 4
HEALTH_MS = 50
GROWTH_MB = 64
NUMBER = "0" * 12


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--panpan", type=Path, default=ROOT / "target" / "release" / "panpan")
    parser.add_argument("--plant-growth", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="flood-") as folder:
        server = Server(options, Path(folder))
        try:
            sys.exit(0 if watch(server, options) else 1)
        finally:
            server.stop()


class Server:
    """A panpan server with its own store and tokens."""

    def __init__(self, options, folder):
        self.panpan = str(options.panpan.resolve())
        self.folder = folder
        size = 4096 if options.plant_growth else STORE_MB
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "PANPAN_STORE": f"sqlite:{folder}/panpan.db",
            "PANPAN_STORE_MB": str(size), "PANPAN_LIMITS_CALLS_PER_SECOND": "2000",
        }  # fmt: skip
        self.mallory, self.ann = self.token("mallory"), self.token("ann")
        self.log = open(folder / "log", "wb")
        self.port = free_port()
        command = [
            self.panpan, "serve", "--listen", f"127.0.0.1:{self.port}", "--allow-anonymous=false", "--demo",
        ]  # fmt: skip
        self.process = subprocess.Popen(
            command, env=self.environment, stdout=self.log, stderr=self.log, cwd=folder
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
        sys.exit((self.folder / "log").read_text() or "panpan did not start")

    def run(self, *arguments):
        done = subprocess.run(
            [self.panpan, *arguments], env=self.environment, capture_output=True, text=True, cwd=self.folder
        )
        if done.returncode:
            sys.exit(f"panpan {arguments[0]}: {done.stderr}")
        return done.stdout

    def token(self, principal):
        return re.search(r"panpan_\w+", self.run("token", "new", principal))[0]

    def memory_mb(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def files_mb(self):
        return sum(path.stat().st_size for path in self.folder.iterdir() if path.name.startswith("panpan.db")) / 2**20

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


def free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def watch(server, options):
    """Floods and watches the server; returns whether every goal was met."""
    counts = multiprocessing.Array("q", 4)
    health = multiprocessing.Queue()
    workers = [
        multiprocessing.Process(target=flood, args=(server.port, server.mallory, counts), daemon=True),
        multiprocessing.Process(target=probe, args=(server.port, health), daemon=True),
    ]
    for worker in workers:
        worker.start()
    ended = time.monotonic() + options.seconds
    memory, files, times, wrong, kept, ended_tokens = [], [], [], [], 0, 0
    shown = time.monotonic()
    print(f"{'seconds':>8} {'calls':>10} {'memory':>9} {'files':>9} {'healthz p99':>12} {'keyed':>7} {'revoked':>8}")
    while time.monotonic() < ended:
        kept += keyed(server, kept, wrong)
        if time.monotonic() - shown >= 10:
            shown = time.monotonic()
            ended_tokens += revoked(server, wrong)
            memory.append(server.memory_mb())
            files.append(server.files_mb())
            while not health.empty():
                times.append(health.get())
            seconds = options.seconds - (ended - shown)
            print(
                f"{seconds:>8.0f} {sum(counts):>10} {memory[-1]:>6.0f} MB {files[-1]:>6.0f} MB "
                f"{percentile(times):>9.1f} ms {kept:>7} {ended_tokens:>8}",
                flush=True,
            )
        time.sleep(0.1)
    for worker in workers:
        worker.terminate()
    return judge(memory, files, times, wrong, kept, ended_tokens)


def judge(memory, files, times, wrong, kept, ended_tokens):
    early = max(memory[: max(1, len(memory) // 4)])
    late = max(memory[len(memory) // 2 :])
    goals = [
        ("memory stays flat", late <= early + GROWTH_MB, f"{early:.0f} MB early, {late:.0f} MB late"),
        ("files stay within the limit", max(files) <= STORE_MB + BESIDE_MB, f"{max(files):.0f} MB"),
        ("/healthz answers", percentile(times) < HEALTH_MS, f"99 of 100 within {percentile(times):.1f} ms"),
        ("keyed calls of others continue", kept > 0 and not wrong, f"{kept} calls, {wrong[:3]}"),
        ("tokens can be revoked", ended_tokens > 0, f"{ended_tokens} times"),
    ]
    for name, is_met, figure in goals:
        print(f"{'met' if is_met else 'MISSED':<7} {name}: {figure}")
    return all(is_met for _, is_met, _ in goals)


def percentile(times):
    return sorted(times)[int(len(times) * 0.99)] if times else float("inf")


def ask(port, token, body, key=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
    if key:
        headers["idempotency-key"] = key
    connection.request("POST", "/call", json.dumps(body), headers)
    answer = connection.getresponse()
    said = answer.read()
    connection.close()
    return answer.status, said


def keyed(server, number, wrong):
    """Makes a call with a key and repeats it: both have to succeed."""
    body = {"operation": "demo/order", "input": {"item": "tea"}}
    key = f"order-{number}"
    try:
        first, again = (ask(server.port, server.ann, body, key) for _ in range(2))
    except OSError as error:
        wrong.append(repr(error))
        return 0
    if first[0] != 200 or again[0] != 200:
        wrong.append((first, again))
    return 1


def revoked(server, wrong):
    """Creates a token, uses it, revokes it, and checks that it is refused.

    A caller without a valid token shares the rate limit of its address with the flood, so 429 is a refusal too.
    """
    token = server.token("eve")
    body = {"operation": "demo/divide", "input": {"dividend": 6, "divisor": 3}}
    before = ask(server.port, token, body)[0]
    server.run("token", "revoke", "eve")
    after = ask(server.port, token, body)[0]
    if before != 200 or after not in (401, 429):
        wrong.append(f"a token got {before}, and {after} after it was revoked")
        return 0
    return 1


def probe(port, times):
    while True:
        begun = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        connection.close()
        times.put((time.monotonic() - begun) * 1000)
        time.sleep(0.02)


def flood(port, token, counts):
    # Every request is different, because the server only counts repeated failures instead of recording them.
    long = NUMBER + "x" * 8000
    bearer = f"authorization: Bearer {token}\r\n"
    kinds = [
        ("", {"operation": "demo/divide", "input": {}}),
        (bearer, {"operation": "no/such", "input": {"text": long}}),
        (bearer, {"operation": "demo/divide", "input": {"dividend": long}}),
        (bearer, {"operation": "demo/fail", "input": {"code": "ERR_HTTP_500_SERVER_ERROR", "message": long}}),
    ]
    requests = [written(head, body) for head, body in kinds]
    asyncio.run(lanes(port, requests, counts))


def written(head, body):
    text = json.dumps(body)
    return (
        f"POST /call HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n{head}"
        f"content-length: {len(text)}\r\n\r\n{text}"
    ).encode()


async def lanes(port, requests, counts):
    await asyncio.gather(*(lane(port, requests[at % 4], counts, at % 4) for at in range(32)))


async def lane(port, request, counts, kind):
    """Sends requests over one connection after the other, each as soon as the last response has arrived."""
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            while True:
                writer.write(request.replace(NUMBER.encode(), b"%012d" % (counts[kind] + 1)))
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: (\d+)", head, re.I)
                await reader.readexactly(int(length[1]) if length else 0)
                counts[kind] += 1
                if b"connection: close" in head.lower():
                    break
            writer.close()
        except (OSError, asyncio.IncompleteReadError):
            await asyncio.sleep(0.05)


if __name__ == "__main__":
    main()
