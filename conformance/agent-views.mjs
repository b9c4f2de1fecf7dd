// The complete agent views of some failures: the text that a client must pass on to its model.
//
// sdk-client.mjs and agents-client.mjs compare them with the text that each client shows. scripts/agent_views.py has
// the same views for the clients from PyPI.

// Replaces the error id, which differs for each call.
const ID = "<id>";
const UUID = /"id":"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"/g;

/** The text of a view with these members, as panpan writes it. */
const view = (error) => JSON.stringify({ error: { ...error, id: ID } });

/** Replaces every error id that is a UUID by <id>. */
export const withoutId = (text) => text.replaceAll(UUID, `"id":"${ID}"`);

// JSON.stringify alone would write 0 and 1.
const [ZERO, ONE] = ["0.0", "1.0"].map((text) => JSON.rawJSON(text));

export const DIVISION_BY_ZERO = view({
  code: "DIVISION_BY_ZERO",
  message: "cannot divide 1 by zero",
  retryable: false,
  next: ["change_input"],
  actions: ["Give a divisor other than 0"],
  effect: "none",
  violations: [
    {
      pointer: "/divisor",
      expected: "a number other than 0",
      actual: ZERO,
      reason: "division by zero has no result",
    },
  ],
  details: { dividend: ONE, divisor: ZERO },
});

const divisorOfWrongType = {
  pointer: "/divisor",
  kind: "type",
  expected: "number",
  actual: "two",
  reason: "wrong type: found a string",
};

export const WRONG_TYPE = view({
  code: "INVALID_INPUT",
  message: 'input does not match the schema at /divisor: expected number, found "two"',
  retryable: false,
  next: ["change_input"],
  actions: ["divisor must be a number. Correct divisor, then call again"],
  effect: "none",
  violations: [divisorOfWrongType],
});

export const MISSING_ARGUMENT = view({
  code: "INVALID_INPUT",
  message: "input does not match the schema at /dividend: required value is missing, and 1 more",
  retryable: false,
  next: ["change_input"],
  actions: ["divisor must be a number. Correct divisor, add dividend, then call again"],
  effect: "none",
  violations: [
    { pointer: "/dividend", kind: "missing", reason: "required value is missing" },
    divisorOfWrongType,
  ],
});

export const RATE_LIMITED = view({
  code: "ERR_HTTP_429_RATE_LIMITED",
  message: "Upstream rate limit reached",
  retryable: true,
  retry_after_ms: 1000,
  next: ["wait"],
  actions: ["Wait 1000 ms, then repeat the identical call"],
  effect: "none",
});

export const INTERNAL = view({
  code: "INTERNAL_ERROR",
  message: "Tool failed with an internal error",
  retryable: false,
  next: ["ask_human"],
  actions: ["Report the error id to the maintainers of the tool"],
  effect: "none",
});

export const UNKNOWN_CODE = view({
  code: "INVALID_INPUT_ERROR",
  message: "the catalogue has no code ERR_TIMEOT",
  retryable: false,
  next: ["change_input"],
  actions: [
    "code must be a catalogue code that operations may return. Correct code, then call again",
    "ask for ERR_TIMEOUT",
  ],
  effect: "none",
  violations: [
    {
      pointer: "/code",
      expected: "a catalogue code that operations may return",
      actual: "ERR_TIMEOT",
      reason: "is not in the catalogue",
    },
  ],
  details: { nearest: ["ERR_TIMEOUT"] },
});
