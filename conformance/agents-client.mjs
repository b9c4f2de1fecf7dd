// Tests a panpan server over Streamable HTTP with the MCP clients of two agent frameworks, and checks what each
// passes to its model: the OpenAI Agents SDK and LangChain's MCP adapters. Uses no model.
//
// Usage: node agents-client.mjs URL
//
// Prints a line for each check. Exits 0 if the model gets the complete agent view of every failure,
// 1 if not, 2 if the server could not be reached.
// Set-up: scripts/setup-node. From PyPI: scripts/openai-client.py, scripts/langchain-client.py

import { AIMessage } from "@langchain/core/messages";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { Agent, MCPServerStreamableHttp, Usage, run as runAgent, setTracingDisabled } from "@openai/agents";

import * as views from "./agent-views.mjs";
import { run, same } from "./checks.mjs";

const CALL_ID = "call-1";
const META_KEY = "dev.panpan/failure";
// If one of these is set, LangChain reports each call to a service.
const REPORTING = ["LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2"];

// tool, arguments, the text of the failure
const FAILURES = [
  ["demo__divide", { dividend: 1, divisor: 0 }, views.DIVISION_BY_ZERO],
  ["demo__divide", { dividend: 1, divisor: "two" }, views.WRONG_TYPE],
  ["demo__divide", { divisor: "two" }, views.MISSING_ARGUMENT],
  ["demo__fail", { code: "ERR_HTTP_429_RATE_LIMITED" }, views.RATE_LIMITED],
  ["demo__fail", { code: "INTERNAL_ERROR" }, views.INTERNAL],
  ["demo__fail", { code: "ERR_TIMEOT" }, views.UNKNOWN_CODE],
];
// LangChain checks the arguments itself; such a call does not reach panpan.
const REFUSED_BY_LANGCHAIN = [views.WRONG_TYPE, views.MISSING_ARGUMENT];

/** A stand-in for a model: calls a tool once, and keeps the last input it got. */
class OneCall {
  constructor(name, given) {
    const callId = CALL_ID;
    this.call = { type: "function_call", callId, name, arguments: JSON.stringify(given) };
  }

  async getResponse({ input }) {
    this.shown = input.at(-1);
    const isAnswered = this.shown.type === "function_call_result";
    const content = [{ type: "output_text", text: "done" }];
    const answer = { type: "message", role: "assistant", status: "completed", content };
    return { usage: new Usage(), output: [isAnswered ? answer : this.call] };
  }
}

const inputText = (text) => ({ type: "input_text", text });

/** The input that the OpenAI Agents SDK gives its model after a call. */
async function shownBy(server, name, given) {
  const model = new OneCall(name, given);
  await runAgent(new Agent({ name: "caller", mcpServers: [server], model }), "go");
  const { type, callId, output } = model.shown;
  if (!Array.isArray(output)) return { type, callId, output };
  return { type, callId, output: output.map((it) => ({ ...it, text: views.withoutId(it.text) })) };
}

async function checkOpenAi(url) {
  const where = "OpenAI Agents SDK, npm, HTTP";
  // With the default settings, which include a timeout of five seconds.
  const server = new MCPServerStreamableHttp({ url });
  await server.connect();
  try {
    for (const [name, given, view] of FAILURES) {
      const what = `${name} ${JSON.stringify(given)}`;
      const expected = { type: "function_call_result", callId: CALL_ID, output: [inputText(view)] };
      same(where, `${what}, as the model sees it`, expected, await shownBy(server, name, given));
      const content = await server.callTool(name, given);
      const texts = content.map((block) => views.withoutId(block.text));
      const whole = content._meta?.[META_KEY]?.code;
      same(where, what, [true, [view], JSON.parse(view).error.code], [content.isError, texts, whole]);
    }
  } finally {
    await server.close();
  }
}

async function checkLangChain(url) {
  const where = "LangChain MCP adapters, npm, HTTP";
  const client = new MultiServerMCPClient({ mcpServers: { panpan: { transport: "http", url } } });
  try {
    const tools = new ToolNode(await client.getTools());
    for (const [name, args, view] of FAILURES) {
      const call = { name, args, id: CALL_ID, type: "tool_call" };
      const [message] = await tools.invoke([new AIMessage({ content: "", tool_calls: [call] })]);
      const isRefused = REFUSED_BY_LANGCHAIN.includes(view);
      const said = isRefused
        ? "Received tool input did not match expected schema"
        : `MCP tool '${name}' on server 'panpan' returned an error: ${view}`;
      const expected = ["error", `Error: ${said}\n Please fix your mistakes.`];
      const shown = [message.status, views.withoutId(message.content)];
      const aside = isRefused ? "which the adapters refuse themselves" : "as the model sees it";
      same(where, `${name} ${JSON.stringify(args)}, ${aside}`, expected, shown);
    }
  } finally {
    await client.close();
  }
}

await run(async (url) => {
  for (const name of REPORTING) delete process.env[name];
  setTracingDisabled(true);
  await checkOpenAi(url);
  await checkLangChain(url);
});
