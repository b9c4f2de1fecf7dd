// Tests a panpan server with a generic JSON-RPC client.
//
// Usage: WATCH_TOKEN=… node jsonrpc-client.mjs URL
//
// Prints a line for each check. Exits 0 if all pass, 1 if a check fails, 2 if the server could not be
// reached.
// Set-up: scripts/setup-node

import jayson from "jayson/promise/index.js";

import { has, run, same } from "./checks.mjs";

const WHERE = "jayson";
const TIMEOUT_MS = 30_000;

// check, method, params, members of the response
const CALLS = [
  ["a successful call", "demo/divide", { dividend: 6, divisor: 4 }, {
    jsonrpc: "2.0",
    "result.quotient": 1.5,
    error: undefined,
  }],
  ["a method name with a dot instead of a slash", "demo.echo", { a: [1, null] }, { result: { a: [1, null] } }],
  ["a method without params", "demo/echo", undefined, { result: {} }],
  ["a failure that the operation declares", "demo/divide", { dividend: 1, divisor: 0 }, {
    result: undefined,
    "error.code": 1000,
    "error.message": "cannot divide 1 by zero",
    "error.data.code": "DIVISION_BY_ZERO",
    "error.data.field": "divisor",
    "error.data.panpan.retryable": false,
  }],
  ["a failure of the catalogue", "demo/fail", { code: "ERR_HTTP_429_RATE_LIMITED" }, {
    "error.code": 215,
    "error.data.code": "ERR_HTTP_429_RATE_LIMITED",
    "error.data.panpan.retryable": true,
    "error.data.panpan.recovery.retry_after_ms": 1000,
  }],
  ["an unknown method", "demo/divde", {}, {
    "error.code": -32601,
    "error.data.nearest": ["demo/divide"],
  }],
  ["missing params", "demo/divide", { divisor: 1 }, {
    "error.code": -32602,
    "error.data.field": "dividend",
  }],
  ["params of the wrong type", "demo/divide", { dividend: 1, divisor: "two" }, {
    "error.code": -32602,
    "error.data.field": "divisor",
    "error.data.expected": "number",
    "error.data.actual": "two",
  }],
  ["params by position", "demo/divide", [6, 4], { "result.quotient": 1.5, error: undefined }],
  ["a param by position that is missing", "demo/divide", [6], { "error.code": -32602, "error.data.field": "divisor" }],
  ["params by position without an order", "demo/echo", [6], { "error.code": -32602, result: undefined }],
  ["a method that needs a scope", "calls/recent", {}, {
    "error.code": -32004,
    "error.data.required_scopes": ["panpan:watch"],
  }],
];

/** A client, and the statuses of the responses it got. */
function connect(url, token) {
  const { hostname, port, pathname: path } = new URL(url);
  const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const client = jayson.client.http({ hostname, port, path, headers, timeout: TIMEOUT_MS });
  const statuses = [];
  client.on("http response", (response) => statuses.push(response.statusCode));
  return { client, statuses };
}

async function checkCalls(url) {
  const { client, statuses } = connect(url);
  for (const [what, method, params, expected] of CALLS) {
    has(WHERE, what, expected, await client.request(method, params));
  }
  same(WHERE, "every response has status 200, failures too", CALLS.map(() => 200), statuses);
}

/** A notification is carried out although it gets no response: its key is in use afterwards. */
async function checkNotification(url) {
  const { client, statuses } = connect(url);
  const _meta = { "dev.panpan/idempotency-key": "notified" };
  const answer = await client.request("demo/order", { item: "tea", _meta }, null);
  same(WHERE, "a notification gets no response", [undefined, [204]], [answer, statuses]);
  const other = await client.request("demo/order", { item: "coffee", _meta });
  has(WHERE, "a notification is carried out", { "error.data.idempotency_key": "notified" }, other);
}

async function checkBatch(url) {
  const { client } = connect(url);
  const request = (method, params, id) => client.request(method, params, id, false);
  const answers = await client.request([
    request("demo/echo", { n: 1 }, "first"),
    request("demo/echo", { n: 2 }, null),
    request("demo/divde", {}, 3),
    request("demo/echo", { n: 4 }, 4),
  ]);
  const seen = answers.map(({ id, result, error }) => [id, result ?? error.code]);
  const expected = [["first", { n: 1 }], [3, -32601], [4, { n: 4 }]];
  same(WHERE, "a batch gets its responses in order, without one for the notification", expected, seen);
  const quiet = await client.request([request("demo/echo", { n: 1 }, null)]);
  same(WHERE, "a batch of notifications gets no response", undefined, quiet);
}

async function checkTokens(url) {
  const { client: known } = connect(url, process.env.WATCH_TOKEN);
  const { result } = await known.request("calls/recent", { limit: 1 });
  same(WHERE, "a token with the scope may call the method", 1, result?.calls.length);
  const { client: unknown } = connect(url, "wrong");
  const answer = await unknown.request("demo/echo", {}, 5);
  has(WHERE, "a wrong token is refused", { id: 5, "error.code": -32004 }, answer);
}

await run(async (url) => {
  await checkCalls(url);
  await checkNotification(url);
  await checkBatch(url);
  await checkTokens(url);
});
