//! Builds the result of a tool from the outcome of a call.
//!
//! A successful output is moved into the result, not copied, and serialised once as text.

use panpan_contract::undeclared;
use panpan_failure::Redacted;
use panpan_failure::dialect::{MCP_META_KEY, agent_view};
use panpan_runtime::{Answer, IdempotencyKey};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode, MetaObject};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::tool_index::{Entry, ToolIndex};
use super::{content, features};

/// The key in a result's `_meta` that says whether and until when the same key returns the same
/// outcome.
pub const IDEMPOTENCY_RESULT_META_KEY: &str = "dev.panpan/idempotency";

/// The protocol version of a client, as far as responses differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WireVersion {
    /// With sessions, up to 2025-11-25.
    WithSessions {
        /// Whether the client supports URL elicitation.
        url_elicitation: bool,
    },
    /// Without sessions, from 2026-07-28 on.
    Stateless,
}

impl WireVersion {
    /// Whether this version defines an error code of an upstream server that clients act on.
    fn defines(self, code: i64) -> bool {
        const CAPABILITY_MISSING: i64 = -32021;
        const URL_ELICITATION_REQUIRED: i64 = -32042;
        match self {
            Self::WithSessions { url_elicitation } => {
                url_elicitation && code == URL_ELICITATION_REQUIRED
            }
            Self::Stateless => code == CAPABILITY_MISSING,
        }
    }
}

/// The JSON-RPC error that replaces a failing result, if the upstream server answered with an error
/// that the client's protocol version defines.
pub(super) fn protocol_error(answer: &Answer, version: WireVersion) -> Option<ErrorData> {
    let failure = answer.outcome.as_ref().err()?;
    let upstream = answer.extra.as_ref()?.get("error")?;
    let code = upstream.get("code")?.as_i64();
    let code = code.filter(|it| version.defines(*it))?;
    let mut error = features::error_response(failure);
    error.code = ErrorCode(i32::try_from(code).ok()?);
    if let (Some(Value::Object(data)), Some(theirs)) = (&mut error.data, upstream.get("data")) {
        data.extend(theirs.as_object().cloned().unwrap_or_default());
    }
    Some(error)
}

/// The result of a tool; `entry` describes its output, and the index translates operations into the
/// names of tools.
pub(super) fn from_answer(
    mut answer: Answer,
    key: Option<&IdempotencyKey>,
    entry: Option<&Entry>,
    index: Option<&ToolIndex>,
    version: WireVersion,
) -> CallToolResult {
    let idempotency = key.map(|key| idempotency(&answer, key));
    let violation = match answer.matches_schema {
        true => None,
        false => Some(answer.schema_violation.clone().unwrap_or_default()),
    };
    let extras = answer.extra.take().map(|it| *it);
    let mut result = match answer.into_value() {
        Ok(output) => {
            let result = match &violation {
                Some(violation) => not_as_declared(output, violation, entry),
                None if entry.is_some_and(|it| it.returns_content) => content::result(output),
                None => success(output),
            };
            with_extras(result, extras)
        }
        Err(failure) => {
            let allows_structured =
                version == WireVersion::Stateless || !entry.is_some_and(|it| it.has_output_schema);
            with_failure_extras(failed(&failure, index), extras, allows_structured)
        }
    };
    if let Some(idempotency) = idempotency {
        let meta = result.meta.get_or_insert_with(|| MetaObject(Map::new()));
        let name = IDEMPOTENCY_RESULT_META_KEY.to_owned();
        meta.0.insert(name, idempotency);
    }
    result
}

/// Adds what an upstream server returned along with the output: its content blocks instead of the
/// serialised output, and its `_meta`.
fn with_extras(mut result: CallToolResult, extras: Option<Value>) -> CallToolResult {
    let Some(Value::Object(mut extras)) = extras else {
        return result;
    };
    let blocks = extras
        .remove("content")
        .map(Vec::<ContentBlock>::deserialize);
    if let Some(Ok(blocks)) = blocks {
        let notes = result.content.split_off(1.min(result.content.len()));
        result.content = blocks;
        result.content.extend(notes);
    }
    if let Some(Value::Object(meta)) = extras.remove("_meta") {
        result.meta = Some(MetaObject(meta));
    }
    result
}

/// Adds what an upstream server returned along with the failure, after our own block. Some clients
/// of versions with sessions validate the structured content of a failure against the output schema
/// and reject the whole result.
fn with_failure_extras(
    mut result: CallToolResult,
    extras: Option<Value>,
    allows_structured: bool,
) -> CallToolResult {
    let Some(Value::Object(mut extras)) = extras else {
        return result;
    };
    let blocks = extras
        .remove("content")
        .map(Vec::<ContentBlock>::deserialize);
    result
        .content
        .extend(blocks.into_iter().flatten().flatten());
    let structured = extras.remove("structuredContent");
    result.structured_content = structured.filter(|_| allows_structured);
    result
}

/// The result for an output that violates its schema: the output, followed by a note that says
/// where.
fn not_as_declared(output: Value, violation: &str, entry: Option<&Entry>) -> CallToolResult {
    let is_expected = entry.is_some_and(|entry| entry.has_output_schema);
    let admits_undeclared = entry.is_none_or(|entry| entry.admits_undeclared);
    let structured = is_expected.then(|| match admits_undeclared {
        true => undeclared::content(output.clone()),
        false => output.clone(),
    });
    let mut result = success(output);
    result.structured_content = structured;
    if !violation.is_empty() {
        result
            .content
            .push(ContentBlock::text(format!("Note: {violation}")));
    }
    result
}

