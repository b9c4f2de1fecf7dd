// The resources: fixed ones, a template, and the texts that a session remembers. session-tools.mjs has the tool that
// remembers a text, prompts.mjs the completion of the template.
//
// The SDK's own list of resources is not used: it belongs to one server object, and there is one such object per request
// in the revision without sessions.

import { ResourceNotFoundError, UriTemplate } from "@modelcontextprotocol/server";

import { PNG } from "./content.mjs";

const FIXED = [
  {
    uri: "test://static-text",
    name: "static-text",
    description: "A text",
    mimeType: "text/plain",
    body: { text: "This is the content of the static text resource." },
  },
  {
    uri: "test://static-binary",
    name: "static-binary",
    description: "An image",
    mimeType: "image/png",
    body: { blob: PNG },
  },
  {
    uri: "test://watched-resource",
    name: "watched-resource",
    description: "A text to subscribe to",
    mimeType: "text/plain",
    body: { text: "This is the content of the watched resource." },
  },
];

export const TEMPLATE = {
  uriTemplate: "test://template/{id}/data",
  name: "template",
  description: "Data about an id",
  mimeType: "application/json",
};
const PATTERN = new UriTemplate(TEMPLATE.uriTemplate);

export const isFixed = (uri) => FIXED.some((resource) => resource.uri === uri) || PATTERN.match(uri) !== null;

/** A remembered text as a resource. */
function remembered([uri, text]) {
  return { uri, name: uri, description: "A remembered text", mimeType: "text/plain", body: { text } };
}

function list(session) {
  return [...FIXED, ...[...session.remembered].map(remembered)];
}

function fromTemplate(uri) {
  const id = PATTERN.match(uri)?.id;
  if (id === undefined) return undefined;
  const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
  return { mimeType: TEMPLATE.mimeType, body: { text } };
}

function read(uri, session) {
  const resource = list(session).find((resource) => resource.uri === uri) ?? fromTemplate(uri);
  if (!resource) throw new ResourceNotFoundError(uri);
  return { contents: [{ uri, mimeType: resource.mimeType, ...resource.body }] };
}

export function serveResources({ server }, session) {
  const withoutBody = ({ body, ...resource }) => resource;
  server.setRequestHandler("resources/list", () => ({ resources: list(session).map(withoutBody) }));
  server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: [TEMPLATE] }));
  server.setRequestHandler("resources/read", ({ params }) => read(params.uri, session));
  // A client may subscribe to a resource before it exists.
  server.setRequestHandler("resources/subscribe", ({ params }) => {
    session.subscribed.add(params.uri);
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", ({ params }) => {
    session.subscribed.delete(params.uri);
    return {};
  });
}
