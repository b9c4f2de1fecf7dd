//! Converts the result of a tool into the output of its operation.
//!
//! Structured content is the output if the tool declares an output schema. Otherwise a single text
//! block is the output, and anything else is passed on as content blocks, which the MCP surface
//! forwards unchanged.

use panpan_contract::undeclared;
use panpan_failure::size;
use serde_json::{Map, Value, json};

/// The largest size of content blocks and structured content that are passed on with a failure, in
/// bytes of JSON.
pub const FAILURE_CONTENT_BYTES_LIMIT: usize = 1024 * 1024;

/// The member of an output schema that declares outputs of content blocks.
const CONTENT_MARK: &str = "x-mcp-content";

/// The output schema of an operation, derived from that of its tool.
pub(super) fn schema(declared: Option<&Value>) -> Value {
    let Some(schema) = declared else {
        return json!({CONTENT_MARK: true});
    };
    let members = schema.as_object().and_then(undeclared::declared);
    members.map_or_else(|| schema.clone(), Value::Object)
}

/// The output in a result; `None` if it is not the result of a tool.
pub(super) fn from_result(result: &Value, has_schema: bool) -> Option<Value> {
    let content = result.get("content").and_then(Value::as_array);
    let structured = result.get("structuredContent").filter(|it| !it.is_null());
    if content.is_none() && structured.is_none() {
        return None;
    }
    let blocks = content.map_or(&[][..], Vec::as_slice);
    match (structured, only_text(blocks)) {
        (Some(structured), _) if has_schema => {
            Some(undeclared::output(structured).unwrap_or(structured).clone())
        }
        (None, Some(text)) if has_schema => Some(parse_text(text)),
        (None, Some(text)) => Some(text.into()),
        (Some(structured), _) => Some(json!({"content": blocks, "structuredContent": structured})),
        (None, None) => Some(json!({"content": blocks})),
    }
}

/// The parts of a result that its output does not contain: content blocks beside structured
/// content, and `_meta`. MCP clients get them unchanged.
pub(super) fn extras(result: &Value, has_schema: bool) -> Option<Value> {
    let mut extras = Map::new();
    let structured = result.get("structuredContent").filter(|it| !it.is_null());
    let content = result.get("content").filter(|_| has_schema);
    if let (Some(_), Some(content)) = (structured, content) {
        extras.insert("content".to_owned(), content.clone());
    }
    if let Some(meta) = result.get("_meta").filter(|it| it.is_object()) {
        extras.insert("_meta".to_owned(), meta.clone());
    }
    (!extras.is_empty()).then_some(Value::Object(extras))
}

/// The parts of a failing result that the failure does not contain: blocks after the first text,
/// and structured content. Redacted; from the first block that exceeds the limit on, blocks are
/// dropped.
pub(super) fn failure_extras(result: &Value, redact: impl Fn(&mut Value)) -> Option<Value> {
    let mut extras = Map::new();
    let mut bytes_left = FAILURE_CONTENT_BYTES_LIMIT;
    let content = result.get("content").and_then(Value::as_array);
    let mut blocks: Vec<&Value> = content.into_iter().flatten().collect();
    let is_text = |block: &&Value| block.get("type") == Some(&json!("text"));
    if let Some(first) = blocks.iter().position(is_text) {
        blocks.remove(first);
    }
    let blocks_within_limit = blocks.into_iter().map_while(|block| {
        bytes_left = size::remaining_bytes(block, bytes_left)?;
        Some(redacted_block(block.clone(), &redact))
    });
    let blocks_within_limit: Vec<Value> = blocks_within_limit.collect();
    if !blocks_within_limit.is_empty() {
        extras.insert("content".to_owned(), blocks_within_limit.into());
    }
    let structured = result.get("structuredContent").filter(|it| it.is_object());
    if let Some(structured) = structured.filter(|it| size::fits(it, bytes_left)) {
        let mut structured = structured.clone();
        redact(&mut structured);
        extras.insert("structuredContent".to_owned(), structured);
    }
    (!extras.is_empty()).then_some(Value::Object(extras))
}

/// A redacted block. The data of images, audio and files is kept: a match in it would not be a
/// secret.
fn redacted_block(mut block: Value, redact: &impl Fn(&mut Value)) -> Value {
    let pointer = match block.get("type").and_then(Value::as_str) {
        Some("image" | "audio") => Some("/data"),
        Some("resource") => Some("/resource/blob"),
        _ => None,
    };
    let data = pointer.and_then(|it| Some((it, block.pointer_mut(it)?.take())));
    redact(&mut block);
    if let Some((pointer, data)) = data
        && let Some(kept) = block.pointer_mut(pointer)
    {
        *kept = data;
    }
    block
}

/// The text of a single text block without annotations.
fn only_text(blocks: &[Value]) -> Option<&str> {
    let [block] = blocks else { return None };
    let has_no_annotations = block.as_object()?.len() == 2;
    let is_text = block.get("type")? == "text";
    block
        .get("text")?
        .as_str()
        .filter(|_| has_no_annotations && is_text)
}

/// Older servers declare a schema but return the JSON only as text.
fn parse_text(text: &str) -> Value {
    panpan_failure::read::document(text.as_bytes()).unwrap_or_else(|_| text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_beside_structured_content_and_meta_are_kept() {
        let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
        let content = json!([{"type": "text", "text": "two"}, image]);
        let meta = json!({"example.com/a": 1});
        for (result, has_schema, expected) in [
            (
                json!({"content": content, "structuredContent": {"a": 2}, "_meta": meta}),
                true,
                Some(json!({"content": content, "_meta": meta})),
            ),
            (
                json!({"content": content, "structuredContent": {"a": 2}}),
                false,
                None,
            ),
            (json!({"content": content}), true, None),
            (
                json!({"content": [], "_meta": meta}),
                false,
                Some(json!({"_meta": meta})),
            ),
            (json!({"content": [], "_meta": 7}), false, None),
        ] {
            assert_eq!(extras(&result, has_schema), expected, "{result}");
        }
    }

    #[test]
    fn results_become_outputs() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
        let noted = json!({"type": "text", "text": "hi", "annotations": {"priority": 1}});
        for (result, has_schema, output) in [
            (json!({"content": [text("hi")]}), false, Some(json!("hi"))),
            (json!({"content": [text("{}")]}), false, Some(json!("{}"))),
            (
                json!({"content": [text("{\"a\": 1}")]}),
                true,
                Some(json!({"a": 1})),
            ),
            (json!({"content": [text("hi")]}), true, Some(json!("hi"))),
            (
                json!({"content": [], "structuredContent": {"a": 1}}),
                true,
                Some(json!({"a": 1})),
            ),
            (json!({"structuredContent": [1]}), true, Some(json!([1]))),
            (
                json!({"content": [text("1")], "structuredContent": {"a": 1}}),
                false,
                Some(json!({"content": [text("1")], "structuredContent": {"a": 1}})),
            ),
            (
                json!({"content": [image]}),
                false,
                Some(json!({"content": [image]})),
            ),
            (
                json!({"content": [noted]}),
                false,
                Some(json!({"content": [noted]})),
            ),
            (
                json!({"content": [text("a"), text("b")]}),
                false,
                Some(json!({"content": [text("a"), text("b")]})),
            ),
            (json!({"content": []}), false, Some(json!({"content": []}))),
            (json!({}), false, None),
            (json!("hi"), true, None),
        ] {
            assert_eq!(
                from_result(&result, has_schema),
                output,
                "{result} {has_schema}"
            );
        }
    }
}
