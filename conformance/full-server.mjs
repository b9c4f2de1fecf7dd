// A complete MCP server of the official TypeScript SDK: all that the official conformance suite requires of a server,
// in both revisions, and four tools of panpan's own tests. It is what panpan is put in front of.
//
// Usage: node full-server.mjs --http [--port N] [--revision 2025-11-25|2026-07-28|both]
//        node full-server.mjs --stdio [--revision 2025-11-25|2026-07-28|both]
//
// Over HTTP, prints its URL and serves until SIGTERM. Exits 1 when it cannot serve, 2 when it is called wrongly.
// Only the command line is read here: the transports are in full-server/http.mjs and full-server/stdio.mjs, what is
// served over them is put together in full-server/build.mjs. Not served: the extension for tasks, which the SDK lacks.
// Set-up: scripts/setup-node

import { parseArgs } from "node:util";

import { serveHttp } from "./full-server/http.mjs";
import { serveOnStdio } from "./full-server/stdio.mjs";

const USAGE = `usage: node ${process.argv[1]} --http [--port N] | --stdio [--revision 2025-11-25|2026-07-28|both]`;
const REVISIONS = ["2025-11-25", "2026-07-28", "both"];
const LAST_PORT = 65535;

/** What the command line says, or an error that says what is wrong with it. */
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
  if (values.http === values.stdio) throw new Error("either --http or --stdio has to be given");
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
