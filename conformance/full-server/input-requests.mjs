// The tools that need input from the client before they answer: elicitation, sampling or roots. Up to 2025-11-25 the
// SDK sends the questions as requests; from 2026-07-28 on, the response contains them and the client repeats the call
// with the replies. The prompt that needs input is in prompts.mjs.

import { randomBytes } from "node:crypto";

import { createRequestStateCodec, inputRequired, inputResponse } from "@modelcontextprotocol/server";

import { argumentsSchema, object, text } from "./content.mjs";

const { createMessage, elicit, listRoots } = inputRequired;

/** Signs the state that clients keep between the rounds of a call, so that they cannot change it. */
export const stateCodec = createRequestStateCodec({ key: randomBytes(32) });

const KINDS = { "elicitation/create": "elicit", "sampling/createMessage": "sampling", "roots/list": "roots" };

/** The replies to all questions of a round; undefined if one is missing. */
function repliesTo(questions, ctx) {
  const replies = {};
  for (const [key, { method }] of Object.entries(questions)) {
    const reply = inputResponse(ctx.mcpReq.inputResponses, key);
    if (reply.kind !== KINDS[method]) return undefined;
    replies[key] = reply;
  }
  return replies;
}

/**
 * Asks the questions of each round in turn; a round creates its questions from the arguments and the call.
 * Returns `pending`, the response that asks for more input, or `replies`, the replies of all rounds.
 */
export async function gatherInput({ name, rounds, hasState = rounds.length > 1 }, args, call) {
  const state = call.ctx.mcpReq.requestState();
  const isOurs = state?.name === name;
  const earlier = isOurs ? state.replies : [];
  const questions = rounds[earlier.length](args, call);
  const latest = hasState && !isOurs ? undefined : repliesTo(questions, call.ctx);
  const replies = latest ? [...earlier, latest] : earlier;
  if (replies.length === rounds.length) return { replies };
  const inputRequests = latest ? rounds[replies.length](args, call) : questions;
  if (!hasState) return { pending: inputRequired({ inputRequests }) };
  return { pending: inputRequired({ inputRequests, requestState: await stateCodec.mint({ name, replies }) }) };
}

/** A tool that gathers input and describes the replies. */
export function inputTool({ name, description, inputSchema, rounds, hasState, describe }) {
  const run = async (args, call) => {
    const { pending, replies } = await gatherInput({ name, rounds, hasState }, args, call);
    return pending ?? { content: [text(describe(...replies))] };
  };
  return { name, description, inputSchema, run };
}

export const form = (message, properties, required) =>
  elicit({ message, requestedSchema: object(properties, required) });
const prompt = (message, maxTokens = 100) =>
  createMessage({ messages: [{ role: "user", content: text(message) }], maxTokens });

const nameForm = (message = "What is your name?") => form(message, { name: { type: "string" } });
const confirmation = () => ({ confirm: form("Please confirm", { ok: { type: "boolean" } }) });

const outcome = ({ action, content = {} }) => `action=${action}, content=${JSON.stringify(content)}`;
const greeting = ({ action, content }) =>
  action === "accept" ? `Hello, ${content?.name}!` : "Hello, whoever you are!";
const sampled = ({ result }) => [result.content].flat().map((block) => block.text ?? `(${block.type})`).join("");
const rooted = ({ roots }) => roots.map(({ uri }) => uri).join(", ");

/** A form with a default for every member. */
const DEFAULTS = {
  name: { type: "string", default: "John Doe" },
  age: { type: "integer", default: 30 },
  score: { type: "number", default: 95.5 },
  status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
  verified: { type: "boolean", default: true },
};

const OPTIONS = ["option1", "option2", "option3"];
const titled = (what) =>
  ["First", "Second", "Third"].map((title, index) => ({ const: `value${index + 1}`, title: `${title} ${what}` }));
/** A form with every kind of choice. */
const CHOICES = {
  untitledSingle: { type: "string", enum: OPTIONS },
  titledSingle: { type: "string", oneOf: titled("Option") },
  legacyEnum: {
    type: "string",
    enum: ["opt1", "opt2", "opt3"],
    enumNames: ["Option One", "Option Two", "Option Three"],
  },
  untitledMulti: { type: "array", items: { type: "string", enum: OPTIONS } },
  titledMulti: { type: "array", items: { anyOf: titled("Choice") } },
};

/** The questions that the capabilities of the client allow. */
function supportedQuestions(_, { clientCapabilities }) {
  const { elicitation, sampling, roots } = clientCapabilities();
  return {
    ...(elicitation && { user_name: nameForm() }),
    ...(sampling && { greeting: prompt("Generate a greeting") }),
    ...(roots && { client_roots: listRoots() }),
  };
}

