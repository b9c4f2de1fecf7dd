// Serves one client, which is one session, over stdin and stdout until it closes stdin. build.mjs assembles the server.

import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";

import { buildServer } from "./build.mjs";
import { Session } from "./session.mjs";

/** Serves one revision or both; with both, the first message of the client selects one. */
export async function serveOnStdio(revision) {
  // The SDK builds several servers while it detects the revision of the client.
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
