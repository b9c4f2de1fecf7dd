#!/usr/bin/env python3
"""Drives a panpan server with the HTTP client of Python's standard library.

Usage: python3 scripts/http-client.py URL

Sends bodies a moment after their heads, as many clients do, to requests that are refused whatever their
body says. A connection that ends then without saying so takes the next request with it, which its
client cannot repeat unless it knows that to be safe.
Prints a line for each check. Exits 0 when all is as expected, 1 when something is not, 2 when the
server could not be driven at all.
"""

import sys
import time
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

TIMEOUT_SECONDS = 30
# How long a body comes after its head: enough for a server to answer and to close.
MOMENT_SECONDS = 0.1
BODY = b'{"operation": "demo/echo"}'
WRONG_TOKEN = {"Authorization": "Bearer wrong"}

# what, method, path, headers, status
REFUSED = [
    ("a wrong token for a call", "POST", "/call", WRONG_TOKEN, 401),
    ("a wrong token for MCP", "POST", "/mcp", WRONG_TOKEN, 401),
    ("a path that does not exist", "POST", "/nowhere", {}, 404),
    ("a method that a path does not have", "PUT", "/call", {}, 405),
    ("a page of another origin", "POST", "/call", {"Origin": "https://example.com"}, 403),
]


def send(connection, method, path, headers):
    """Sends a request, its body a moment later, and gives the status and whether the end is announced."""
    connection.putrequest(method, path)
    for name, value in {**headers, "Content-Type": "application/json"}.items():
        connection.putheader(name, value)
    connection.putheader("Content-Length", str(len(BODY)))
    connection.endheaders()
    time.sleep(MOMENT_SECONDS)
    try:
        connection.send(BODY)
    except ConnectionError:
        pass  # The answer may have come before.
    response = connection.getresponse()
    response.read()
    return response.status, response.will_close


def statuses_of(address, request):
    """The statuses of two such requests on one connection, or on two where the end was announced."""
    connection = HTTPConnection(address, timeout=TIMEOUT_SECONDS)
    first, will_close = send(connection, *request)
    if will_close:
        connection.close()
    try:
        second, _ = send(connection, *request)
    except (ConnectionError, HTTPException) as problem:
        second = f"{type(problem).__name__}: {problem}"
    connection.close()
    return [first, second]


def drive(url):
    wrong = 0
    for what, method, path, headers, status in REFUSED:
        expected = [status, status]
        found = statuses_of(urlsplit(url).netloc, (method, path, headers))
        if found == expected:
            print(f"ok     http.client: {what}, twice")
            continue
        wrong += 1
        print(f"WRONG  http.client: {what}, twice\n  expected {expected}\n  found    {found}")
    return wrong


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        return 1 if drive(sys.argv[1]) else 0
    except (OSError, HTTPException) as error:
        print(f"could not drive {sys.argv[1]}: {error!r}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
