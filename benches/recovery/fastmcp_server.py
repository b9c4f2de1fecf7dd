"""FastMCP's own server for an OpenAPI document, with its defaults: one of the compared gateways.

Usage: fastmcp_server.py DOCUMENT BASE_URL
"""

import json
import sys
from pathlib import Path

import httpx2
from fastmcp import FastMCP

document, base = sys.argv[1:]
client = httpx2.AsyncClient(base_url=base)
FastMCP.from_openapi(json.loads(Path(document).read_text()), client=client).run(show_banner=False)
