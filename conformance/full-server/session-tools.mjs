// The tools of panpan's own tests: what they do, or say, differs from one client to the next. How a session is told
// from another is in the transports; how a remembered resource is read is in resources.mjs.

import { inputRequired } from "@modelcontextprotocol/server";

import { asks } from "./asking.mjs";
import { taking, text } from "./content.mjs";
import { isFixed } from "./resources.mjs";
import { currentLevel } from "./session.mjs";

async function remember({ uri, text: told }, { session, changes }) {
  if (!URL.canParse(uri)) throw new Error(`${uri} is not a URI`);
  if (isFixed(uri)) throw new Error(`${uri} is not to be changed`);
  const isNew = !session.remembered.has(uri);
  session.remembered.set(uri, told);
  await (isNew ? changes.resourcesChanged() : changes.resourceUpdated(uri));
  return { content: [text(`${isNew ? "Remembered" : "Changed"} ${uri}.`)] };
}

function recall(_, { session }) {
  const lines = [...session.remembered].map(([uri, told]) => `${uri}: ${told}`);
  return { content: [text(lines.join("\n") || "Nothing is remembered.")] };
}

/** Waits, unless the client cancels the call. */
async function wait({ ms }, { ctx, session }) {
  const { signal } = ctx.mcpReq;
  await new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      session.cancelled += 1;
      clearTimeout(timer);
      resolve();
    });
  });
  return { content: [text(`Waited ${ms} ms.`)] };
}

/** Ends the process once the answer has left. */
function endProcess() {
  setTimeout(() => process.exit(3), 50);
  return { content: [text("Ending.")] };
}

export const SESSION_TOOLS = [
  {
    name: "wait",
    description: "Waits for some milliseconds, or until the call is cancelled.",
    inputSchema: taking({ ms: { type: "integer" } }),
    run: wait,
  },
  {
    name: "cancelled",
    description: "Says how many calls of this session were cancelled.",
    run: (_, { session }) => ({ content: [text(String(session.cancelled))] }),
  },
  { name: "end_process", description: "Ends the process of this server.", run: endProcess },
  {
    name: "remember",
    description: "Makes a resource of a text, for this session only; or changes its text.",
    inputSchema: taking({ uri: { type: "string" }, text: { type: "string" } }),
    run: remember,
  },
  { name: "recall", description: "Lists what this session remembers: a URI and its text on each line.", run: recall },
  {
    name: "log_level",
    description: "Says how serious messages have to be to be logged to this session.",
    run: (_, call) => ({ content: [text(currentLevel(call))] }),
  },
  asks({
    name: "roots",
    description: "Asks for the client's roots, and says their URIs, each on a line.",
    rounds: [() => ({ client_roots: inputRequired.listRoots() })],
    tell: ({ client_roots: { roots } }) => roots.map(({ uri }) => uri).join("\n") || "There are no roots.",
  }),
];
