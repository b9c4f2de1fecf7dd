//! What the result of a tool has beside its output or its failure: content blocks, structured content, `_meta`, and
//! errors that clients act on. Taken from the response of an upstream server, and added to the response to a client.

use panpan_failure::size;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use crate::names::{CAPABILITY_MISSING, URL_ELICITATION_REQUIRED, passes_on};

/// The largest size of content blocks and structured content that are passed on with a failure, in bytes of JSON.
pub const FAILURE_CONTENT_BYTES_LIMIT: usize = 1024 * 1024;

/// The largest data of an error that is passed on, in bytes of JSON.
const ERROR_DATA_BYTES_LIMIT: usize = 16 * 1024;

const CONTENT: &str = "content";
const STRUCTURED: &str = "structuredContent";
const META: &str = "_meta";
const ERROR: &str = "error";

/// The parts of a result that its output does not contain: content blocks beside structured content, and `_meta`.
/// Clients get them unchanged.
pub fn of_output(result: &Value, has_schema: bool) -> Option<Value> {
    let mut extras = Map::new();
    let structured = result.get(STRUCTURED).filter(|it| !it.is_null());
    let content = result.get(CONTENT).filter(|_| has_schema);
    if let (Some(_), Some(content)) = (structured, content) {
        extras.insert(CONTENT.to_owned(), content.clone());
    }
    if let Some(meta) = result.get(META).filter(|it| it.is_object()) {
        extras.insert(META.to_owned(), meta.clone());
    }
    (!extras.is_empty()).then_some(Value::Object(extras))
}

/// Adds what an upstream server returned along with the output: its content blocks instead of the serialised output,
/// and its `_meta`.
pub fn add_to_output(result: &mut CallToolResult, extras: Option<Value>) {
    let mut extras = extras.unwrap_or_default();
    if let Some(Ok(blocks)) = blocks(&extras) {
        let notes = result.content.split_off(1.min(result.content.len()));
        result.content = blocks;
        result.content.extend(notes);
    }
    if let Some(Value::Object(meta)) = extras.get_mut(META).map(Value::take) {
        result.meta = Some(MetaObject(meta));
    }
}

/// The parts of a failing result that the failure does not contain: blocks after the first text, and structured
/// content. Redacted; from the first block that exceeds the limit on, blocks are dropped.
pub fn of_failure(result: &Value, redact: impl Fn(&mut Value)) -> Option<Value> {
    let mut blocks = blocks_of(result);
    let is_text = |block: &&Value| block.get("type") == Some(&json!("text"));
    if let Some(first) = blocks.iter().position(is_text) {
        blocks.remove(first);
    }
    bounded_parts(result, blocks, redact)
}

/// All parts of a result that was sent as a success and is a failure. Redacted, and limited as for a failure.
pub fn of_disguised_failure(result: &Value, redact: impl Fn(&mut Value)) -> Option<Value> {
    bounded_parts(result, blocks_of(result), redact)
}

fn blocks_of(result: &Value) -> Vec<&Value> {
    let content = result.get(CONTENT).and_then(Value::as_array);
    content.into_iter().flatten().collect()
}

fn bounded_parts(
    result: &Value,
    blocks: Vec<&Value>,
    redact: impl Fn(&mut Value),
) -> Option<Value> {
    let mut extras = Map::new();
    let mut bytes_left = FAILURE_CONTENT_BYTES_LIMIT;
    let blocks = blocks.into_iter().map_while(|block| {
        bytes_left = size::remaining_bytes(block, bytes_left)?;
        Some(redacted_block(block.clone(), &redact))
    });
    let blocks: Vec<Value> = blocks.collect();
    if !blocks.is_empty() {
        extras.insert(CONTENT.to_owned(), blocks.into());
    }
    let structured = result.get(STRUCTURED).filter(|it| it.is_object());
    if let Some(structured) = structured.filter(|it| size::fits(it, bytes_left)) {
        let mut structured = structured.clone();
        redact(&mut structured);
        extras.insert(STRUCTURED.to_owned(), structured);
    }
    if let Some(meta) = forwarded_meta(result, bytes_left) {
        let mut meta = Value::Object(meta);
        redact(&mut meta);
        extras.insert(META.to_owned(), meta);
    }
    (!extras.is_empty()).then_some(Value::Object(extras))
}

/// The `_meta` of a failing result, without the members that panpan reads.
fn forwarded_meta(result: &Value, bytes_limit: usize) -> Option<Map<String, Value>> {
    let mut meta = result.get(META)?.as_object()?.clone();
    meta.retain(|name, _| passes_on(name));
    let fits = size::fits(&Value::Object(meta.clone()), bytes_limit);
    (fits && !meta.is_empty()).then_some(meta)
}

