// Serves over Streamable HTTP: sessions by Mcp-Session-Id up to 2025-11-25, single requests from 2026-07-28 on, both at
// one URL. build.mjs assembles the server; events.mjs resumes lost streams.

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";

import { getRequestListener } from "@hono/node-server";
import {
  WebStandardStreamableHTTPServerTransport,
  createMcpHandler,
  hostHeaderValidationResponse,
  isLegacyRequest,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from "@modelcontextprotocol/server";

import { buildServer } from "./build.mjs";
import { Events } from "./events.mjs";
import { Session } from "./session.mjs";

const HOST = "127.0.0.1";
const PATH = "/mcp";
/** How long a client waits before it resumes a closed stream. */
const RETRY_MS = 50;
const SESSION_NOT_FOUND = { jsonrpc: "2.0", error: { code: -32001, message: "Session not found" }, id: null };

const report = (error) => console.error(`full-server: ${error.message}`);

/** The clients up to 2025-11-25, each with its own server and state. */
class Sessions {
  #transports = new Map();

  async fetch(request) {
    const id = request.headers.get("mcp-session-id");
    if (id === null) return this.#open(request);
    const transport = this.#transports.get(id);
    return transport ? transport.handleRequest(request) : Response.json(SESSION_NOT_FOUND, { status: 404 });
  }

  /** Starts a session; the transport refuses other requests without a session. */
  async #open(request) {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: new Events(),
      retryInterval: RETRY_MS,
      onsessioninitialized: (id) => void this.#transports.set(id, transport),
      onsessionclosed: (id) => void this.#transports.delete(id),
    });
    await buildServer({ era: "legacy", session: new Session() }).connect(transport);
    const response = await transport.handleRequest(request);
    if (transport.sessionId === undefined) await transport.close();
    return response;
  }

  async close() {
    await Promise.all([...this.#transports.values()].map((transport) => transport.close()));
  }
}

/** The clients from 2026-07-28 on. They share one state, since the revision has no sessions. */
function statelessHandler() {
  const session = new Session();
  const build = () => buildServer({ era: "modern", session, changes: handler.notify });
  const handler = createMcpHandler(build, { legacy: "reject", onerror: report });
  return handler;
}

/** The request handler for one revision or both. */
function handlerFor(revision) {
  const sessions = new Sessions();
  const stateless = statelessHandler();
  const isLegacy = { "2025-11-25": () => true, "2026-07-28": () => false, both: isLegacyRequest }[revision];
  const fetch = async (request) => {
    const refusal =
      hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
      originValidationResponse(request, localhostAllowedOrigins());
    if (refusal) return refusal;
    if (new URL(request.url).pathname !== PATH) return new Response(null, { status: 404 });
    return (await isLegacy(request)) ? sessions.fetch(request) : stateless.fetch(request);
  };
  const close = () => Promise.all([sessions.close(), stateless.close()]);
  return { fetch, close };
}

/** Serves until it is closed. Port 0 means any free port. */
export async function serveHttp({ port, revision }) {
  const handler = handlerFor(revision);
  const server = createServer(getRequestListener(handler.fetch, { overrideGlobalObjects: false }));
  server.listen(port, HOST);
  await once(server, "listening");
  const close = async () => {
    server.close();
    await handler.close();
    server.closeAllConnections();
  };
  return { url: `http://${HOST}:${server.address().port}${PATH}`, close };
}
