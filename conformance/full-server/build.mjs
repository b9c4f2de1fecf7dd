// Puts the server together: one object of the SDK, with every tool, resource and prompt in it. What these do is in the
// files they come from; the same ones serve both revisions, and the SDK translates.

import { McpServer } from "@modelcontextprotocol/server";

import { ASKING_TOOLS, stateCodec } from "./asking.mjs";
import { taking } from "./content.mjs";
import { ANOTHER_PROMPT, PROMPTS, serveCompletion } from "./prompts.mjs";
import { serveResources } from "./resources.mjs";
import { SESSION_TOOLS } from "./session-tools.mjs";
import { serveLogging } from "./session.mjs";
import { ANOTHER_TOOL, TOOLS } from "./tools.mjs";

const INFO = { name: "full-server", title: "Everything MCP has", version: "1.0.0" };
const INSTRUCTIONS = "This server is for tests. Its tools do what their descriptions say, and nothing else.";
const CAPABILITIES = {
  completions: {},
  logging: {},
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  tools: { listChanged: true },
};
const NO_ARGUMENTS = taking({});
const CAPABILITIES_IN_META = "io.modelcontextprotocol/clientCapabilities";

/**
 * A server for one client, or for one request of the revision that has no sessions.
 *
 * `era` is "legacy" up to 2025-11-25 and "modern" from 2026-07-28 on, as the SDK calls them. `changes` tells clients of
 * changes; without it, they are told over the connection the server gets.
 */
export function buildServer({ era, session, changes }) {
  const server = new McpServer(INFO, {
    capabilities: CAPABILITIES,
    instructions: INSTRUCTIONS,
    requestState: { verify: stateCodec.verify },
  });
  const around = {
    era,
    session,
    changes: changes ?? changesOver(server, era, session),
  };
  for (const tool of [...TOOLS, ...ASKING_TOOLS, ...SESSION_TOOLS]) addTool(server, tool, around);
  for (const prompt of PROMPTS) addPrompt(server, prompt, around);
  addWhatComesAndGoes(server, around);
  serveResources(server, session);
  serveCompletion(server);
  serveLogging(server, session);
  return server;
}

function addTool(server, { name, description, inputSchema = NO_ARGUMENTS, run }, around) {
  return server.registerTool(name, { description, inputSchema }, (args, ctx) =>
    run(args, { ...around, ctx, clientCapabilities: () => capabilitiesOf(server, ctx) }),
  );
}

/** What the client can do: each request says so from 2026-07-28 on, the first one before that. */
function capabilitiesOf({ server }, ctx) {
  return ctx.mcpReq?.envelope?.[CAPABILITIES_IN_META] ?? server.getClientCapabilities() ?? {};
}

function addPrompt(server, { name, description, argsSchema, get }, around) {
  // The SDK gives a prompt without a schema no arguments.
  const callback = argsSchema
    ? (args, ctx) => get(args, { ...around, ctx })
    : (ctx) => get({}, { ...around, ctx });
  return server.registerPrompt(name, { description, argsSchema }, callback);
}

/** Adds one tool and one prompt that are there or not, and gives the tools the means to change that. */
function addWhatComesAndGoes(server, around) {
  const { session, changes } = around;
  const tool = addTool(server, ANOTHER_TOOL, around);
  const prompt = addPrompt(server, ANOTHER_PROMPT, around);
  // Set as members: the SDK's own enable() would tell of the change only over a connection that lasts.
  tool.enabled = session.hasAnotherTool;
  prompt.enabled = session.hasAnotherPrompt;
  around.switchTool = () => {
    tool.enabled = session.hasAnotherTool = !session.hasAnotherTool;
    return changes.toolsChanged();
  };
  around.switchPrompt = () => {
    prompt.enabled = session.hasAnotherPrompt = !session.hasAnotherPrompt;
    return changes.promptsChanged();
  };
}

function changesOver({ server }, era, session) {
  // From 2026-07-28 on clients name what they listen to when they begin to, which the SDK goes by.
  const isHeard = (uri) => era === "modern" || session.subscribed.has(uri);
  return {
    toolsChanged: () => server.sendToolListChanged(),
    promptsChanged: () => server.sendPromptListChanged(),
    resourcesChanged: () => server.sendResourceListChanged(),
    resourceUpdated: async (uri) => {
      if (isHeard(uri)) await server.sendResourceUpdated({ uri });
    },
  };
}
