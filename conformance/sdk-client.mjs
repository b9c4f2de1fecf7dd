// Tests a panpan server over Streamable HTTP with the official TypeScript SDKs, versions 1 and 2, used as an
// agent framework would use them.
//
// Usage: node sdk-client.mjs URL
//
// Prints a line for each check. Exits 0 if every failure arrives complete, 1 if one does not, 2 if the server could
// not be reached. The expected texts for the model are in agent-views.mjs.
// Set-up: scripts/setup-node

import * as v2 from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

import * as views from "./agent-views.mjs";
import { run, same } from "./checks.mjs";

const TIMEOUT_MS = 30_000;
const INFO = { name: "panpan-sdk-client", version: "1.0.0" };

// SDK, its client and transport, and the protocol version that they have to negotiate
const CLIENTS = [
  ["SDK 1", () => new Client(INFO), StreamableHTTPClientTransport, "2025-11-25"],
  ["SDK 2", () => negotiating("legacy"), v2.StreamableHTTPClientTransport, "2025-11-25"],
  ["SDK 2", () => negotiating("auto"), v2.StreamableHTTPClientTransport, "2026-07-28"],
];

// tool, arguments, the text of the failure (undefined for success)
const CALLS = [
  ["demo__divide", { dividend: 6, divisor: 4 }],
  ["demo__divide", { dividend: 1, divisor: 0 }, views.DIVISION_BY_ZERO],
  ["demo__divide", { dividend: 1, divisor: "two" }, views.WRONG_TYPE],
  ["demo__divide", { divisor: "two" }, views.MISSING_ARGUMENT],
  ["demo__fail", { code: "ERR_HTTP_429_RATE_LIMITED" }, views.RATE_LIMITED],
  ["demo__fail", { code: "INTERNAL_ERROR" }, views.INTERNAL],
  ["demo__fail", { code: "ERR_TIMEOT" }, views.UNKNOWN_CODE],
];
// Clients treat failures of tools with an output schema differently from those of tools without.
const HAS_OUTPUT_SCHEMA = { demo__divide: true, demo__fail: false };
const UNKNOWN_TOOL = "demo__divde";
const INVALID_PARAMS = -32602;
const META_KEY = "dev.panpan/failure";

function negotiating(mode) {
  return new v2.Client(INFO, { versionNegotiation: { mode } });
}

/** What a client sees of a call: the text for the model, and whether the failure in _meta is complete. */
function summary(result) {
  if (!result.isError) return { isError: false };
  const text = result.content[0]?.text ?? "";
  const whole = result._meta?.[META_KEY] ?? {};
  return {
    isError: true,
    blocks: result.content.map((block) => block.type),
    text: views.withoutId(text),
    whole: { code: whole.code, sameId: text.includes(`"id":"${whole.id}"`), hasTime: "at" in whole },
  };
}

function expectedOf(view) {
  if (view === undefined) return { isError: false };
  const { code } = JSON.parse(view).error;
  return { isError: true, blocks: ["text"], text: view, whole: { code, sameId: true, hasTime: true } };
}

async function call(client, name, given) {
  const request = { name, arguments: given };
  const options = { timeout: TIMEOUT_MS };
  // SDK 1 takes the options as the third argument.
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
  for (const [name, given, view] of CALLS) {
    let found;
    try {
      found = summary(await call(client, name, given));
    } catch (error) {
      found = { refusedBySdk: error.message };
    }
    same(where, `${name} ${JSON.stringify(given)}`, expectedOf(view), found);
  }
}

async function checkUnknownTool(where, client) {
  let found;
  try {
    found = summary(await call(client, UNKNOWN_TOOL, {}));
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
      same(where, "the negotiated version", version, spoken);
      await checkTools(where, client);
      await checkCalls(where, client);
      await checkUnknownTool(where, client);
    } finally {
      await client.close();
    }
  }
});
