// Drives a panpan server over Streamable HTTP with the official TypeScript SDKs, old and new, the way an
// agent framework would.
//
// Usage: node sdk-client.mjs URL
//
// Prints a line for each check. Exits 0 when every failure can be read as a whole, 1 when one cannot,
// 2 when the server could not be driven at all.
// Set-up: scripts/setup-node

import * as v2 from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

import { run, same } from "./checks.mjs";

const TIMEOUT_MS = 30_000;
const INFO = { name: "panpan-sdk-client", version: "1.0.0" };

// which SDK, its client and transport, and the version of the protocol that has to come of it
const CLIENTS = [
  ["SDK 1", () => new Client(INFO), StreamableHTTPClientTransport, "2025-11-25"],
  ["SDK 2", () => negotiating("legacy"), v2.StreamableHTTPClientTransport, "2025-11-25"],
  ["SDK 2", () => negotiating("auto"), v2.StreamableHTTPClientTransport, "2026-07-28"],
];

// tool, arguments, code (undefined for success), whether the model is told that it may try again
const CALLS = [
  ["demo__divide", { dividend: 6, divisor: 4 }],
  ["demo__divide", { dividend: 1, divisor: 0 }, "DIVISION_BY_ZERO", true],
  ["demo__divide", { divisor: "two" }, "INVALID_INPUT", true],
  ["demo__fail", { code: "ERR_HTTP_429_RATE_LIMITED" }, "ERR_HTTP_429_RATE_LIMITED", true],
  ["demo__fail", { code: "INTERNAL_ERROR" }, "INTERNAL_ERROR", false],
  ["demo__fail", { code: "ERR_TIMEOT" }, "INVALID_INPUT_ERROR", true],
];
// Clients treat a failure of a tool with an output schema otherwise than of one without.
const HAS_OUTPUT_SCHEMA = { demo__divide: true, demo__fail: false };
const UNKNOWN_TOOL = "demo__divde";
const INVALID_PARAMS = -32602;
const META_KEY = "dev.panpan/failure";

function negotiating(mode) {
  return new v2.Client(INFO, { versionNegotiation: { mode } });
}

/** What a client can tell of a call. */
function told(result) {
  if (!result.isError) return { isError: false };
  let error;
  try {
    error = JSON.parse(result.content[0].text).error;
  } catch (problem) {
    return { isError: true, unreadable: problem.message };
  }
  const recovery = error?.recovery ?? {};
  const ways = [recovery.retry_strategy, recovery.alternatives, recovery.required_actions];
  const whole = result._meta?.[META_KEY] ?? {};
  return {
    isError: true,
    code: error?.code,
    isRetryable: recovery.is_retryable,
    hasWayForward: ways.some((way) => way && Object.keys(way).length > 0),
    whole: { code: whole.code, hasId: "id" in whole, hasTime: "at" in whole },
  };
}

function expectedOf(code, isRetryable) {
  if (code === undefined) return { isError: false };
  const whole = { code, hasId: true, hasTime: true };
  return { isError: true, code, isRetryable, hasWayForward: true, whole };
}

async function call(client, name, given) {
  const request = { name, arguments: given };
  const options = { timeout: TIMEOUT_MS };
  // The first SDK takes the options third.
  return client instanceof Client
    ? client.callTool(request, undefined, options)
    : client.callTool(request, options);
}

async function checkTools(where, client) {
  const { tools } = await client.listTools();
  const listed = Object.keys(HAS_OUTPUT_SCHEMA).map((name) => {
    const tool = tools.find((tool) => tool.name === name);
    return [name, tool && tool.outputSchema !== undefined];
  });
  same(where, "the tools with an output schema", HAS_OUTPUT_SCHEMA, Object.fromEntries(listed));
}

async function checkCalls(where, client) {
  for (const [name, given, code, isRetryable] of CALLS) {
    let found;
    try {
      found = told(await call(client, name, given));
    } catch (error) {
      found = { refusedBySdk: error.message };
    }
    same(where, `${name} ${JSON.stringify(given)}`, expectedOf(code, isRetryable), found);
  }
}

async function checkUnknownTool(where, client) {
  let found;
  try {
    found = told(await call(client, UNKNOWN_TOOL, {}));
  } catch (error) {
    found = error.code;
  }
  same(where, `${UNKNOWN_TOOL}, which does not exist`, INVALID_PARAMS, found);
}

await run(async (url) => {
  for (const [sdk, makeClient, Transport, version] of CLIENTS) {
    const where = `TypeScript ${sdk}, ${version}`;
    const client = makeClient();
    const transport = new Transport(new URL(url));
    await client.connect(transport);
    try {
      const spoken = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion;
      same(where, "the version that was agreed on", version, spoken);
      await checkTools(where, client);
      await checkCalls(where, client);
      await checkUnknownTool(where, client);
    } finally {
      await client.close();
    }
  }
});
