// The tools that ask the client something before they answer: its user, its model or its roots; and how anything here
// asks. Up to 2025-11-25 the SDK sends the questions as requests, afterwards the call is answered with them and made
// again with the answers. The prompt that asks is in prompts.mjs.

import { randomBytes } from "node:crypto";

import { createRequestStateCodec, inputRequired, inputResponse } from "@modelcontextprotocol/server";

import { object, taking, text } from "./content.mjs";

const { createMessage, elicit, listRoots } = inputRequired;

/** Signs what clients keep between the rounds of a call, so that they cannot change it. */
export const stateCodec = createRequestStateCodec({ key: randomBytes(32) });

const KINDS = { "elicitation/create": "elicit", "sampling/createMessage": "sampling", "roots/list": "roots" };

/** The answers to all questions of a round; undefined when one is missing. */
function answersTo(questions, ctx) {
  const answers = {};
  for (const [key, { method }] of Object.entries(questions)) {
    const answer = inputResponse(ctx.mcpReq.inputResponses, key);
    if (answer.kind !== KINDS[method]) return undefined;
    answers[key] = answer;
  }
  return answers;
}

/**
 * Asks the questions of one round after the other, each of which makes its own from the arguments and the call.
 * Gives `wanted`, the answer that asks for more, or `told`, what was answered in each round.
 */
export async function gather({ name, rounds, hasState = rounds.length > 1 }, args, call) {
  const state = call.ctx.mcpReq.requestState();
  const isOurs = state?.name === name;
  const earlier = isOurs ? state.told : [];
  const questions = rounds[earlier.length](args, call);
  const answers = hasState && !isOurs ? undefined : answersTo(questions, call.ctx);
  const told = answers ? [...earlier, answers] : earlier;
  if (told.length === rounds.length) return { told };
  const inputRequests = answers ? rounds[told.length](args, call) : questions;
  if (!hasState) return { wanted: inputRequired({ inputRequests }) };
  return { wanted: inputRequired({ inputRequests, requestState: await stateCodec.mint({ name, told }) }) };
}

/** A tool that says something about what it was told in each round. */
export function asks({ name, description, inputSchema, rounds, hasState, tell }) {
  const run = async (args, call) => {
    const { wanted, told } = await gather({ name, rounds, hasState }, args, call);
    return wanted ?? { content: [text(tell(...told))] };
  };
  return { name, description, inputSchema, run };
}

export const form = (message, properties, required) =>
  elicit({ message, requestedSchema: object(properties, required) });
const prompt = (said, maxTokens = 100) =>
  createMessage({ messages: [{ role: "user", content: text(said) }], maxTokens });

const nameForm = (message = "What is your name?") => form(message, { name: { type: "string" } });
const confirmation = () => ({ confirm: form("Please confirm", { ok: { type: "boolean" } }) });

const outcome = ({ action, content = {} }) => `action=${action}, content=${JSON.stringify(content)}`;
const greeting = ({ action, content }) =>
  action === "accept" ? `Hello, ${content?.name}!` : "Hello, whoever you are!";
const sampled = ({ result }) => [result.content].flat().map((block) => block.text ?? `(${block.type})`).join("");
const rooted = ({ roots }) => roots.map(({ uri }) => uri).join(", ");

/** A form whose every member has a default. */
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
/** A form with every way there is to choose from a list. */
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

/** What the client said it can be asked. */
function possible(_, { clientCapabilities }) {
  const { elicitation, sampling, roots } = clientCapabilities();
  return {
    ...(elicitation && { user_name: nameForm() }),
    ...(sampling && { greeting: prompt("Generate a greeting") }),
    ...(roots && { client_roots: listRoots() }),
  };
}

