// Several clients of one panpan in front of a server that keeps state: each leaves something of every kind there, at the
// same time as the others, and looks whether anything of the others comes to it. Then the server ends and is started
// anew, and at last all clients leave and come back.
//
// Usage: node apart.mjs URL one-process|process-each
//
// The last word says whether all clients share the process of the server, whose end ends the sessions of all.
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

const NAMES = ["ann", "bob", "cid", "dee"];
const LEVELS = { ann: "error", bob: "debug", cid: "warning", dee: "info" };
// Those whose level lets through what the server logs in a call.
const LOUD = ["bob", "dee"];
const ROUNDS = 12;
// How long a server is waited for that is started anew.
const RESTART_MS = 20_000;
const CAPABILITIES = { elicitation: {}, sampling: {}, roots: {} };

const wrong = [];
const check = (isRight, what) => {
  if (!isRight) wrong.push(what);
};
const others = (name) => NAMES.filter((it) => it !== name);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
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
  for (const other of others(name)) check(!told.includes(other), `${what} of ${name} is that of ${other}: ${told}`);
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

/** Cancels one call while another one runs, and has the server count. */
async function cancel({ name, client, call }) {
  const stop = new AbortController();
  const stopped = client.callTool({ name: "wait", arguments: { ms: 60_000 } }, undefined, { signal: stop.signal });
  const finished = call("wait", { ms: 600 });
  setTimeout(() => stop.abort(), 200);
  const ended = await stopped.then(
    () => "answered",
    () => "cancelled",
  );
  check(ended === "cancelled", `the cancelled call of ${name} was ${ended}`);
  check((await finished) === "Waited 600 ms.", `a call of ${name} that nobody cancelled did not end`);
  let counted = "0";
  for (let look = 0; look < 50 && counted === "0"; look += 1) {
    counted = await call("cancelled");
    await pause(100);
  }
  check(counted === "1", `the server counts ${counted} cancelled calls of ${name}`);
}

/** Has one client end the server, and looks what each has left. */
async function restart(clients, sharesProcess) {
  const [first, ...rest] = clients;
  await first.call("end_process");
  await pause(200);
  for (const own of sharesProcess ? clients : [first]) {
    const told = await again(own, "recall");
    check(told === "Nothing is remembered.", `after a restart ${own.name} remembers: ${told}`);
    await again(own, "remember", { uri: `note://${own.name}/anew`, text: `of ${own.name}` });
  }
  for (const own of rest) isOwn(own, await again(own, "recall"), "what is remembered after a restart");
}

/** Calls until the server is there again. */
async function again({ name, client }, tool, input = {}) {
  const end = Date.now() + RESTART_MS;
  let result;
  do {
    result = await client.callTool({ name: tool, arguments: input });
    if (!result.isError) return text(result);
    await pause(200);
  } while (Date.now() < end);
  throw new Error(`${tool} of ${name} goes on failing: ${text(result)}`);
}

async function alone(own) {
  await own.client.setLoggingLevel(LEVELS[own.name]);
  for (let number = 0; number < ROUNDS; number += 1) await round(own, number);
  // What is said last may still be on its way.
  await pause(500);
  const { name, heard } = own;
  check(heard.updates.length > 0, `${name} heard of no changed resource`);
  for (const uri of heard.updates) isOwn(own, uri, "a changed resource");
  const isLoud = heard.lines.length > 0;
  check(isLoud === LOUD.includes(name), `${name} heard ${heard.lines.length} lines of the log`);
  await cancel(own);
}

async function comeBack(url) {
  const clients = await Promise.all(NAMES.map((name) => client(url, name)));
  for (const own of clients) {
    const told = await own.call("recall");
    check(told === "Nothing is remembered.", `a new session of ${own.name} remembers: ${told}`);
    await own.client.close();
  }
}

const [, , url, processes, ...rest] = process.argv;
if (!url || !["one-process", "process-each"].includes(processes) || rest.length > 0) {
  console.error("usage: node apart.mjs URL one-process|process-each");
  process.exit(2);
}
try {
  const clients = await Promise.all(NAMES.map((name) => client(url, name)));
  await Promise.all(clients.map(alone));
  await restart(clients, processes === "one-process");
  await Promise.all(clients.map((own) => own.client.close()));
  await comeBack(url);
} catch (error) {
  console.error(`cannot be found out: ${error.message}`);
  process.exit(2);
}
for (const problem of new Set(wrong)) console.log(`  MIXED: ${problem}`);
console.log(wrong.length === 0 ? "several clients: nothing was mixed" : `several clients: ${wrong.length} mixed`);
process.exit(wrong.length === 0 ? 0 : 1);
