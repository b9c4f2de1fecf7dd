// Compares what a client sees of an MCP server directly with what it sees through panpan: the response to
// initialize, and all lists. The guide to MCP servers has to list exactly these differences.
//
// Usage: node through.mjs PANPAN [--write]
//
// Prints the differences for each server. Exits 0 if they match the guide, 1 if they do not, 2 if a server could
// not be run. With --write, writes the differences into the guide.
// Set-up: scripts/setup-node, scripts/setup-python

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const INFO = { name: "panpan-through", version: "1.0.0" };
const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } };
const GUIDE = fileURLToPath(new URL("../docs/guides/mcp-servers.md", import.meta.url));
// The list of differences in the guide.
const LISTED = /(<!-- differences: written by conformance\/through.mjs -->\n)[^]*?(\n<!-- end of differences -->)/;
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const SERVERS = {
  everything: [process.execPath, here("node_modules/@modelcontextprotocol/server-everything/dist/index.js"), "stdio"],
  filesystem: [process.execPath, here("node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"), here(".")],
  fastmcp: [here("../.venv/bin/python"), here("fastmcp-server.py")],
};

const LISTS = [
  ["tools", (client, page) => client.listTools(page)],
  ["prompts", (client, page) => client.listPrompts(page)],
  ["resources", (client, page) => client.listResources(page)],
  ["resourceTemplates", (client, page) => client.listResourceTemplates(page)],
];

async function whole(client, name, list) {
  const items = [];
  let cursor;
  do {
    const page = await list(client, cursor && { cursor });
    items.push(...page[name]);
    cursor = page.nextCursor;
  } while (cursor);
  return items;
}

/** Everything that a client sees of a server before its first call. */
async function seen([command, ...args]) {
  const client = new Client(INFO, { capabilities: CAPABILITIES });
  await client.connect(new StdioClientTransport({ command, args, stderr: "ignore" }));
  try {
    const found = {
      serverInfo: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions(),
    };
    const offered = { resourceTemplates: "resources" };
    for (const [name, list] of LISTS) {
      if (!found.capabilities[offered[name] ?? name]) continue;
      const items = await whole(client, name, list);
      const known = (item) => item.uri ?? item.uriTemplate ?? item.name;
      found[name] = Object.fromEntries(items.map((item) => [known(item), item]));
    }
    return found;
  } finally {
    await client.close();
  }
}

/** The differences between two values, each with its place. A different order of a list counts as one. */
function differences(direct, through, place = "") {
  if (isDeepStrictEqual(direct, through)) return [];
  const isObject = (value) => typeof value === "object" && value !== null;
  if (!isObject(direct) || !isObject(through) || Array.isArray(direct) !== Array.isArray(through)) {
    return [{ place, direct, through }];
  }
  const names = [...new Set([...Object.keys(direct), ...Object.keys(through)])];
  const common = (value, other) => Object.keys(value).filter((name) => name in other);
  const isList = LISTS.some(([list]) => place === `/${list}`);
  if (isList && !isDeepStrictEqual(common(direct, through), common(through, direct))) {
    return [{ place: `${place} (order)`, direct, through }];
  }
  return names.flatMap((name) => differences(direct[name], through[name], `${place}/${name}`));
}

// The kind of a difference, without the item of a list that has it.
function kind({ place, direct, through }) {
  const [, list, item, ...rest] = place.split("/");
  const general = rest.length > 0 && LISTS.some(([name]) => name === list) ? ["", list, "*", ...rest].join("/") : place;
  const how = direct === undefined ? "added" : through === undefined ? "missing" : "changed";
  return `${how}: \`${general}\``;
}

async function main() {
  const [panpan, option] = process.argv.slice(2);
  if (!panpan) {
    console.error(`usage: node ${process.argv[1]} PANPAN [--write]`);
    process.exit(2);
  }
  const quoted = (words) => words.map((word) => `'${word}'`).join(" ");
  const lines = [];
  for (const [name, command] of Object.entries(SERVERS)) {
    const direct = await seen(command);
    const through = await seen([panpan, "mcp", "--store", "memory:", "--mcp-stdio", `${name}=${quoted(command)}`]);
    const kinds = new Map();
    for (const difference of differences(direct, through)) {
      kinds.set(kind(difference), (kinds.get(kind(difference)) ?? 0) + 1);
    }
    for (const [what, times] of kinds) lines.push(`- ${name}, ${what}${times > 1 ? ` (${times} times)` : ""}`);
  }
  const found = lines.join("\n");
  console.log(found);
  const guide = readFileSync(GUIDE, "utf8");
  if (!LISTED.test(guide)) throw new Error(`${GUIDE} has no section for the differences`);
  const renewed = guide.replace(LISTED, (_, before, after) => `${before}${found}${after}`);
  if (option === "--write") {
    writeFileSync(GUIDE, renewed);
  } else if (renewed !== guide) {
    console.error(`${GUIDE} lists other differences; --write updates it`);
    process.exitCode = 1;
  }
}

try {
  await main();
} catch (error) {
  console.error(`could not run a server: ${error.stack ?? error}`);
  process.exitCode = 2;
}
