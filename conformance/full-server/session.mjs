// What one client has told the server, and what is logged to it by that. Which client is which is for the transports
// to say: http.mjs has one of these for each Mcp-Session-Id, stdio.mjs one for the process.

import { LOG_LEVEL_META_KEY } from "@modelcontextprotocol/server";

// From the least to the most serious.
const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
const LOGGER = "full-server";

export class Session {
  /** The text of each remembered resource, by its URI. */
  remembered = new Map();
  /** The URIs of the resources whose changes the client wants to hear of. */
  subscribed = new Set();
  /** The least serious messages the client is sent. */
  level = "info";
  /** Whether the tool and the prompt that come and go are there. */
  hasAnotherTool = false;
  hasAnotherPrompt = false;
  /** How many of its calls the client has cancelled. */
  cancelled = 0;
}

/** Sends a log message with the answer to a call, if the client wants messages that serious. */
export async function log({ ctx, era, session }, level, data) {
  // Since 2026-07-28 each request says what it wants; the SDK holds back what it does not.
  if (era === "legacy" && LEVELS.indexOf(level) < LEVELS.indexOf(session.level)) return;
  await ctx.mcpReq.log(level, data, LOGGER);
}

/** The level that messages of a call have to have, or "none" where the client wants no message at all. */
export function currentLevel({ ctx, era, session }) {
  if (era === "legacy") return session.level;
  return ctx.mcpReq.envelope?.[LOG_LEVEL_META_KEY] ?? "none";
}

/** Takes the level for the session. The SDK would too, but does not tell it to a tool. */
export function serveLogging({ server }, session) {
  server.setRequestHandler("logging/setLevel", ({ params }) => {
    session.level = params.level;
    return {};
  });
}
