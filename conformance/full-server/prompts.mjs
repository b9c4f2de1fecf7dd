// The prompts the suite gets by name, and what completes the arguments of prompts and of the template of resources.
// What each has to give is the suite's to say. How a prompt asks the client something is in asking.mjs.

import { form, gather } from "./asking.mjs";
import { embedded, image, taking, text } from "./content.mjs";
import { TEMPLATE } from "./resources.mjs";

const MOST_COMPLETIONS = 100;

const fromUser = (content) => ({ role: "user", content });
const messages = (...contents) => ({ messages: contents.map(fromUser) });
const gives = (name, description, ...contents) => ({ name, description, get: () => messages(...contents) });

const CONTEXT = {
  name: "test_input_required_result_prompt",
  rounds: [
    () => ({ user_context: form("What context should the prompt use?", { context: { type: "string" } }) }),
  ],
};

async function getWithContext(args, call) {
  const { wanted, told } = await gather(CONTEXT, args, call);
  if (wanted) return wanted;
  const [{ user_context: user }] = told;
  return messages(text(`Prompt with context: ${user.content?.context ?? "none"}`));
}

export const PROMPTS = [
  gives("test_simple_prompt", "A prompt without arguments", text("This is a simple prompt for testing.")),
  {
    name: "test_prompt_with_arguments",
    description: "A prompt with two arguments",
    argsSchema: taking({
      arg1: { type: "string", description: "First test argument" },
      arg2: { type: "string", description: "Second test argument" },
    }),
    get: ({ arg1, arg2 }) => messages(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  },
  {
    name: "test_prompt_with_embedded_resource",
    description: "A prompt with a resource in it",
    argsSchema: taking({ resourceUri: { type: "string", description: "URI of the resource to embed" } }),
    get: ({ resourceUri }) =>
      messages(
        embedded(resourceUri, "text/plain", "Embedded resource content for testing."),
        text("Please process the embedded resource above."),
      ),
  },
  gives("test_prompt_with_image", "A prompt with an image", image(), text("Please analyze the image above.")),
  { name: CONTEXT.name, description: "A prompt that asks the user for its context", get: getWithContext },
];

/** What test_trigger_prompt_change adds. */
export const ANOTHER_PROMPT = gives("test_another_prompt", "Is there every other time.", text("It is there."));

/** What the arguments can be, by what they are arguments of. */
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
  const hasMore = values.length > MOST_COMPLETIONS;
  return { completion: { values: values.slice(0, MOST_COMPLETIONS), total: values.length, hasMore } };
}

export function serveCompletion({ server }) {
  server.setRequestHandler("completion/complete", ({ params }) => complete(params));
}
