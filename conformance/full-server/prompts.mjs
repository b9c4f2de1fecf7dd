// The prompts that the suite gets by name, and the completion of prompt arguments and of the resource template. The
// suite defines the expected contents. input-requests.mjs implements input from the client.

import { argumentsSchema, embedded, image, text } from "./content.mjs";
import { form, gatherInput } from "./input-requests.mjs";
import { TEMPLATE } from "./resources.mjs";

const COMPLETIONS_LIMIT = 100;

const fromUser = (content) => ({ role: "user", content });
const messages = (...contents) => ({ messages: contents.map(fromUser) });
const fixedPrompt = (name, description, ...contents) => ({ name, description, get: () => messages(...contents) });

const CONTEXT = {
  name: "test_input_required_result_prompt",
  rounds: [
    () => ({ user_context: form("What context should the prompt use?", { context: { type: "string" } }) }),
  ],
};

async function getWithContext(args, call) {
  const { pending, replies } = await gatherInput(CONTEXT, args, call);
  if (pending) return pending;
  const [{ user_context: user }] = replies;
  return messages(text(`Prompt with context: ${user.content?.context ?? "none"}`));
}

export const PROMPTS = [
  fixedPrompt("test_simple_prompt", "A prompt without arguments", text("This is a simple prompt for testing.")),
  {
    name: "test_prompt_with_arguments",
    description: "A prompt with two arguments",
    argsSchema: argumentsSchema({
      arg1: { type: "string", description: "First test argument" },
      arg2: { type: "string", description: "Second test argument" },
    }),
    get: ({ arg1, arg2 }) => messages(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  },
  {
    name: "test_prompt_with_embedded_resource",
    description: "A prompt with a resource in it",
    argsSchema: argumentsSchema({ resourceUri: { type: "string", description: "URI of the resource to embed" } }),
    get: ({ resourceUri }) =>
      messages(
        embedded(resourceUri, "text/plain", "Embedded resource content for testing."),
        text("Please process the embedded resource above."),
      ),
  },
  fixedPrompt("test_prompt_with_image", "A prompt with an image", image(), text("Please analyze the image above.")),
  { name: CONTEXT.name, description: "A prompt that asks the user for its context", get: getWithContext },
];

/** The prompt that test_trigger_prompt_change enables. */
export const ANOTHER_PROMPT = fixedPrompt("test_another_prompt", "Enabled and disabled in turn.", text("It is there."));

/** The possible values of arguments, by prompt or template. */
const COMPLETIONS = {
  test_prompt_with_arguments: {
    arg1: ["paris", "park", "party", "testValue1"],
    arg2: ["london", "testValue2"],
  },
  [TEMPLATE.uriTemplate]: { id: ["1", "12", "123"] },
};

function complete({ ref, argument }) {
  const known = COMPLETIONS[ref.name ?? ref.uri]?.[argument.name] ?? [];
  const values = known.filter((value) => value.startsWith(argument.value));
  const hasMore = values.length > COMPLETIONS_LIMIT;
  return { completion: { values: values.slice(0, COMPLETIONS_LIMIT), total: values.length, hasMore } };
}

export function serveCompletion({ server }) {
  server.setRequestHandler("completion/complete", ({ params }) => complete(params));
}
