// Tests that several clients of one panpan do not share state at the MCP server behind it. All clients store state of
// every kind concurrently, and each checks that it sees only its own. Then the server is restarted, and at last all
// clients disconnect and reconnect.
//
// Usage: node apart.mjs URL one-process|process-each
//
// The last argument says whether all clients share one server process, so that its end ends all sessions.
// Exits 0 if no state was mixed, 1 if some was, 2 if the test could not run. The server behind panpan is
// full-server.mjs.
// Set-up: scripts/setup-node

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitationCompleteNotificationSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";

const NAMES = ["ann", "bob", "cid", "dee"];
const LEVELS = { ann: "error", bob: "debug", cid: "warning", dee: "info" };
// The clients whose level lets through the log messages of a call.
const LOUD = ["bob", "dee"];
const ROUNDS = 12;
// How long to wait for the server to restart.
const RESTART_MS = 20_000;
const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } };
// The error of a call before which the user has to visit a page.
const URL_REQUIRED = -32042;

const wrong = [];
const check = (isRight, what) => {
  if (!isRight) wrong.push(what);
};
const others = (name) => NAMES.filter((it) => it !== name);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const text = (result) => result.content.map((it) => it.text ?? "").join("\n");

/** A client that answers every request with its name, and keeps the notifications it gets. */
async function client(url, name) {
  const client = new Client({ name, version: "1.0.0" }, { capabilities: CAPABILITIES });
  const heard = { lines: [], updates: [], completed: [] };
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
  client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) =>
    heard.completed.push(params.elicitationId),
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const call = async (tool, input = {}) => text(await client.callTool({ name: tool, arguments: input }));
  return { name, client, heard, call };
}

/** Checks that a text names this client and none of the others. */
function isOwn({ name }, reply, what) {
  check(reply.includes(name), `${what} of ${name} does not name it: ${reply}`);
  for (const other of others(name)) check(!reply.includes(other), `${what} of ${name} names ${other}: ${reply}`);
}

async function round(own, number) {
  const { name, client, call } = own;
  const uri = `note://${name}/${number}`;
  await call("remember", { uri, text: `of ${name}` });
  isOwn(own, await call("recall"), "the stored state");
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

/** Signs in: a call names the page to visit, a notification reports the visit, and the call works from then on. */
async function signIn({ name, client, heard, call }) {
  const id = `${name}-signs-in`;
  const refused = await client.callTool({ name: "sign_in", arguments: { id } }).then(
    () => ({}),
    (error) => error,
  );
  check(refused.code === URL_REQUIRED, `the sign-in of ${name} did not fail with ${URL_REQUIRED}: ${refused.message}`);
  const page = refused.data?.elicitations?.[0]?.url;
  check(page === `https://login.test/${id}`, `the sign-in of ${name} names the page ${page}`);
  for (let look = 0; look < 50 && heard.completed.length === 0; look += 1) await pause(100);
  check(heard.completed.join() === id, `${name} was told of the sign-ins "${heard.completed}"`);
  const reply = await call("sign_in", { id });
  check(reply === `Signed in as ${id}.`, `after its sign-in ${name} got: ${reply}`);
}

/** Reports changed roots as often as the position of the client in the list, and checks what the server counts. */
async function changeRoots({ name, client, call }) {
  const times = NAMES.indexOf(name);
  for (let number = 0; number < times; number += 1) await client.sendRootsListChanged();
  let counted;
  for (let look = 0; look < 50 && counted !== String(times); look += 1) {
    counted = await call("roots_changes");
    await pause(20);
  }
  check(counted === String(times), `the server counted ${counted} changes of the roots of ${name}, expected ${times}`);
}

/** Cancels one call while another runs, and checks how many cancellations the server counts. */
async function cancel({ name, client, call }) {
  const stop = new AbortController();
  const stopped = client.callTool({ name: "wait", arguments: { ms: 60_000 } }, undefined, { signal: stop.signal });
  const finished = call("wait", { ms: 600 });
  setTimeout(() => stop.abort(), 200);
  const ended = await stopped.then(
    () => "answered",
    () => "cancelled",
  );
  check(ended === "cancelled", `the cancelled call of ${name} ended as ${ended}`);
  check((await finished) === "Waited 600 ms.", `a call of ${name} that was not cancelled did not complete`);
  let counted = "0";
  for (let look = 0; look < 50 && counted === "0"; look += 1) {
    counted = await call("cancelled");
    await pause(100);
  }
  check(counted === "1", `the server counted ${counted} cancelled calls of ${name}, expected 1`);
}

/** Lets one client end the server, and checks the state of each client afterwards. */
async function restart(clients, sharesProcess) {
  const [first, ...rest] = clients;
  await first.call("end_process");
  await pause(200);
  for (const own of sharesProcess ? clients : [first]) {
    const reply = await again(own, "recall");
    check(reply === "Nothing is remembered.", `after a restart ${own.name} still has state: ${reply}`);
    await again(own, "remember", { uri: `note://${own.name}/anew`, text: `of ${own.name}` });
  }
  for (const own of rest) isOwn(own, await again(own, "recall"), "the stored state after a restart");
}

/** Repeats a call until the server is back. */
async function again({ name, client }, tool, input = {}) {
  const end = Date.now() + RESTART_MS;
  let result;
  do {
    result = await client.callTool({ name: tool, arguments: input });
    if (!result.isError) return text(result);
    await pause(200);
  } while (Date.now() < end);
  throw new Error(`${tool} of ${name} keeps failing: ${text(result)}`);
}

async function alone(own) {
  await own.client.setLoggingLevel(LEVELS[own.name]);
  for (let number = 0; number < ROUNDS; number += 1) await round(own, number);
  // The last notifications may still be in transit.
  await pause(500);
  const { name, heard } = own;
  check(heard.updates.length > 0, `${name} got no resource update`);
  for (const uri of heard.updates) isOwn(own, uri, "a resource update");
  const isLoud = heard.lines.length > 0;
  check(isLoud === LOUD.includes(name), `${name} got ${heard.lines.length} log messages`);
  await signIn(own);
  await changeRoots(own);
  await cancel(own);
}

async function comeBack(url) {
  const clients = await Promise.all(NAMES.map((name) => client(url, name)));
  for (const own of clients) {
    const reply = await own.call("recall");
    check(reply === "Nothing is remembered.", `a new session of ${own.name} has state: ${reply}`);
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
  console.error(`the test could not run: ${error.message}`);
  process.exit(2);
}
for (const problem of new Set(wrong)) console.log(`  MIXED: ${problem}`);
console.log(`several clients: ${wrong.length === 0 ? "no state was mixed" : `state was mixed ${wrong.length} times`}`);
process.exit(wrong.length === 0 ? 0 : 1);
