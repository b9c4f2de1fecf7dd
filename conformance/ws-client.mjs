// Tests a panpan server with a generic WebSocket client.
//
// Usage: WATCH_TOKEN=… node ws-client.mjs URL
//
// Prints a line for each check. Exits 0 if all pass, 1 if a check fails, 2 if the server could not be
// reached.
// Set-up: scripts/setup-node

import WebSocket from "ws";

import { has, run, same } from "./checks.mjs";

const WHERE = "ws";
const TIMEOUT_MS = 30_000;

/** A connection that queues incoming messages. */
class Connection {
  #socket;
  #received = [];
  #waiting = [];

  static async open(url, token) {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const socket = new WebSocket(url, { headers, handshakeTimeout: TIMEOUT_MS });
    const connection = new Connection();
    connection.#socket = socket;
    socket.on("message", (data, isBinary) => {
      const message = { ...JSON.parse(data.toString()), isBinary };
      const taker = connection.#waiting.shift();
      taker ? taker(message) : connection.#received.push(message);
    });
    await new Promise((resolve, reject) => {
      socket.once("open", resolve);
      socket.once("error", reject);
      socket.once("unexpected-response", (request, response) => {
        const { statusCode: status, headers } = response;
        reject(Object.assign(new Error(`refused with ${status}`), { status, headers }));
        request.destroy();
      });
    });
    return connection;
  }

  send(type, id, payload, binary = false) {
    this.sendText(JSON.stringify({ type, id, payload }), binary);
  }

  sendText(text, binary = false) {
    this.#socket.send(text, { binary });
  }

  request(id, operationId, input, more = {}) {
    this.send("call.requested", id, { operationId, input, ...more });
  }

  /** The next message. */
  take() {
    if (this.#received.length > 0) return this.#received.shift();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("timed out waiting for a message")), TIMEOUT_MS);
      this.#waiting.push((message) => {
        clearTimeout(timer);
        resolve(message);
      });
    });
  }

  /** Closes the connection; resolves to the close code of the server. */
  close() {
    const closed = new Promise((resolve) => this.#socket.once("close", resolve));
    this.#socket.close(1000);
    return closed;
  }
}

// check, operation, input, members of the response
const CALLS = [
  ["a successful call", "demo/divide", { dividend: 6, divisor: 4 }, {
    type: "call.responded",
    payload: { output: { quotient: 1.5 } },
  }],
  ["a call that fails", "demo/divide", { dividend: 1, divisor: 0 }, {
    type: "call.error",
    "payload.code": "DIVISION_BY_ZERO",
    "payload.retryable": false,
    "payload.panpan.violations.0.pointer": "/divisor",
  }],
  ["an unknown operation", "demo/divde", {}, {
    type: "call.error",
    "payload.code": "NOT_FOUND",
    "payload.details.nearest": ["demo/divide"],
  }],
  ["an operation that needs a scope", "calls/recent", {}, {
    type: "call.error",
    "payload.code": "FORBIDDEN",
  }],
];

async function checkCalls(connection) {
  for (const [what, operation, input, expected] of CALLS) {
    connection.request(what, operation, input);
    has(WHERE, what, { id: what, isBinary: false, ...expected }, await connection.take());
  }
}

async function checkSubscription(connection) {
  const endings = [
    ["a subscription that ends", { to: 3 }, 3, { type: "call.completed", payload: {} }],
    ["a subscription that fails", { to: 3, fail_after: 1 }, 1, {
      type: "call.error",
      "payload.code": "ERR_HTTP_503_UNAVAILABLE",
    }],
  ];
  for (const [what, input, count, ending] of endings) {
    connection.request(what, "demo/count", input);
    for (let item = 1; item <= count; item += 1) {
      const expected = { type: "call.responded", id: what, payload: { output: { count: item } } };
      has(WHERE, `${what}, item ${item}`, expected, await connection.take());
    }
    has(WHERE, what, { id: what, ...ending }, await connection.take());
  }
}

/** Calls share a connection: a long call does not block the others, and can be aborted. */
async function checkAbort(connection) {
  connection.request("long", "demo/wait", { ms: 600_000 });
  connection.request("short", "demo/echo", { hello: "world" });
  has(WHERE, "a call during a long one", { type: "call.responded", id: "short" }, await connection.take());
  connection.send("call.aborted", "long", {});
  has(WHERE, "an aborted call", { type: "call.aborted", id: "long" }, await connection.take());

  connection.request("endless", "demo/count", { to: 1_000_000, every_ms: 10_000 });
  connection.send("call.aborted", "endless", {});
  const expected = { type: "call.aborted", id: "endless" };
  has(WHERE, "an aborted subscription", expected, await connection.take());
}

async function checkBinary(connection) {
  const payload = { operationId: "demo/echo", input: { hello: "world" } };
  connection.send("call.requested", "binary", payload, true);
  const expected = { id: "binary", isBinary: true, "payload.output": { hello: "world" } };
  has(WHERE, "a binary message gets a binary response", expected, await connection.take());
  connection.send("call.requested", "binary", { operationId: "demo/divde" }, true);
  const failed = { type: "call.error", isBinary: true, "payload.code": "NOT_FOUND" };
  has(WHERE, "a failing binary message too", failed, await connection.take());
}

async function checkMistakes(connection) {
  for (const [what, text, id, code] of [
    ["a message that is not JSON", "{", "", "PARSE_ERROR"],
    ["a message of unknown type", '{"type": "call", "id": "a"}', "a", "INVALID_REQUEST"],
  ]) {
    connection.sendText(text);
    const expected = { type: "call.error", id, "payload.code": code };
    has(WHERE, what, expected, await connection.take());
  }
}

async function checkTokens(url, connection) {
  const auth_token = process.env.WATCH_TOKEN;
  const expected = { type: "call.responded", id: "scoped" };
  connection.request("scoped", "calls/recent", { limit: 1 }, { auth_token });
  has(WHERE, "a token for one call", expected, await connection.take());

  const known = await Connection.open(url, auth_token);
  known.request("scoped", "calls/recent", { limit: 1 });
  has(WHERE, "a token for a connection", expected, await known.take());
  await known.close();

  let refusal;
  try {
    await (await Connection.open(url, "wrong")).close();
  } catch (error) {
    refusal = error;
  }
  const challenge = 'Bearer realm="panpan", error="invalid_token"';
  const refused = { status: 401, "headers.www-authenticate": challenge };
  has(WHERE, "a wrong token opens no connection", refused, refusal);
}

await run(async (url) => {
  const connection = await Connection.open(url);
  await checkCalls(connection);
  await checkSubscription(connection);
  await checkAbort(connection);
  await checkBinary(connection);
  await checkMistakes(connection);
  await checkTokens(url, connection);
  same(WHERE, "the connection closes normally", 1000, await connection.close());
});
