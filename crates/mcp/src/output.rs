//! The result of a tool and the output of its operation.
//!
//! An operation with the mark in its output schema returns an object with the list `content` and optionally
//! `structuredContent`, which is the result unchanged. Any other output is sent as text and, if it is an object, as
//! structured content. A result is read in the same way: structured content is the output if the tool declares an
//! output schema, a single text block is the output otherwise, and anything else is an output of content blocks.

use panpan_contract::undeclared;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::names::CONTENT_MARK;

const CONTENT: &str = "content";
const STRUCTURED: &str = "structuredContent";

/// The output schema of an operation, derived from that of its tool.
pub fn schema(declared: Option<&Value>) -> Value {
    let Some(schema) = declared else {
        return json!({CONTENT_MARK: true});
    };
    let members = schema.as_object().and_then(undeclared::declared);
    members.map_or_else(|| schema.clone(), Value::Object)
}

/// Whether outputs of this schema are content blocks.
pub fn is_content(output_schema: &Value) -> bool {
    output_schema.get(CONTENT_MARK) == Some(&Value::Bool(true))
}

/// The schema of the structured content beside content blocks, if structured content is required.
pub fn structured_schema(output_schema: &Value) -> Option<&JsonObject> {
    let required = output_schema.get("required")?.as_array()?;
    let members = output_schema
        .get("properties")?
        .get(STRUCTURED)?
        .as_object()?;
    let is_object = members.get("type").and_then(Value::as_str) == Some("object");
    let is_required = required.iter().any(|name| name == STRUCTURED);
    (is_object && is_required).then_some(members)
}

/// The output in a result; `None` if it is not the result of a tool.
pub fn from_result(result: &Value, has_schema: bool) -> Option<Value> {
    let content = result.get(CONTENT).and_then(Value::as_array);
    let structured = result.get(STRUCTURED).filter(|it| !it.is_null());
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
        (Some(structured), _) => Some(json!({CONTENT: blocks, STRUCTURED: structured})),
        (None, None) => Some(json!({CONTENT: blocks})),
    }
}

/// The result for an output: as text and, if it is an object, as structured content.
pub fn to_result(output: Value) -> CallToolResult {
    let (text, structured) = match output {
        Value::String(text) => (text, None),
        // Older versions allow only an object there; the text block carries the rest.
        object @ Value::Object(_) => (serialised(&object), Some(object)),
        other => (serialised(&other), None),
    };
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = structured;
    result
}

/// The result for an output of content blocks. A malformed output is sent as text; its structured content is kept.
pub fn content_to_result(output: Value) -> CallToolResult {
    let structured = output.get(STRUCTURED).filter(|it| it.is_object()).cloned();
    let blocks = output.get(CONTENT).map(Vec::<ContentBlock>::deserialize);
    let mut result = match blocks {
        Some(Ok(blocks)) => CallToolResult::success(blocks),
        _ => to_result(output),
    };
    result.structured_content = structured;
    result
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

/// A value as text. `to_string` takes twice as long, since it writes through a formatter.
fn serialised(value: &Value) -> String {
    serde_json::to_string(value).expect("keys are strings, and writing to memory does not fail")
}

#[cfg(test)]
mod tests {
    use panpan_failure::dialect::{Dialect, Envelope};

    use super::*;

    fn written(result: CallToolResult) -> Value {
        serde_json::to_value(result).unwrap()
    }

    #[test]
    fn structured_content_is_an_object_or_absent() {
        for (output, structured, text) in [
            (json!({"a": 1}), Some(json!({"a": 1})), r#"{"a":1}"#),
            (json!([1]), None, "[1]"),
            (json!("text"), None, "text"),
            (json!(null), None, "null"),
        ] {
            let result = written(to_result(output.clone()));
            assert_eq!(
                result.get("structuredContent"),
                structured.as_ref(),
                "{output}"
            );
            assert_eq!(result["isError"], json!(false));
            assert_eq!(result["content"][0]["text"], json!(text));
        }
    }

    #[test]
    fn a_success_equals_the_rendering_of_the_dialect() {
        let output = json!({"a": [1, 2.5, null], "b": "c"});
        let mut result = written(to_result(output.clone()));
        assert_eq!(result["resultType"].take(), json!("complete"));
        result.as_object_mut().unwrap().remove("resultType");
        let rendered = Dialect::Mcp.render_success(&output, Envelope::default());
        assert_eq!(result, rendered);
    }

    #[test]
    fn valid_blocks_pass_unchanged_and_anything_else_becomes_text() {
        let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
        let audio = json!({"type": "audio", "data": "aGk=", "mimeType": "audio/wav"});
        let link = json!({"type": "resource_link", "uri": "file:///a", "name": "a"});
        let resource = json!({"type": "resource", "resource": {"uri": "file:///a", "text": "hi"}});
        let text = json!({"type": "text", "text": "hi"});
        for block in [image, audio, link, resource, text] {
            let result = content_to_result(json!({"content": [block]}));
            let written = serde_json::to_value(result).unwrap();
            assert_eq!(written["content"], json!([block]));
            assert!(written.get("structuredContent").is_none());
        }
        for malformed in [
            json!({"content": [{"type": "image"}]}),
            json!({"content": [{"type": "film", "data": ""}]}),
            json!({"content": "text"}),
            json!({"blocks": []}),
            json!([]),
        ] {
            let sent = content_to_result(malformed.clone());
            assert_eq!(sent.content, [ContentBlock::text(malformed.to_string())]);
            assert_eq!(sent.structured_content, None);
        }
    }

    #[test]
    fn structured_content_is_returned_with_the_blocks() {
        for (content, structured, expected) in [
            (json!([]), json!({"a": 1}), Some(json!({"a": 1}))),
            (json!([7]), json!({"a": 1}), Some(json!({"a": 1}))),
            (json!([]), json!([1]), None),
        ] {
            let output = json!({"content": content, "structuredContent": structured});
            assert_eq!(content_to_result(output).structured_content, expected);
        }
    }

    #[test]
    fn the_schema_of_structured_content_is_shown_only_if_required() {
        let part = json!({"type": "object", "properties": {"a": {}}});
        let whole = |required: Value| json!({"type": "object", CONTENT_MARK: true, "required": required, "properties": {"structuredContent": part}});
        let always = whole(json!(["content", "structuredContent"]));
        assert!(is_content(&always) && !is_content(&part));
        assert_eq!(structured_schema(&always), part.as_object());
        assert_eq!(structured_schema(&whole(json!(["content"]))), None);
        assert_eq!(structured_schema(&part), None);
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
