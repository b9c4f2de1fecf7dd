#!/usr/bin/env python3
"""Tests a panpan server with the HTTP client of Python's standard library.

Usage: python3 scripts/http-client.py URL

Sends each body a moment after the head, as many clients do, with requests that are refused whatever the
body is. If the server then closes the connection without announcing it, the next request on it is lost, and
the client can repeat that request only if it knows that to be safe.
Prints a line for each check. Exits 0 if all pass, 1 if a check fails, 2 if the server could not be reached.
"""

import sys
import time
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

TIMEOUT_SECONDS = 30
# Delay between head and body: long enough for a server to answer and close the connection.
MOMENT_SECONDS = 0.1
BODY = b'{"operation": "demo/echo"}'
WRONG_TOKEN = {"Authorization": "Bearer wrong"}

# check, method, path, headers, status
REFUSED = [
    ("a wrong token for a call", "POST", "/call", WRONG_TOKEN, 401),
    ("a wrong token for MCP", "POST", "/mcp", WRONG_TOKEN, 401),
    ("an unknown path", "POST", "/nowhere", {}, 404),
    ("a method that the path does not support", "PUT", "/call", {}, 405),
    ("a request from another origin", "POST", "/call", {"Origin": "https://example.com"}, 403),
]


def send(connection, method, path, headers):
    """Sends a request, and its body a moment later; returns the status and whether the response announces the close."""
    connection.putrequest(method, path)
    for name, value in {**headers, "Content-Type": "application/json"}.items():
        connection.putheader(name, value)
    connection.putheader("Content-Length", str(len(BODY)))
    connection.endheaders()
    time.sleep(MOMENT_SECONDS)
    try:
        connection.send(BODY)
    except ConnectionError:
        pass  # The server may have answered and closed the connection already.
    response = connection.getresponse()
    response.read()
    return response.status, response.will_close


def statuses_of(address, request):
    """The statuses of two such requests, on one connection unless the first response announces its close."""
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
        print(f"could not reach {sys.argv[1]}: {error!r}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