export const INPUT_TOOLS = [
  inputTool({
    name: "test_sampling",
    description: "Asks the client's model and returns its reply.",
    inputSchema: argumentsSchema({ prompt: { type: "string", description: "The question to the model" } }),
    rounds: [(args) => ({ answer: prompt(args.prompt) })],
    describe: ({ answer }) => `LLM response: ${sampled(answer)}`,
  }),
  inputTool({
    name: "test_elicitation",
    description: "Asks the user and returns the reply.",
    inputSchema: argumentsSchema({ message: { type: "string", description: "The message to the user" } }),
    rounds: [
      ({ message }) => ({
        user: form(message, {
          username: { type: "string", description: "User's response" },
          email: { type: "string", description: "User's email address" },
        }),
      }),
    ],
    describe: ({ user }) => `User response: ${outcome(user)}`,
  }),
  inputTool({
    name: "test_elicitation_sep1034_defaults",
    description: "Asks the user with a form that has defaults.",
    rounds: [() => ({ user: form("Please check these values", DEFAULTS, []) })],
    describe: ({ user }) => `Elicitation completed: ${outcome(user)}`,
  }),
  inputTool({
    name: "test_elicitation_sep1330_enums",
    description: "Asks the user to choose from lists.",
    rounds: [() => ({ user: form("Please choose", CHOICES, []) })],
    describe: ({ user }) => `Elicitation completed: ${outcome(user)}`,
  }),
  inputTool({
    name: "test_streaming_elicitation",
    description: "Asks the user to confirm.",
    rounds: [confirmation],
    describe: ({ confirm }) => `Confirmed: ${outcome(confirm)}`,
  }),
  inputTool({
    name: "test_missing_capability",
    description: "Asks the client's model even if the client has none.",
    rounds: [() => ({ answer: prompt("Are you there?") })],
    describe: ({ answer }) => `LLM response: ${sampled(answer)}`,
  }),
  inputTool({
    name: "test_input_required_result_elicitation",
    description: "Asks the user for a name and returns a greeting.",
    rounds: [() => ({ user_name: nameForm() })],
    describe: ({ user_name: user }) => greeting(user),
  }),
  inputTool({
    name: "test_input_required_result_sampling",
    description: "Asks the client's model a question.",
    rounds: [() => ({ capital_question: prompt("What is the capital of France?") })],
    describe: ({ capital_question: answer }) => sampled(answer),
  }),
  inputTool({
    name: "test_input_required_result_list_roots",
    description: "Asks for the client's roots.",
    rounds: [() => ({ client_roots: listRoots() })],
    describe: ({ client_roots: answer }) => `Roots: ${rooted(answer)}`,
  }),
  inputTool({
    name: "test_input_required_result_request_state",
    description: "Asks the user to confirm, with a state that the client keeps.",
    rounds: [confirmation],
    hasState: true,
    describe: ({ confirm }) => `state-ok, ${outcome(confirm)}`,
  }),
  inputTool({
    name: "test_input_required_result_tampered_state",
    description: "Asks the user to confirm, and refuses a state that was changed.",
    rounds: [confirmation],
    hasState: true,
    describe: ({ confirm }) => `state-ok, ${outcome(confirm)}`,
  }),
  inputTool({
    name: "test_input_required_result_multiple_inputs",
    description: "Asks the user and the model, and for the roots, all at once.",
    rounds: [
      () => ({ user_name: nameForm(), greeting: prompt("Generate a greeting", 50), client_roots: listRoots() }),
    ],
    hasState: true,
    describe: ({ user_name: user, greeting: answer, client_roots: roots }) =>
      [greeting(user), sampled(answer), rooted(roots)].join(" "),
  }),
  inputTool({
    name: "test_input_required_result_multi_round",
    description: "Asks the user twice.",
    rounds: [
      () => ({ step1: nameForm("Step 1: What is your name?") }),
      () => ({ step2: form("Step 2: What is your favorite color?", { color: { type: "string" } }) }),
    ],
    describe: ({ step1 }, { step2 }) => `${greeting(step1)} ${outcome(step2)}`,
  }),
  inputTool({
    name: "test_input_required_result_capabilities",
    description: "Asks every question that the client supports.",
    rounds: [supportedQuestions],
    describe: (answers) => `Answered: ${Object.keys(answers).join(", ") || "nothing, since nothing could be asked"}`,
  }),
];
