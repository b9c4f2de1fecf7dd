// The tools for panpan's own tests, whose results depend on the session. The transports identify sessions;
// resources.mjs reads remembered resources.

import { inputRequired, UrlElicitationRequiredError } from "@modelcontextprotocol/server";

import { argumentsSchema, text } from "./content.mjs";
import { inputTool } from "./input-requests.mjs";
import { isFixed } from "./resources.mjs";
import { currentLevel } from "./session.mjs";

/** How long the user takes to sign in. */
const SIGN_IN_MS = 100;

async function remember({ uri, text: value }, { session, changes }) {
  if (!URL.canParse(uri)) throw new Error(`${uri} is not a URI`);
  if (isFixed(uri)) throw new Error(`${uri} cannot be changed`);
  const isNew = !session.remembered.has(uri);
  session.remembered.set(uri, value);
  await (isNew ? changes.resourcesChanged() : changes.resourceUpdated(uri));
  return { content: [text(`${isNew ? "Remembered" : "Changed"} ${uri}.`)] };
}

function recall(_, { session }) {
  const lines = [...session.remembered].map(([uri, value]) => `${uri}: ${value}`);
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

/**
 * Requires the user to visit a page first, and reports shortly afterwards that the user has done so. Up to 2025-11-25
 * only: later revisions ask in the response and report nothing.
 */
function signIn({ id }, { session, changes }) {
  if (session.signedIn.has(id)) return { content: [text(`Signed in as ${id}.`)] };
  setTimeout(() => {
    session.signedIn.add(id);
    changes.elicitationComplete?.(id);
  }, SIGN_IN_MS);
  throw new UrlElicitationRequiredError([
    { mode: "url", elicitationId: id, url: `https://login.test/${id}`, message: "Sign in first." },
  ]);
}

/** Ends the process after the response is sent. */
function endProcess() {
  setTimeout(() => process.exit(3), 50);
  return { content: [text("Ending.")] };
}

export const SESSION_TOOLS = [
  {
    name: "wait",
    description: "Waits for some milliseconds, or until the call is cancelled.",
    inputSchema: argumentsSchema({ ms: { type: "integer" } }),
    run: wait,
  },
  {
    name: "cancelled",
    description: "Returns the number of cancelled calls of this session.",
    run: (_, { session }) => ({ content: [text(String(session.cancelled))] }),
  },
  {
    name: "sign_in",
    description: "Requires a visit to a page the first time, and returns the id afterwards.",
    inputSchema: argumentsSchema({ id: { type: "string" } }),
    run: signIn,
  },
  {
    name: "roots_changes",
    description: "Returns how often the client of this session reported changed roots.",
    run: (_, { session }) => ({ content: [text(String(session.rootsChanges))] }),
  },
  { name: "end_process", description: "Ends the process of this server.", run: endProcess },
  {
    name: "remember",
    description: "Creates a resource with a text for this session only, or changes its text.",
    inputSchema: argumentsSchema({ uri: { type: "string" }, text: { type: "string" } }),
    run: remember,
  },
  { name: "recall", description: "Lists the remembered texts of this session, one URI and text per line.", run: recall },
  {
    name: "log_level",
    description: "Returns the minimum level of log messages for this session.",
    run: (_, call) => ({ content: [text(currentLevel(call))] }),
  },
  inputTool({
    name: "roots",
    description: "Asks for the client's roots and returns their URIs, one per line.",
    rounds: [() => ({ client_roots: inputRequired.listRoots() })],
    describe: ({ client_roots: { roots } }) => roots.map(({ uri }) => uri).join("\n") || "There are no roots.",
  }),
];
