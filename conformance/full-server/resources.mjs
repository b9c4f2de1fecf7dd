// The resources: those that are always there, those made from a template, and what a session remembers. What makes a
// session remember is in session-tools.mjs, and what completes a template in prompts.mjs.
//
// The SDK could keep a list of resources itself, but one for each server it builds, and there is a server for each
// request of the revision without sessions.

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
  description: "What there is about an id",
  mimeType: "application/json",
};
const PATTERN = new UriTemplate(TEMPLATE.uriTemplate);

export const isFixed = (uri) => FIXED.some((resource) => resource.uri === uri) || PATTERN.match(uri) !== null;

/** A remembered text as a resource like the others. */
function remembered([uri, text]) {
  return { uri, name: uri, description: "What was remembered", mimeType: "text/plain", body: { text } };
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
  const shown = ({ body, ...resource }) => resource;
  server.setRequestHandler("resources/list", () => ({ resources: list(session).map(shown) }));
  server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: [TEMPLATE] }));
  server.setRequestHandler("resources/read", ({ params }) => read(params.uri, session));
  // A resource may be subscribed to before it is there.
  server.setRequestHandler("resources/subscribe", ({ params }) => {
    session.subscribed.add(params.uri);
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", ({ params }) => {
    session.subscribed.delete(params.uri);
    return {};
  });
}
