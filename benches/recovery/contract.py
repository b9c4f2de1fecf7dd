"""Generates the OpenAPI 3.1 document of the service from the scenarios.
Each operation has its own path; each write has a read at the same path that lists what it created.
"""

KEY_HEADER = "Idempotency-Key"
KEY_MEANING = "A repeated request with the same key has one effect and gets the first answer again."


def document(scenarios, base):
    paths = {}
    for scenario in scenarios:
        for endpoint in scenario.endpoints:
            operation = endpoint.operation
            item = paths.setdefault(operation.path, {})
            item[operation.method.lower()] = operation_object(operation)
            if not operation.is_read:
                item["get"] = check_object(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Things", "version": "1.0.0"},
        "servers": [{"url": base}],
        "paths": paths,
    }


def operation_object(operation):
    described = {
        "operationId": operation.id,
        "summary": operation.summary,
        "responses": responses(operation),
    }
    if operation.description:
        described["description"] = operation.description
    takes_body = operation.method in ("POST", "PUT")
    parameters = [] if takes_body else query_parameters(operation)
    if operation.has_key:
        parameters.append(key_parameter())
    if parameters:
        described["parameters"] = parameters
    if takes_body:
        described["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": body_schema(operation.parameters)}},
        }
    return described


def query_parameters(operation):
    return [
        {
            "name": name,
            "in": "query",
            "required": parameter.get("required", False),
            "schema": schema_of(parameter),
            **described(parameter),
        }
        for name, parameter in operation.parameters.items()
    ]


def key_parameter():
    return {
        "name": KEY_HEADER,
        "in": "header",
        "required": False,
        "description": KEY_MEANING,
        "schema": {"type": "string", "maxLength": 255},
    }


def body_schema(parameters):
    return {
        "type": "object",
        "properties": {
            name: schema_of(parameter) | described(parameter)
            for name, parameter in parameters.items()
        },
        "required": [name for name, parameter in parameters.items() if parameter.get("required")],
    }


def schema_of(parameter):
    return {
        key: value for key, value in parameter.items() if key not in ("required", "description")
    }


def described(parameter):
    return {"description": parameter["description"]} if "description" in parameter else {}


def responses(operation):
    success = "200" if operation.is_read or operation.method == "DELETE" else "201"
    schema = {"content": {"application/json": {"schema": operation.output}}}
    declared = {success: {"description": "Done.", **schema}}
    for status, meaning in operation.answers.items():
        declared[status] = {"description": meaning}
    return declared


def check_object(operation):
    items = {"type": "array", "items": {"type": "object"}}
    schema = {"type": "object", "properties": {"items": items}, "required": ["items"]}
    return {
        "operationId": operation.check_id,
        "summary": f"List every {operation.noun} there is.",
        "responses": {
            "200": {
                "description": "All of them.",
                "content": {"application/json": {"schema": schema}},
            }
        },
    }
