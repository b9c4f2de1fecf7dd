// The tools the suite calls by name that need nothing from the client. Those that ask it something are in asking.mjs,
// those that remember are in session-tools.mjs. What each has to give is the suite's to say.
//
// A tool is called with its arguments and with what is around the call: see buildServer in build.mjs.

import { setTimeout as sleep } from "node:timers/promises";

import { fromJsonSchema } from "@modelcontextprotocol/server";

import { audio, embedded, image, taking, text } from "./content.mjs";
import { log } from "./session.mjs";

/** How long a tool that reports what it does takes for each step. */
const STEP_MS = 50;
/** How long after its stream was closed a tool answers: a client has to come back for the answer. */
const AWAY_MS = 200;

const gives = (name, description, ...content) => ({ name, description, run: () => ({ content }) });
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
  // There is nothing to close on stdio, nor where nothing could be resumed.
  ctx.http?.closeSSE?.();
  await pause(ctx, AWAY_MS);
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

/** Uses what JSON Schema 2020-12 has beyond plain members. A gateway has to hand all of it on. */
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
  gives("test_simple_text", "Says something.", text("This is a simple text response for testing.")),
  gives("test_image_content", "Shows an image.", image()),
  gives("test_audio_content", "Plays a sound.", audio()),
  gives(
    "test_embedded_resource",
    "Gives a resource along with its text.",
    embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."),
  ),
  gives(
    "test_multiple_content_types",
    "Gives a text, an image and a resource.",
    text("Multiple content types test:"),
    image(),
    embedded("test://mixed-content-resource", "application/json", JSON.stringify({ test: "data", value: 123 })),
  ),
  { name: "test_tool_with_logging", description: "Logs three messages, one after the other.", run: logSteps },
  { name: "test_logging_tool", description: "Logs one message.", run: logOnce },
  { name: "test_error_handling", description: "Always fails.", run: fail },
  { name: "test_tool_with_progress", description: "Says how far it is, three times.", run: reportProgress },
  { name: "test_reconnection", description: "Closes its stream, and answers afterwards.", run: answerLater },
  {
    name: "json_schema_2020_12_tool",
    description: "Takes arguments of a schema of many keywords.",
    inputSchema: fromJsonSchema(CONTACT),
    run: ({ name }) => ({ content: [text(`The arguments of ${name ?? "nobody"} are valid.`)] }),
  },
  {
    name: "test_header_tool",
    description: "Takes an argument that a client of 2026-07-28 also sends as a header.",
    inputSchema: taking({ region: { type: "string", "x-mcp-header": "Region" } }, []),
    run: ({ region }) => ({ content: [text(`The region is ${region ?? "not given"}.`)] }),
  },
  { name: "test_trigger_tool_change", description: "Adds a tool, or takes it away again.", run: switchTool },
  { name: "test_trigger_prompt_change", description: "Adds a prompt, or takes it away again.", run: switchPrompt },
];

/** What test_trigger_tool_change adds. */
export const ANOTHER_TOOL = gives("test_another_tool", "Is there every other time.", text("It is there."));
