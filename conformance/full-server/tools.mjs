// The tools that the suite calls by name and that need no input from the client. Tools with input requests are in
// input-requests.mjs, tools with session state in session-tools.mjs. The suite defines the expected results.
//
// A tool gets its arguments and the context of the call: see buildServer in build.mjs.

import { setTimeout as sleep } from "node:timers/promises";

import { fromJsonSchema } from "@modelcontextprotocol/server";

import { argumentsSchema, audio, embedded, image, text } from "./content.mjs";
import { log } from "./session.mjs";

/** The duration of one step of a tool that reports progress. */
const STEP_MS = 50;
/** How long after closing its stream a tool answers, so that the client has to resume the stream. */
const CLOSED_MS = 200;

const fixedTool = (name, description, ...content) => ({ name, description, run: () => ({ content }) });
const pause = (ctx, ms) => sleep(ms, undefined, { signal: ctx.mcpReq.signal });

async function logSteps(_, call) {
  await log(call, "info", "Tool execution started");
  await pause(call.ctx, STEP_MS);
  await log(call, "info", "Tool processing data");
  await pause(call.ctx, STEP_MS);
  await log(call, "info", "Tool execution completed");
  return { content: [text("Logged three messages.")] };
}

async function logOnce(_, call) {
  await log(call, "info", "One message");
  return { content: [text("Logged one message, if one was wanted.")] };
}

async function reportProgress(_, { ctx }) {
  const total = 100;
  const progressToken = ctx.mcpReq._meta?.progressToken;
  for (const progress of [0, total / 2, total]) {
    if (progressToken !== undefined) {
      await ctx.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total } });
    }
    if (progress < total) await pause(ctx, STEP_MS);
  }
  return { content: [text("Done.")] };
}

function fail() {
  throw new Error("This tool intentionally returns an error for testing");
}

async function answerLater(_, { ctx }) {
  // On stdio, and without resumable streams, there is nothing to close.
  ctx.http?.closeSSE?.();
  await pause(ctx, CLOSED_MS);
  return { content: [text("The stream was closed before this was answered.")] };
}

async function switchTool(_, { session, switchTool: change }) {
  await change();
  return { content: [text(`test_another_tool is ${session.hasAnotherTool ? "there" : "gone"}.`)] };
}

async function switchPrompt(_, { session, switchPrompt: change }) {
  await change();
  return { content: [text(`test_another_prompt is ${session.hasAnotherPrompt ? "there" : "gone"}.`)] };
}

/** A schema with advanced keywords of JSON Schema 2020-12. A gateway has to pass on all of it. */
const CONTACT = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};

export const TOOLS = [
  fixedTool("test_simple_text", "Returns a text.", text("This is a simple text response for testing.")),
  fixedTool("test_image_content", "Returns an image.", image()),
  fixedTool("test_audio_content", "Returns a sound.", audio()),
  fixedTool(
    "test_embedded_resource",
    "Returns an embedded resource.",
    embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."),
  ),
  fixedTool(
    "test_multiple_content_types",
    "Returns a text, an image and a resource.",
    text("Multiple content types test:"),
    image(),
    embedded("test://mixed-content-resource", "application/json", JSON.stringify({ test: "data", value: 123 })),
  ),
  { name: "test_tool_with_logging", description: "Logs three messages in turn.", run: logSteps },
  { name: "test_logging_tool", description: "Logs one message.", run: logOnce },
  { name: "test_error_handling", description: "Always fails.", run: fail },
  { name: "test_tool_with_progress", description: "Reports progress three times.", run: reportProgress },
  { name: "test_reconnection", description: "Closes its stream and answers afterwards.", run: answerLater },
  {
    name: "json_schema_2020_12_tool",
    description: "Takes arguments that are validated by a schema with many keywords.",
    inputSchema: fromJsonSchema(CONTACT),
    run: ({ name }) => ({ content: [text(`The arguments of ${name ?? "nobody"} are valid.`)] }),
  },
  {
    name: "test_header_tool",
    description: "Takes an argument that a client of 2026-07-28 also sends as a header.",
    inputSchema: argumentsSchema({ region: { type: "string", "x-mcp-header": "Region" } }, []),
    run: ({ region }) => ({ content: [text(`The region is ${region ?? "not given"}.`)] }),
  },
  { name: "test_trigger_tool_change", description: "Enables or disables another tool.", run: switchTool },
  { name: "test_trigger_prompt_change", description: "Enables or disables another prompt.", run: switchPrompt },
];

/** The tool that test_trigger_tool_change enables. */
export const ANOTHER_TOOL = fixedTool("test_another_tool", "Enabled and disabled in turn.", text("It is there."));
