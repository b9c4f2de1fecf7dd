//! Outputs that are content blocks: text, images, audio, resources and resource links.
//!
//! An operation with the mark in its output schema returns an object with the list `content` and
//! optionally `structuredContent`. Any other output is sent as JSON text.

use std::sync::Arc;

use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde::Deserialize;
use serde_json::Value;

use super::tool_result::success;

/// The member of an output schema that declares, with `true`, outputs of content blocks.
pub const CONTENT_MARK: &str = "x-mcp-content";

const CONTENT: &str = "content";
const STRUCTURED: &str = "structuredContent";

/// Whether outputs of this schema are content blocks.
pub(super) fn is_declared(output_schema: &Value) -> bool {
    output_schema.get(CONTENT_MARK) == Some(&Value::Bool(true))
}

/// The schema of the structured content, if structured content is required.
pub(super) fn structured_schema(output_schema: &Value) -> Option<Arc<JsonObject>> {
    let required = output_schema.get("required")?.as_array()?;
    let schema = output_schema.get("properties")?.get(STRUCTURED)?;
    let Value::Object(members) = schema else {
        return None;
    };
    let is_object = members.get("type").and_then(Value::as_str) == Some("object");
    let is_required = required.iter().any(|name| name == STRUCTURED);
    (is_object && is_required).then(|| Arc::new(members.clone()))
}

/// The result for an output of content blocks. A malformed output is sent as text; its structured
/// content is kept.
pub(super) fn result(output: Value) -> CallToolResult {
    let structured = output.get(STRUCTURED).filter(|it| it.is_object()).cloned();
    let blocks = output.get(CONTENT).map(Vec::<ContentBlock>::deserialize);
    let mut result = match blocks {
        Some(Ok(blocks)) => CallToolResult::success(blocks),
        _ => success(output),
    };
    result.structured_content = structured;
    result
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn valid_blocks_pass_unchanged_and_anything_else_becomes_text() {
        let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
        let audio = json!({"type": "audio", "data": "aGk=", "mimeType": "audio/wav"});
        let link = json!({"type": "resource_link", "uri": "file:///a", "name": "a"});
        let resource = json!({"type": "resource", "resource": {"uri": "file:///a", "text": "hi"}});
        let text = json!({"type": "text", "text": "hi"});
        for block in [image, audio, link, resource, text] {
            let result = result(json!({"content": [block]}));
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
            let sent = result(malformed.clone());
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
            assert_eq!(result(output).structured_content, expected);
        }
    }

    #[test]
    fn the_schema_of_structured_content_is_shown_only_if_required() {
        let part = json!({"type": "object", "properties": {"a": {}}});
        let whole = |required: Value| json!({"type": "object", CONTENT_MARK: true, "required": required, "properties": {"structuredContent": part}});
        let always = whole(json!(["content", "structuredContent"]));
        assert!(is_declared(&always) && !is_declared(&part));
        assert_eq!(
            Value::Object((*structured_schema(&always).unwrap()).clone()),
            part
        );
        assert_eq!(structured_schema(&whole(json!(["content"]))), None);
        assert_eq!(structured_schema(&part), None);
    }
}
