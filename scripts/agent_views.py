"""The complete agent views of some failures: the text that a client must pass on to its model.

mcp-client.py, openai-client.py and langchain-client.py compare them with the text that each client shows.
conformance/agent-views.mjs has the same views for the clients from npm.
"""

import json
import re

# Replaces the error id, which differs for each call.
ID = "<id>"


def view(**error):
    """The text of a view with these members, as panpan writes it."""
    written = {"error": {**error, "id": ID}}
    return json.dumps(written, separators=(",", ":"), ensure_ascii=False)


def without_id(text):
    """Replaces every error id that is a UUID by ID."""
    form = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    return re.sub(f'"id":"{form}"', f'"id":"{ID}"', text)


DIVISION_BY_ZERO = view(
    code="DIVISION_BY_ZERO",
    message="cannot divide 1 by zero",
    retryable=False,
    next=["change_input"],
    actions=["Give a divisor other than 0"],
    effect="none",
    violations=[
        {
            "pointer": "/divisor",
            "expected": "a number other than 0",
            "actual": 0.0,
            "reason": "division by zero has no result",
        }
    ],
    details={"dividend": 1.0, "divisor": 0.0},
)
DIVISOR_OF_WRONG_TYPE = {
    "pointer": "/divisor",
    "kind": "type",
    "expected": "number",
    "actual": "two",
    "reason": "wrong type: found a string",
}
WRONG_TYPE = view(
    code="INVALID_INPUT",
    message='input does not match the schema at /divisor: expected number, found "two"',
    retryable=False,
    next=["change_input"],
    actions=["divisor must be a number. Correct divisor, then call again"],
    effect="none",
    violations=[DIVISOR_OF_WRONG_TYPE],
)
MISSING_ARGUMENT = view(
    code="INVALID_INPUT",
    message="input does not match the schema at /dividend: required value is missing, and 1 more",
    retryable=False,
    next=["change_input"],
    actions=["divisor must be a number. Correct divisor, add dividend, then call again"],
    effect="none",
    violations=[
        {"pointer": "/dividend", "kind": "missing", "reason": "required value is missing"},
        DIVISOR_OF_WRONG_TYPE,
    ],
)
RATE_LIMITED = view(
    code="ERR_HTTP_429_RATE_LIMITED",
    message="Upstream rate limit reached",
    retryable=True,
    retry_after_ms=1000,
    next=["wait"],
    actions=["Wait 1000 ms, then repeat the identical call"],
    effect="none",
)
INTERNAL = view(
    code="INTERNAL_ERROR",
    message="Tool failed with an internal error",
    retryable=False,
    next=["ask_human"],
    actions=["Report the error id to the maintainers of the tool"],
    effect="none",
)
UNKNOWN_CODE = view(
    code="INVALID_INPUT_ERROR",
    message="the catalogue has no code ERR_TIMEOT",
    retryable=False,
    next=["change_input"],
    actions=[
        "code must be a catalogue code that operations may return. "
        "Correct code, then call again",
        "ask for ERR_TIMEOUT",
    ],
    effect="none",
    violations=[
        {
            "pointer": "/code",
            "expected": "a catalogue code that operations may return",
            "actual": "ERR_TIMEOT",
            "reason": "is not in the catalogue",
        }
    ],
    details={"nearest": ["ERR_TIMEOUT"]},
)
STILL_UNAVAILABLE = view(
    code="ERR_HTTP_503_UNAVAILABLE",
    message="attempt 4 fails as requested",
    retryable=True,
    retry_after_ms=100,
    next=["wait"],
    actions=["Wait 100 ms, then repeat the identical call"],
    effect="none",
    details={"attempt": 4},
    attempts=4,
)


def key_reused(key):
    """The view for a key that was used with different input."""
    return view(
        code="ERR_IDEMPOTENCY_KEY_REUSED",
        message=f"idempotency key {key} was used before with different input, "
        "and that call may have taken effect",
        retryable=False,
        next=["check_outcome", "change_input"],
        actions=[
            f"Call again with the input first sent under {key} to get the outcome of that call: "
            "it may already have done this work",
            "If this is different work, or that call had no effect, send this input with a new "
            "idempotency_key",
        ],
        effect="none",
        details={"idempotency_key": key},
    )


def forbidden(authenticated):
    """The view for calls/recent without the required scope, with or without an identity."""
    if authenticated:
        missing = "the scope panpan:watch, which the caller does not have"
    else:
        missing = "an identity, and this call carries none"
    return view(
        code="FORBIDDEN",
        message=f"operation calls/recent needs {missing}",
        retryable=False,
        next=["reauthenticate", "ask_human"],
        actions=["Call with a credential that carries the scope or resource named in the message"],
        effect="none",
        details={"authenticated": authenticated, "required_scopes": ["panpan:watch"]},
    )
