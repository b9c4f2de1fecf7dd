// Building blocks of tools, resources and prompts: content blocks and argument schemas.

import { fromJsonSchema } from "@modelcontextprotocol/server";

/** A red pixel. */
export const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/** Silence at 8 kHz. */
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

export const text = (value) => ({ type: "text", text: value });
export const image = () => ({ type: "image", data: PNG, mimeType: "image/png" });
export const audio = () => ({ type: "audio", data: WAV, mimeType: "audio/wav" });
export const embedded = (uri, mimeType, value) => ({ type: "resource", resource: { uri, mimeType, text: value } });

/** The JSON Schema of an object; by default all members are required. */
export function object(properties, required = Object.keys(properties)) {
  return { type: "object", properties, required };
}

/** The schema that the SDK validates arguments with. It is compiled, so call this once per tool. */
export function argumentsSchema(properties, required) {
  return fromJsonSchema(object(properties, required));
}
