// Two clients of one panpan in front of a server that keeps state: each leaves something of every kind there, at the
// same time as the other, and looks whether anything of the other comes to it. Then both leave and come back.
//
// Usage: node apart.mjs URL
//
// Exits 0 when nothing was mixed, 1 when something was, 2 when that could not be found out. The server behind is
// full-server.mjs.
// Set-up: scripts/setup-node

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";

const NAMES = ["ann", "bob"];
const LEVELS = { ann: "error", bob: "debug" };
const ROUNDS = 20;
const CAPABILITIES = { elicitation: {}, sampling: {}, roots: {} };

const wrong = [];
const check = (isRight, what) => {
  if (!isRight) wrong.push(what);
};
const other = (name) => NAMES.find((it) => it !== name);
const text = (result) => result.content.map((it) => it.text ?? "").join("\n");

/** A client that answers everything with its name, and remembers what it hears. */
async function client(url, name) {
  const client = new Client({ name, version: "1.0.0" }, { capabilities: CAPABILITIES });
  const heard = { lines: [], updates: [] };
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: `file:///${name}` }] }));
  client.setRequestHandler(ElicitRequestSchema, () => ({
    action: "accept",
    content: { username: name, email: `${name}@example.com` },
  }));
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    role: "assistant",
    model: name,
    content: { type: "text", text: `said by ${name}` },
  }));
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => heard.lines.push(params));
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => heard.updates.push(params.uri));
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const call = async (tool, input = {}) => text(await client.callTool({ name: tool, arguments: input }));
  return { name, client, heard, call };
}

/** Whether a text has to do with this client and not with the other. */
function isOwn({ name }, told, what) {
  check(told.includes(name), `${what} of ${name} is not its own: ${told}`);
  check(!told.includes(other(name)), `${what} of ${name} is that of ${other(name)}: ${told}`);
}

async function round(own, number) {
  const { name, client, call } = own;
  const uri = `note://${name}/${number}`;
  await call("remember", { uri, text: `of ${name}` });
  isOwn(own, await call("recall"), "what is remembered");
  const { resources } = await client.listResources();
  const notes = resources.map((it) => it.uri).filter((it) => it.startsWith("note:"));
  isOwn(own, notes.join("\n"), "the list of resources");
  isOwn(own, await call("roots"), "the roots");
  isOwn(own, await call("test_elicitation", { message: "Who?" }), "an elicitation");
  isOwn(own, await call("test_sampling", { prompt: "Who?" }), "a sample");
  const level = await call("log_level");
  check(level === LEVELS[name], `the level of ${name} is ${level}`);
  await client.subscribeResource({ uri });
  await call("remember", { uri, text: `of ${name} again` });
  await call("test_tool_with_logging");
}

async function alone(own) {
  await own.client.setLoggingLevel(LEVELS[own.name]);
  for (let number = 0; number < ROUNDS; number += 1) await round(own, number);
  // What is said last may still be on its way.
  await new Promise((resolve) => setTimeout(resolve, 500));
  const { name, heard } = own;
  check(heard.updates.length > 0, `${name} heard of no changed resource`);
  for (const uri of heard.updates) isOwn(own, uri, "a changed resource");
  const isLoud = heard.lines.length > 0;
  check(isLoud === (name === "bob"), `${name} heard ${heard.lines.length} lines of the log`);
}

async function comeBack(url) {
  const clients = await Promise.all(NAMES.map((name) => client(url, name)));
  for (const own of clients) {
    const told = await own.call("recall");
    check(told === "Nothing is remembered.", `a new session of ${own.name} remembers: ${told}`);
    await own.client.close();
  }
}

const [, , url, ...rest] = process.argv;
if (!url || rest.length > 0) {
  console.error("usage: node apart.mjs URL");
  process.exit(2);
}
try {
  const clients = await Promise.all(NAMES.map((name) => client(url, name)));
  await Promise.all(clients.map(alone));
  await Promise.all(clients.map((own) => own.client.close()));
  await comeBack(url);
} catch (error) {
  console.error(`cannot be found out: ${error.message}`);
  process.exit(2);
}
for (const problem of new Set(wrong)) console.log(`  MIXED: ${problem}`);
console.log(wrong.length === 0 ? "two clients: nothing was mixed" : `two clients: ${wrong.length} mixed`);
process.exit(wrong.length === 0 ? 0 : 1);
