//! From the result of a tool to the output of its operation.
//!
//! Structured content is the output where the tool declares its schema. Elsewhere a single text is the
//! output, and anything else is given as the content blocks it is, in the form the MCP surface passes on
//! unchanged.

use panpan_contract::undeclared;
use panpan_failure::size;
use serde_json::{Map, Value, json};

/// How many bytes of blocks and structured content are passed on beside a failure, as JSON.
pub const FAILURE_BLOCKS_LIMIT: usize = 1024 * 1024;

/// The member of an output schema that says that outputs may be content blocks.
const CONTENT_MARK: &str = "x-mcp-content";

/// The output schema of an operation, by that of its tool.
pub(super) fn schema(declared: Option<&Value>) -> Value {
    let Some(schema) = declared else {
        return json!({CONTENT_MARK: true});
    };
    let members = schema.as_object().and_then(undeclared::declared);
    members.map_or_else(|| schema.clone(), Value::Object)
}

/// The output a result stands for; `None` when it is no result of a tool.
pub(super) fn of(result: &Value, has_schema: bool) -> Option<Value> {
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
        (None, Some(text)) if has_schema => Some(parsed(text)),
        (None, Some(text)) => Some(text.into()),
        (Some(structured), _) => Some(json!({"content": blocks, "structuredContent": structured})),
        (None, None) => Some(json!({"content": blocks})),
    }
}

/// What a result holds that its output does not: the blocks beside structured content, and `_meta`. MCP clients get
/// them as they are.
pub(super) fn beside(result: &Value, has_schema: bool) -> Option<Value> {
    let mut beside = Map::new();
    let structured = result.get("structuredContent").filter(|it| !it.is_null());
    let content = result.get("content").filter(|_| has_schema);
    if let (Some(_), Some(content)) = (structured, content) {
        beside.insert("content".to_owned(), content.clone());
    }
    if let Some(meta) = result.get("_meta").filter(|it| it.is_object()) {
        beside.insert("_meta".to_owned(), meta.clone());
    }
    (!beside.is_empty()).then_some(Value::Object(beside))
}

/// What a failing result holds beside its first text, which is in the failure: further blocks, and structured
/// content. Secrets are removed; blocks that are too large together are left out, from the first that is.
pub(super) fn beside_failure(result: &Value, redact: impl Fn(&mut Value)) -> Option<Value> {
    let mut beside = Map::new();
    let mut left = FAILURE_BLOCKS_LIMIT;
    let content = result.get("content").and_then(Value::as_array);
    let mut blocks: Vec<&Value> = content.into_iter().flatten().collect();
    let is_text = |block: &&Value| block.get("type") == Some(&json!("text"));
    if let Some(first) = blocks.iter().position(is_text) {
        blocks.remove(first);
    }
    let fitting = blocks.into_iter().map_while(|block| {
        left = size::remaining_bytes(block, left)?;
        Some(redacted_block(block.clone(), &redact))
    });
    let fitting: Vec<Value> = fitting.collect();
    if !fitting.is_empty() {
        beside.insert("content".to_owned(), fitting.into());
    }
    let structured = result.get("structuredContent").filter(|it| it.is_object());
    if let Some(structured) = structured.filter(|it| size::fits(it, left)) {
        let mut structured = structured.clone();
        redact(&mut structured);
        beside.insert("structuredContent".to_owned(), structured);
    }
    (!beside.is_empty()).then_some(Value::Object(beside))
}

/// A block without secrets. The bytes of images, sounds and files are not looked into: whatever looks like a secret
/// in them is none.
fn redacted_block(mut block: Value, redact: &impl Fn(&mut Value)) -> Value {
    let bytes = match block.get("type").and_then(Value::as_str) {
        Some("image" | "audio") => Some("/data"),
        Some("resource") => Some("/resource/blob"),
        _ => None,
    };
    let bytes = bytes.and_then(|place| Some((place, block.pointer_mut(place)?.take())));
    redact(&mut block);
    if let Some((place, bytes)) = bytes
        && let Some(kept) = block.pointer_mut(place)
    {
        *kept = bytes;
    }
    block
}

/// The text, where there is nothing else and nothing is said about it.
fn only_text(blocks: &[Value]) -> Option<&str> {
    let [block] = blocks else { return None };
    let is_bare = block.as_object()?.len() == 2;
    let is_text = block.get("type")? == "text";
    block.get("text")?.as_str().filter(|_| is_bare && is_text)
}

/// Older servers declare a schema and give what fits it only as text.
fn parsed(text: &str) -> Value {
    panpan_failure::read::document(text.as_bytes()).unwrap_or_else(|_| text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_beside_structured_content_and_meta_are_not_lost() {
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
            assert_eq!(beside(&result, has_schema), expected, "{result}");
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
            assert_eq!(of(&result, has_schema), output, "{result} {has_schema}");
        }
    }
}