/// Adds what an upstream server returned along with the failure, after our own block. Some clients of versions with
/// sessions validate the structured content of a failure against the output schema and reject the whole result.
pub fn add_to_failure(result: &mut CallToolResult, extras: Option<Value>, allows_structured: bool) {
    let Some(mut extras) = extras else { return };
    let blocks = blocks(&extras).into_iter().flatten().flatten();
    result.content.extend(blocks);
    let structured = extras.get_mut(STRUCTURED).map(Value::take);
    result.structured_content = structured.filter(|_| allows_structured);
    if let Some(Value::Object(theirs)) = extras.get_mut(META).map(Value::take) {
        let meta = result.meta.get_or_insert_with(|| MetaObject(Map::new()));
        for (name, value) in theirs {
            meta.0.entry(name).or_insert(value);
        }
    }
}

/// The data of an error that clients act on. Redacted, except for the URLs of elicitations, which would be useless
/// otherwise.
pub fn of_error(code: i32, data: Option<&Value>, redact: impl Fn(&mut Value)) -> Option<Value> {
    let is_known = matches!(code, URL_ELICITATION_REQUIRED | CAPABILITY_MISSING);
    let stated = data.filter(|_| is_known)?;
    if !size::fits(stated, ERROR_DATA_BYTES_LIMIT) {
        return None;
    }
    let mut data = stated.clone();
    redact(&mut data);
    let elicitations = data.get_mut("elicitations").and_then(Value::as_array_mut);
    for (at, elicitation) in elicitations.into_iter().flatten().enumerate() {
        for name in ["url", "elicitationId"] {
            if let Some(kept) = stated.pointer(&format!("/elicitations/{at}/{name}")) {
                elicitation[name] = kept.clone();
            }
        }
    }
    Some(json!({ERROR: {"code": code, "data": data}}))
}

/// The code and the data of an error that clients act on.
pub fn error(extras: &Value) -> Option<(i32, Map<String, Value>)> {
    let error = extras.get(ERROR)?;
    let code = i32::try_from(error.get("code")?.as_i64()?).ok()?;
    let data = error.get("data").and_then(Value::as_object);
    Some((code, data.cloned().unwrap_or_default()))
}

fn blocks(extras: &Value) -> Option<Result<Vec<ContentBlock>, serde_json::Error>> {
    extras.get(CONTENT).map(Vec::deserialize)
}

/// A redacted block. The data of images, audio and files is kept: a match in it would not be a secret.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> Value {
        json!({"type": "image", "data": "aGk=", "mimeType": "image/png"})
    }

    fn result(text: &str) -> CallToolResult {
        CallToolResult::success(vec![ContentBlock::text(text)])
    }

    fn written(result: CallToolResult) -> Value {
        serde_json::to_value(result).unwrap()
    }

    #[test]
    fn content_beside_structured_content_and_meta_are_kept() {
        let content = json!([{"type": "text", "text": "two"}, image()]);
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
            assert_eq!(of_output(&result, has_schema), expected, "{result}");
        }
    }

    #[test]
    fn extras_of_an_output_replace_its_text() {
        let text = json!({"type": "text", "text": "two"});
        for (extras, content, meta) in [
            (None, json!([{"type": "text", "text": "one"}]), Value::Null),
            (
                Some(json!({"content": [7]})),
                json!([{"type": "text", "text": "one"}]),
                Value::Null,
            ),
            (
                Some(json!({"content": [text, image()], "_meta": {"example.com/a": 1}})),
                json!([text, image()]),
                json!({"example.com/a": 1}),
            ),
        ] {
            let mut result = result("one");
            add_to_output(&mut result, extras);
            let result = written(result);
            assert_eq!((&result["content"], &result["_meta"]), (&content, &meta));
        }
    }

    #[test]
    fn extras_of_a_failure_follow_its_text() {
        for (allows_structured, structured) in [(true, json!({"step": 2})), (false, Value::Null)] {
            let extras = json!({"content": [image()], "structuredContent": {"step": 2}});
            let mut result = result("one");
            add_to_failure(&mut result, Some(extras), allows_structured);
            let result = written(result);
            assert_eq!(result["content"][0]["text"], "one");
            assert_eq!(result["content"][1], image());
            assert_eq!(result["structuredContent"], structured);
        }
        let mut bare = result("one");
        add_to_failure(&mut bare, None, true);
        assert_eq!(written(bare), written(result("one")));
    }

    #[test]
    fn only_errors_that_clients_act_on_are_kept() {
        let data = json!({"a": 1});
        for (code, is_kept) in [(-32042, true), (-32021, true), (-32603, false)] {
            let extras = of_error(code, Some(&data), |_| {});
            let found = extras.as_ref().and_then(error);
            let kept = is_kept.then(|| (code, data.as_object().cloned().unwrap()));
            assert_eq!(found, kept, "{code}");
        }
    }
}
