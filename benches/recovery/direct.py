"""The client without a gateway: calls the HTTP API directly and shows the status line, the headers and
the body of every response as text. It follows redirects, as HTTP clients do.
"""

import httpx2

from agents import Seen
from tools import Tool

BODY_METHODS = {"post", "put", "patch"}


class DirectClient:
    def __init__(self, document, client):
        self.client = client
        self.operations = {}
        self.tools = []
        for path, item in document["paths"].items():
            for method, operation in item.items():
                self.operations[operation["operationId"]] = (method, path, operation)
                self.tools.append(tool_of(operation))

    async def call(self, tool, arguments):
        method, path, operation = self.operations[tool.name]
        headers, query, body = sorted_out(operation, method, arguments)
        try:
            answer = await self.client.request(
                method.upper(), path, params=query, headers=headers, json=body
            )
        except httpx2.HTTPError as error:
            return Seen(True, f"{type(error).__name__}: {error}")
        head = f"HTTP/1.1 {answer.status_code} {answer.reason_phrase}\n"
        head += "".join(f"{name}: {value}\n" for name, value in answer.headers.items())
        text = answer.content.decode("utf-8", errors="replace")
        return Seen(answer.status_code >= 300, f"{head}\n{text}")


def tool_of(operation):
    """The tool that a reader of the document would describe for this operation."""
    lines = [operation.get("summary", ""), operation.get("description", "")]
    lines += [f"{status}: {answer['description']}" for status, answer in operation["responses"].items()]
    properties, required = {}, []
    for parameter in operation.get("parameters", []):
        properties[parameter["name"]] = parameter["schema"]
        if parameter.get("required"):
            required.append(parameter["name"])
    body = operation.get("requestBody")
    if body:
        schema = body["content"]["application/json"]["schema"]
        properties |= schema["properties"]
        required += schema["required"]
    schema = {"type": "object", "properties": properties, "required": required}
    return Tool(operation["operationId"], "\n".join(line for line in lines if line), schema)


def sorted_out(operation, method, arguments):
    """Splits the arguments into headers, query and body."""
    places = {parameter["name"]: parameter["in"] for parameter in operation.get("parameters", [])}
    headers = {name: str(value) for name, value in arguments.items() if places.get(name) == "header"}
    rest = {name: value for name, value in arguments.items() if name not in headers}
    if method in BODY_METHODS:
        return headers, {}, rest
    return headers, rest, None