/// Whether and until when the same key returns the same outcome.
pub(super) fn idempotency(answer: &Answer, key: &IdempotencyKey) -> Value {
    let mut idempotency = json!({"key": key.as_str(), "replayed": answer.replayed});
    if let Some(at) = answer.expires_at {
        idempotency["expires_at"] = json!(at);
    }
    idempotency
}

/// The `_meta` with the key of a call that has not ended.
pub(super) fn pending_key(key: &IdempotencyKey) -> MetaObject {
    let idempotency = json!({"key": key.as_str(), "replayed": false});
    MetaObject(Map::from_iter([(
        IDEMPOTENCY_RESULT_META_KEY.to_owned(),
        idempotency,
    )]))
}

/// The result for an output: as text and, if it is an object, as structured content.
pub(super) fn success(output: Value) -> CallToolResult {
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

/// A value as text. `to_string` takes twice as long, since it writes through a formatter.
fn serialised(value: &Value) -> String {
    serde_json::to_string(value).expect("keys are strings, and writing to memory does not fail")
}

/// The result for a failure, in every protocol version: the agent view first, the whole failure in
/// `_meta`.
fn failed(failure: &Redacted, index: Option<&ToolIndex>) -> CallToolResult {
    let tool = |operation: &str| index?.tool_of(operation).map(str::to_owned);
    let text = agent_view(failure, &tool);
    let whole = serde_json::to_value(failure).expect("a failure is made of JSON");
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    let meta = Map::from_iter([(MCP_META_KEY.to_owned(), whole)]);
    result.meta = Some(MetaObject(meta));
    result
}

#[cfg(test)]
mod tests {
    use panpan_failure::dialect::{Dialect, Envelope};
    use panpan_failure::{Failure, codes};

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
            let result = written(success(output.clone()));
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
    fn content_and_meta_of_an_upstream_server_are_kept() {
        let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
        let text = json!({"type": "text", "text": "two"});
        let extras = json!({"content": [text, image], "_meta": {"example.com/a": 1}});
        let result = written(with_extras(success(json!({"a": 2})), Some(extras)));
        assert_eq!(result["content"], json!([text, image]));
        assert_eq!(result["structuredContent"], json!({"a": 2}));
        assert_eq!(result["_meta"], json!({"example.com/a": 1}));
        let bare = written(with_extras(success(json!({"a": 2})), None));
        assert_eq!(bare["content"][0]["text"], json!(r#"{"a":2}"#));
        let odd = with_extras(success(json!({"a": 2})), Some(json!({"content": [7]})));
        assert_eq!(written(odd)["content"][0]["text"], json!(r#"{"a":2}"#));
    }

    #[test]
    fn a_success_equals_the_rendering_of_the_dialect() {
        let output = json!({"a": [1, 2.5, null], "b": "c"});
        let mut result = written(success(output.clone()));
        assert_eq!(result["resultType"].take(), json!("complete"));
        result.as_object_mut().unwrap().remove("resultType");
        let rendered = Dialect::Mcp.render_success(&output, Envelope::default());
        assert_eq!(result, rendered);
    }

    #[test]
    fn content_of_an_upstream_server_follows_the_failure() {
        let failure = || failed(&Failure::new(codes::TOOL_FAILED).redacted(), None);
        let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
        for (allows_structured, structured) in [(true, json!({"step": 2})), (false, Value::Null)] {
            let extras = json!({"content": [image], "structuredContent": {"step": 2}});
            let result = written(with_failure_extras(
                failure(),
                Some(extras),
                allows_structured,
            ));
            assert_eq!(result["isError"], json!(true));
            assert!(
                result["content"][0]["text"]
                    .as_str()
                    .unwrap()
                    .contains("TOOL_FAILED")
            );
            assert_eq!(result["content"][1], image);
            assert_eq!(result["structuredContent"], structured);
        }
        assert_eq!(
            written(with_failure_extras(failure(), None, true)),
            written(failure())
        );
    }

    #[test]
    fn only_error_codes_of_the_clients_version_are_passed_on() {
        let sessions = |url_elicitation| WireVersion::WithSessions { url_elicitation };
        for (code, version, is_defined) in [
            (-32042, sessions(true), true),
            (-32042, sessions(false), false),
            (-32042, WireVersion::Stateless, false),
            (-32021, WireVersion::Stateless, true),
            (-32021, sessions(true), false),
            (-32603, WireVersion::Stateless, false),
        ] {
            assert_eq!(version.defines(code), is_defined, "{code} {version:?}");
        }
    }

    #[test]
    fn the_first_text_block_of_a_failure_is_the_agent_view() {
        let failure = Failure::new(codes::ERR_HTTP_429_RATE_LIMITED).with_retry_after_ms(7000);
        let result = written(failed(&failure.clone().redacted(), None));
        assert_eq!(result["isError"], json!(true));
        assert!(result.get("structuredContent").is_none());
        let text = result["content"][0]["text"].as_str().unwrap();
        let read = Dialect::Bot.parse(text.as_bytes()).unwrap();
        let read = read.outcome.unwrap_err();
        assert_eq!(read.code(), failure.code());
        assert_eq!(read.recovery().retry_after_ms, Some(7000));
        assert_eq!(
            result["_meta"][MCP_META_KEY]["code"],
            json!("ERR_HTTP_429_RATE_LIMITED")
        );
    }
}
