"""Tools as an agent knows them: a name, a description and an input schema. From these it derives whether a
tool writes, what it is about, and where its arguments go.
"""

import re
from dataclasses import dataclass

READING_VERBS = {"get", "list", "search", "read", "find", "show", "fetch", "query", "describe"}
KEY_NAME = re.compile(r"(?i)idempot\w*[ _-]?key|idempotency")


@dataclass(frozen=True)
class Tool:
    name: str
    description: str
    schema: dict


def words_of(name):
    """The words of a tool's name, without its namespace."""
    last = re.split(r"__|/|\.", name)[-1]
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", last)] or [""]


def is_write(tool):
    return words_of(tool.name)[0] not in READING_VERBS


def flat_properties(schema):
    """The properties of a schema, including those of nested objects."""
    found = {}
    for name, property_schema in (schema.get("properties") or {}).items():
        found[name] = property_schema
        if isinstance(property_schema, dict):
            found |= flat_properties(property_schema)
    return found


def key_property(schema):
    """The property for an idempotency key, if there is one."""
    return next((name for name in flat_properties(schema) if KEY_NAME.search(name)), None)


def arranged(arguments, schema, key):
    """Places the arguments where the tool's schema expects them."""
    result = {}
    properties = schema.get("properties") or {}
    left = dict(arguments)
    for name, property_schema in properties.items():
        if name in left:
            result[name] = left.pop(name)
        elif KEY_NAME.search(name):
            result[name] = key
    for name, property_schema in properties.items():
        inner = property_schema.get("properties") if isinstance(property_schema, dict) else None
        if not inner or name in result:
            continue
        nested = {member: left.pop(member) for member in inner if member in left}
        if any(KEY_NAME.search(member) for member in inner):
            nested[next(member for member in inner if KEY_NAME.search(member))] = key
        if nested:
            result[name] = nested
    return {**result, **left}