export const ASKING_TOOLS = [
  asks({
    name: "test_sampling",
    description: "Asks the client's model, and says what it answers.",
    inputSchema: taking({ prompt: { type: "string", description: "What the model is asked" } }),
    rounds: [(args) => ({ answer: prompt(args.prompt) })],
    tell: ({ answer }) => `LLM response: ${sampled(answer)}`,
  }),
  asks({
    name: "test_elicitation",
    description: "Asks the user, and says what they answer.",
    inputSchema: taking({ message: { type: "string", description: "What the user is shown" } }),
    rounds: [
      ({ message }) => ({
        user: form(message, {
          username: { type: "string", description: "User's response" },
          email: { type: "string", description: "User's email address" },
        }),
      }),
    ],
    tell: ({ user }) => `User response: ${outcome(user)}`,
  }),
  asks({
    name: "test_elicitation_sep1034_defaults",
    description: "Asks the user with a form that has defaults.",
    rounds: [() => ({ user: form("Please check these values", DEFAULTS, []) })],
    tell: ({ user }) => `Elicitation completed: ${outcome(user)}`,
  }),
  asks({
    name: "test_elicitation_sep1330_enums",
    description: "Asks the user to choose from lists.",
    rounds: [() => ({ user: form("Please choose", CHOICES, []) })],
    tell: ({ user }) => `Elicitation completed: ${outcome(user)}`,
  }),
  asks({
    name: "test_streaming_elicitation",
    description: "Asks the user to confirm.",
    rounds: [confirmation],
    tell: ({ confirm }) => `Confirmed: ${outcome(confirm)}`,
  }),
  asks({
    name: "test_missing_capability",
    description: "Asks the client's model, whether there is one or not.",
    rounds: [() => ({ answer: prompt("Are you there?") })],
    tell: ({ answer }) => `LLM response: ${sampled(answer)}`,
  }),
  asks({
    name: "test_input_required_result_elicitation",
    description: "Asks the user for a name, and greets.",
    rounds: [() => ({ user_name: nameForm() })],
    tell: ({ user_name: user }) => greeting(user),
  }),
  asks({
    name: "test_input_required_result_sampling",
    description: "Asks the client's model a question.",
    rounds: [() => ({ capital_question: prompt("What is the capital of France?") })],
    tell: ({ capital_question: answer }) => sampled(answer),
  }),
  asks({
    name: "test_input_required_result_list_roots",
    description: "Asks for the client's roots.",
    rounds: [() => ({ client_roots: listRoots() })],
    tell: ({ client_roots: answer }) => `Roots: ${rooted(answer)}`,
  }),
  asks({
    name: "test_input_required_result_request_state",
    description: "Asks the user to confirm, and has the client keep a state meanwhile.",
    rounds: [confirmation],
    hasState: true,
    tell: ({ confirm }) => `state-ok, ${outcome(confirm)}`,
  }),
  asks({
    name: "test_input_required_result_tampered_state",
    description: "Asks the user to confirm, and takes no state that was changed meanwhile.",
    rounds: [confirmation],
    hasState: true,
    tell: ({ confirm }) => `state-ok, ${outcome(confirm)}`,
  }),
  asks({
    name: "test_input_required_result_multiple_inputs",
    description: "Asks the user, the model and for the roots, all at once.",
    rounds: [
      () => ({ user_name: nameForm(), greeting: prompt("Generate a greeting", 50), client_roots: listRoots() }),
    ],
    hasState: true,
    tell: ({ user_name: user, greeting: answer, client_roots: roots }) =>
      [greeting(user), sampled(answer), rooted(roots)].join(" "),
  }),
  asks({
    name: "test_input_required_result_multi_round",
    description: "Asks the user twice.",
    rounds: [
      () => ({ step1: nameForm("Step 1: What is your name?") }),
      () => ({ step2: form("Step 2: What is your favorite color?", { color: { type: "string" } }) }),
    ],
    tell: ({ step1 }, { step2 }) => `${greeting(step1)} ${outcome(step2)}`,
  }),
  asks({
    name: "test_input_required_result_capabilities",
    description: "Asks all that the client can be asked.",
    rounds: [possible],
    tell: (answers) => `Answered: ${Object.keys(answers).join(", ") || "nothing, since nothing could be asked"}`,
  }),
];
