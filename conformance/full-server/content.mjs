// The small pieces that tools, resources and prompts are made of: blocks of content, and schemas of arguments.
// What is said with them is in the files of those.

import { fromJsonSchema } from "@modelcontextprotocol/server";

/** A red pixel. */
export const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/** No sound at all, at 8 kHz. */
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

export const text = (said) => ({ type: "text", text: said });
export const image = () => ({ type: "image", data: PNG, mimeType: "image/png" });
export const audio = () => ({ type: "audio", data: WAV, mimeType: "audio/wav" });
export const embedded = (uri, mimeType, said) => ({ type: "resource", resource: { uri, mimeType, text: said } });

/** The JSON Schema of an object; all of its members are required, unless said otherwise. */
export function object(properties, required = Object.keys(properties)) {
  return { type: "object", properties, required };
}

/** What the SDK validates arguments with. It compiles the schema, so this is for tables that are made once. */
export function taking(properties, required) {
  return fromJsonSchema(object(properties, required));
}
