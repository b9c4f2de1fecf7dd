// A complete MCP server written with the official TypeScript SDK: everything that the official conformance suite
// requires of a server, in both revisions, and the tools of panpan's own tests. It is the upstream in these tests.
//
// Usage: node full-server.mjs --http [--port N] [--revision 2025-11-25|2026-07-28|both]
//        node full-server.mjs --stdio [--revision 2025-11-25|2026-07-28|both]
//
// Over HTTP, prints its URL and serves until SIGTERM. Exits 1 if it cannot serve, 2 on wrong arguments.
// This file only parses the command line. The transports are in full-server/http.mjs and full-server/stdio.mjs;
// full-server/build.mjs assembles the server. The tasks extension is missing, because the SDK lacks it.
// Set-up: scripts/setup-node

import { parseArgs } from "node:util";

import { serveHttp } from "./full-server/http.mjs";
import { serveOnStdio } from "./full-server/stdio.mjs";

const USAGE = `usage: node ${process.argv[1]} --http [--port N] | --stdio [--revision 2025-11-25|2026-07-28|both]`;
const REVISIONS = ["2025-11-25", "2026-07-28", "both"];
const LAST_PORT = 65535;

/** Parses the command line; throws if it is invalid. */
function options() {
  const { values } = parseArgs({
    options: {
      http: { type: "boolean", default: false },
      stdio: { type: "boolean", default: false },
      port: { type: "string", default: "0" },
      revision: { type: "string", default: "both" },
    },
  });
  const port = Number(values.port);
  if (values.http === values.stdio) throw new Error("give either --http or --stdio");
  if (!Number.isInteger(port) || port < 0 || port > LAST_PORT) throw new Error(`${values.port} is not a port`);
  if (!REVISIONS.includes(values.revision)) throw new Error(`${values.revision} is not a revision`);
  return { http: values.http, port, revision: values.revision };
}

async function main({ http, port, revision }) {
  if (!http) {
    await serveOnStdio(revision);
    return;
  }
  const { url, close } = await serveHttp({ port, revision });
  console.log(url);
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => close().finally(() => process.exit(0)));
}

let given;
try {
  given = options();
} catch (error) {
  console.error(`${error.message}\n${USAGE}`);
  process.exit(2);
}
try {
  await main(given);
} catch (error) {
  console.error(`could not serve: ${error.message}`);
  process.exit(1);
}
