// Assembles the server: one SDK object with every tool, resource and prompt. The same definitions serve both
// revisions; the SDK translates.

import { McpServer } from "@modelcontextprotocol/server";

import { argumentsSchema } from "./content.mjs";
import { INPUT_TOOLS, stateCodec } from "./input-requests.mjs";
import { ANOTHER_PROMPT, PROMPTS, serveCompletion } from "./prompts.mjs";
import { serveResources } from "./resources.mjs";
import { SESSION_TOOLS } from "./session-tools.mjs";
import { serveLogging, serveRoots } from "./session.mjs";
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
const NO_ARGUMENTS = argumentsSchema({});
const CAPABILITIES_IN_META = "io.modelcontextprotocol/clientCapabilities";

/**
 * A server for one client, or for one request of the revision that has no sessions.
 *
 * `era` is "legacy" up to 2025-11-25 and "modern" from 2026-07-28 on, as the SDK calls them. `changes` notifies clients
 * of changes; by default over the connection of the server.
 */
export function buildServer({ era, session, changes }) {
  const server = new McpServer(INFO, {
    capabilities: CAPABILITIES,
    instructions: INSTRUCTIONS,
    requestState: { verify: stateCodec.verify },
  });
  const context = {
    era,
    session,
    changes: changes ?? changesOver(server, era, session),
  };
  for (const tool of [...TOOLS, ...INPUT_TOOLS, ...SESSION_TOOLS]) addTool(server, tool, context);
  for (const prompt of PROMPTS) addPrompt(server, prompt, context);
  addOptionalItems(server, context);
  serveResources(server, session);
  serveCompletion(server);
  serveLogging(server, session);
  serveRoots(server, session);
  return server;
}

function addTool(server, { name, description, inputSchema = NO_ARGUMENTS, run }, context) {
  return server.registerTool(name, { description, inputSchema }, (args, ctx) =>
    run(args, { ...context, ctx, clientCapabilities: () => capabilitiesOf(server, ctx) }),
  );
}

/** The client's capabilities: in each request from 2026-07-28 on, in the first request before that. */
function capabilitiesOf({ server }, ctx) {
  return ctx.mcpReq?.envelope?.[CAPABILITIES_IN_META] ?? server.getClientCapabilities() ?? {};
}

function addPrompt(server, { name, description, argsSchema, get }, context) {
  // The SDK passes no arguments to a prompt without a schema.
  const callback = argsSchema
    ? (args, ctx) => get(args, { ...context, ctx })
    : (ctx) => get({}, { ...context, ctx });
  return server.registerPrompt(name, { description, argsSchema }, callback);
}

/** Adds one tool and one prompt that can be enabled and disabled, and the functions that do so. */
function addOptionalItems(server, context) {
  const { session, changes } = context;
  const tool = addTool(server, ANOTHER_TOOL, context);
  const prompt = addPrompt(server, ANOTHER_PROMPT, context);
  // Set as properties: enable() of the SDK only notifies over a lasting connection.
  tool.enabled = session.hasAnotherTool;
  prompt.enabled = session.hasAnotherPrompt;
  context.switchTool = () => {
    tool.enabled = session.hasAnotherTool = !session.hasAnotherTool;
    return changes.toolsChanged();
  };
  context.switchPrompt = () => {
    prompt.enabled = session.hasAnotherPrompt = !session.hasAnotherPrompt;
    return changes.promptsChanged();
  };
}

function changesOver({ server }, era, session) {
  // From 2026-07-28 on, clients select their notifications when they start to listen, and the SDK filters.
  const isSubscribed = (uri) => era === "modern" || session.subscribed.has(uri);
  return {
    toolsChanged: () => server.sendToolListChanged(),
    promptsChanged: () => server.sendPromptListChanged(),
    resourcesChanged: () => server.sendResourceListChanged(),
    elicitationComplete: (id) => server.createElicitationCompletionNotifier(id)(),
    resourceUpdated: async (uri) => {
      if (isSubscribed(uri)) await server.sendResourceUpdated({ uri });
    },
  };
}
