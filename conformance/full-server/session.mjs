// The state of one client, and the log messages it gets. The transports assign sessions: http.mjs has one per
// Mcp-Session-Id, stdio.mjs one per process.

import { LOG_LEVEL_META_KEY } from "@modelcontextprotocol/server";

// From the least to the most serious.
const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
const LOGGER = "full-server";

export class Session {
  /** The text of each remembered resource, by its URI. */
  remembered = new Map();
  /** The URIs of the resources that the client subscribed to. */
  subscribed = new Set();
  /** The minimum level of log messages for the client. */
  level = "info";
  /** Whether the optional tool and prompt are enabled. */
  hasAnotherTool = false;
  hasAnotherPrompt = false;
  /** The number of calls that the client cancelled. */
  cancelled = 0;
  /** How often the client reported changed roots. */
  rootsChanges = 0;
  /** The ids of the completed sign-ins. */
  signedIn = new Set();
}

/** Sends a log message during a call, if the client wants messages of this level. */
export async function log({ ctx, era, session }, level, data) {
  // From 2026-07-28 on, each request sets its level, and the SDK filters.
  if (era === "legacy" && LEVELS.indexOf(level) < LEVELS.indexOf(session.level)) return;
  await ctx.mcpReq.log(level, data, LOGGER);
}

/** The minimum level of log messages of a call; "none" if the client wants none. */
export function currentLevel({ ctx, era, session }) {
  if (era === "legacy") return session.level;
  return ctx.mcpReq.envelope?.[LOG_LEVEL_META_KEY] ?? "none";
}

/** Counts the reports of changed roots. */
export function serveRoots({ server }, session) {
  server.setNotificationHandler("notifications/roots/list_changed", () => {
    session.rootsChanges += 1;
  });
}

/** Stores the level in the session. The SDK would store it too, but tools could not read it. */
export function serveLogging({ server }, session) {
  server.setRequestHandler("logging/setLevel", ({ params }) => {
    session.level = params.level;
    return {};
  });
}
