"""Loads scenarios from `scenarios/*.json`, checks them and fills in defaults.
README.md describes their members; service.py plays them.
"""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "scenarios"
ENDINGS = {"success", "permanent", "person", "later", "uncertain"}
READING_VERBS = {"get", "list", "search", "read", "find"}
METHODS = {"replace": "PUT", "delete": "DELETE"}
RULE_MEMBERS = {
    "times", "for_seconds", "when", "status", "headers", "body", "text", "hexadecimal", "fill",
    "content_type", "delay_seconds", "effect", "cut", "hang", "open", "declares_length",
}  # fmt: skip
SCENARIO_MEMBERS = {
    "name", "topic", "operation", "arguments", "knows", "service", "value", "endings", "calls",
    "wait", "secrets", "broken", "why",
}  # fmt: skip
OPERATION_MEMBERS = {
    "id", "method", "path", "summary", "description", "parameters", "answers", "has_key", "output",
}  # fmt: skip


class BadScenario(Exception):
    """The data is not a scenario that the service can play."""


@dataclass(frozen=True)
class Operation:
    """One method of one path, as the OpenAPI document describes it."""

    id: str
    method: str
    path: str
    summary: str
    description: str
    # name to JSON Schema, with "required" as a boolean of the parameter
    parameters: dict
    # status to its description in the document
    answers: dict
    # whether an Idempotency-Key header is declared, and honoured
    has_key: bool
    # the JSON Schema of a success
    output: dict

    @property
    def is_read(self):
        return self.method == "GET"

    @property
    def noun(self):
        return re.sub(r"^[a-z]+", "", self.id)

    @property
    def check_id(self):
        """The operation that lists what this one has created."""
        return f"list{self.noun}s"


@dataclass(frozen=True)
class Endpoint:
    """An operation and the rules for its responses; a call that no rule covers succeeds."""

    operation: Operation
    rules: list
    value: str


@dataclass(frozen=True)
class Scenario:
    name: str
    topic: str
    endpoint: Endpoint
    arguments: dict
    # further values that the agent can supply if asked
    knows: dict
    endings: set
    # how many calls a perfect agent needs, and how many are tolerated
    needed: int
    tolerated: int
    # the stated delay in seconds that an ending "later" has to report
    wait: float | None
    # names of planted secrets
    secrets: list
    # an endpoint that is called this often before the task begins
    broken: Endpoint | None = None
    broken_calls: int = 0
    endpoints: list = field(default_factory=list)

    @property
    def operation(self):
        return self.endpoint.operation

    @property
    def value(self):
        return self.endpoint.value


def load(names=()):
    """All scenarios, or the named ones, in the order of the files."""
    scenarios = []
    for path in sorted(FOLDER.glob("*.json")):
        document = json.loads(path.read_text())
        scenarios += [scenario_of(raw, document["topic"]) for raw in document["scenarios"]]
    check_unique(scenarios)
    known = {scenario.name for scenario in scenarios}
    unknown = set(names) - known
    if unknown:
        raise BadScenario(f"unknown scenario {', '.join(sorted(unknown))}")
    return [scenario for scenario in scenarios if not names or scenario.name in names]


def scenario_of(raw, topic):
    name = raw["name"]
    reject_unknown(name, raw, SCENARIO_MEMBERS)
    operation = operation_of(name, raw["operation"])
    arguments = raw.get("arguments", default_arguments(operation))
    value = raw.get("value", default_value(operation, arguments))
    endpoint = Endpoint(operation, rules_of(name, raw.get("service", [])), value)
    endings = set(raw["endings"])
    if not endings or endings - ENDINGS:
        raise BadScenario(f"{name}: endings must be from {', '.join(sorted(ENDINGS))}")
    calls = raw.get("calls", 1)
    needed, tolerated = (calls, calls) if isinstance(calls, int) else calls
    broken, broken_calls = broken_of(name, raw.get("broken"))
    return Scenario(
        name=name,
        topic=raw.get("topic", topic),
        endpoint=endpoint,
        arguments=arguments,
        knows=raw.get("knows", {}),
        endings=endings,
        needed=needed,
        tolerated=tolerated,
        wait=raw.get("wait"),
        secrets=raw.get("secrets", []),
        broken=broken,
        broken_calls=broken_calls,
        endpoints=[endpoint] + ([broken] if broken else []),
    )


def operation_of(name, raw):
    reject_unknown(name, raw, OPERATION_MEMBERS)
    verb, noun = re.match(r"([a-z]+)(.*)", raw["id"]).groups()
    words = re.sub(r"(?<!^)([A-Z])", r" \1", noun).lower()
    is_read = verb in READING_VERBS
    method = raw.get("method") or ("GET" if is_read else METHODS.get(verb, "POST"))
    return Operation(
        id=raw["id"],
        method=method,
        path=raw.get("path", "/" + words.replace(" ", "-") + "s"),
        summary=raw.get("summary", f"{verb.capitalize()} the {words}."),
        description=raw.get("description", ""),
        parameters=raw.get("parameters", {} if is_read else {"reference": reference_schema()}),
        answers=raw.get("answers", {}),
        has_key=raw.get("has_key", False),
        output=raw.get("output", read_output() if is_read else write_output()),
    )


def reference_schema():
    return {"type": "string", "required": True, "description": "What the caller calls it."}


def read_output():
    properties = {"value": {"type": "string"}}
    return {"type": "object", "properties": properties, "required": ["value"]}


def write_output():
    properties = {"id": {"type": "integer"}, "reference": {"type": "string"}}
    return {"type": "object", "properties": properties, "required": ["id"]}


def default_arguments(operation):
    return {} if operation.is_read else {"reference": f"REF-{operation.noun.upper()}"}


def default_value(operation, arguments):
    """The value that the text of a success has to contain."""
    if operation.is_read:
        return f"the {operation.noun.lower()} is here"
    return str(arguments["reference"])


def rules_of(name, raw):
    for rule in raw:
        reject_unknown(name, rule, RULE_MEMBERS)
        if not {"status", "cut", "hang", "delay_seconds"} & set(rule):
            raise BadScenario(f"{name}: a rule needs a status, cut, hang or delay_seconds")
        if rule.get("cut", "answer") not in ("answer", "body"):
            raise BadScenario(f"{name}: cut must be answer or body")
    return raw


def broken_of(name, raw):
    if raw is None:
        return None, 0
    operation = operation_of(name, raw["operation"])
    return Endpoint(operation, rules_of(name, raw["service"]), ""), raw["calls"]


def reject_unknown(name, raw, members):
    unknown = set(raw) - members
    if unknown:
        raise BadScenario(f"{name}: unknown member {', '.join(sorted(unknown))}")


def check_unique(scenarios):
    """Checks that names, paths and operations are unique, so that calls can be told apart."""
    operations = [point.operation for scenario in scenarios for point in scenario.endpoints]
    for what, values in [
        ("name", [scenario.name for scenario in scenarios]),
        ("path", [operation.path for operation in operations]),
        ("operation", [operation.id for operation in operations]),
    ]:
        twice = {value for value in values if values.count(value) > 1}
        if twice:
            raise BadScenario(f"duplicate {what}: {', '.join(sorted(twice))}")
