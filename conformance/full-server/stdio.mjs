// Serves over stdin and stdout: one client, which is one session, until it closes stdin. What is served is in
// build.mjs.

import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";

import { buildServer } from "./build.mjs";
import { Session } from "./session.mjs";

/** Serves a revision, or both: then the client chooses with what it says first. */
export async function serveOnStdio(revision) {
  // The SDK builds a server more than once while it finds out what the client speaks.
  const session = new Session();
  if (revision === "2025-11-25") {
    await buildServer({ era: "legacy", session }).connect(new StdioServerTransport());
    return;
  }
  serveStdio(({ era }) => buildServer({ era, session }), {
    legacy: revision === "both" ? "serve" : "reject",
    onerror: (error) => console.error(`full-server: ${error.message}`),
  });
}
