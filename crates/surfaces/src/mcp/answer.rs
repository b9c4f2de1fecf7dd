//! From an outcome to a tool's result.
//!
//! A success is built from where it stands: its value is moved into the result and written once as text.

use panpan_contract::undeclared;
use panpan_failure::Redacted;
use panpan_failure::dialect::{MCP_META_KEY, agent_view};
use panpan_runtime::{Answer, IdempotencyKey};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode, MetaObject};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::tools::{Catalogue, Entry};
use super::{content, library};

/// The key in a result's `_meta` that says whether and how long asking again gives the same outcome.
pub const IDEMPOTENCY_RESULT_META_KEY: &str = "dev.panpan/idempotency";

/// The version of the protocol that a client speaks, as far as answers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    /// With sessions, up to 2025-11-25.
    Sessions {
        /// Whether the client shows addresses that a server wants to be visited.
        visits: bool,
    },
    /// Without sessions, from 2026-07-28 on.
    Stateless,
}

impl Wire {
    /// Whether an error of an MCP server behind has a number that clients act on, and this version knows.
    fn knows(self, number: i64) -> bool {
        const CAPABILITY_MISSING: i64 = -32021;
        const VISIT_REQUIRED: i64 = -32042;
        match self {
            Self::Sessions { visits } => visits && number == VISIT_REQUIRED,
            Self::Stateless => number == CAPABILITY_MISSING,
        }
    }
}

/// The error of the protocol that a failure is answered with in place of a failing result, where the server behind
/// answered with one that the client's version of the protocol has a meaning for.
pub(super) fn protocol_error(answer: &Answer, wire: Wire) -> Option<ErrorData> {
    let failure = answer.outcome.as_ref().err()?;
    let refused = answer.beside.as_ref()?.get("error")?;
    let number = refused.get("code")?.as_i64().filter(|it| wire.knows(*it))?;
    let mut error = library::error(failure);
    error.code = ErrorCode(i32::try_from(number).ok()?);
    if let (Some(Value::Object(data)), Some(theirs)) = (&mut error.data, refused.get("data")) {
        data.extend(theirs.as_object().cloned().unwrap_or_default());
    }
    Some(error)
}

/// The result of a tool for an answer; `entry` says what its output is, and the catalogue by which names
/// of tools the caller knows operations.
pub(super) fn of(
    mut answer: Answer,
    key: Option<&IdempotencyKey>,
    entry: Option<&Entry>,
    catalogue: Option<&Catalogue>,
    wire: Wire,
) -> CallToolResult {
    let idempotency = key.map(|key| idempotency(&answer, key));
    let broken_schema = match answer.as_declared {
        true => None,
        false => Some(answer.broken_schema.clone().unwrap_or_default()),
    };
    let beside = answer.beside.take().map(|it| *it);
    let mut result = match answer.into_value() {
        Ok(output) => {
            let result = match &broken_schema {
                Some(broken) => not_as_declared(output, broken, entry),
                None if entry.is_some_and(|it| it.gives_blocks) => content::result(output),
                None => success(output),
            };
            with_beside(result, beside)
        }
        Err(failure) => {
            let takes_structure =
                wire == Wire::Stateless || !entry.is_some_and(|it| it.gives_structure);
            with_blocks(failed(&failure, catalogue), beside, takes_structure)
        }
    };
    if let Some(idempotency) = idempotency {
        let meta = result.meta.get_or_insert_with(|| MetaObject(Map::new()));
        let name = IDEMPOTENCY_RESULT_META_KEY.to_owned();
        meta.0.insert(name, idempotency);
    }
    result
}

/// The result with what an MCP server gave beside the output: its own blocks in place of the written output, and
/// its `_meta`.
fn with_beside(mut result: CallToolResult, beside: Option<Value>) -> CallToolResult {
    let Some(Value::Object(mut beside)) = beside else {
        return result;
    };
    let blocks = beside
        .remove("content")
        .map(Vec::<ContentBlock>::deserialize);
    if let Some(Ok(blocks)) = blocks {
        let notes = result.content.split_off(1.min(result.content.len()));
        result.content = blocks;
        result.content.extend(notes);
    }
    if let Some(Value::Object(meta)) = beside.remove("_meta") {
        result.meta = Some(MetaObject(meta));
    }
    result
}

/// The failing result with what an MCP server gave beside the failure, after ours. Some clients of versions with
/// sessions hold the structured content of a failure against the output schema, and refuse the whole result.
fn with_blocks(
    mut result: CallToolResult,
    beside: Option<Value>,
    takes_structure: bool,
) -> CallToolResult {
    let Some(Value::Object(mut beside)) = beside else {
        return result;
    };
    let blocks = beside
        .remove("content")
        .map(Vec::<ContentBlock>::deserialize);
    result
        .content
        .extend(blocks.into_iter().flatten().flatten());
    let structured = beside.remove("structuredContent");
    result.structured_content = structured.filter(|_| takes_structure);
    result
}

/// The result for an output that breaks its schema: still the best there is, with a line after it that
/// says where.
fn not_as_declared(output: Value, broken: &str, entry: Option<&Entry>) -> CallToolResult {
    let is_expected = entry.is_some_and(|entry| entry.gives_structure);
    let leaves_room = entry.is_none_or(|entry| entry.leaves_room);
    let structured = is_expected.then(|| match leaves_room {
        true => undeclared::content(output.clone()),
        false => output.clone(),
    });
    let mut result = success(output);
    result.structured_content = structured;
    if !broken.is_empty() {
        result
            .content
            .push(ContentBlock::text(format!("Note: {broken}")));
    }
    result
}

/// Whether and how long asking again with a key gives the same outcome.
pub(super) fn idempotency(answer: &Answer, key: &IdempotencyKey) -> Value {
    let mut idempotency = json!({"key": key.as_str(), "replayed": answer.replayed});
    if let Some(at) = answer.expires_at {
        idempotency["expires_at"] = json!(at);
    }
    idempotency
}

/// What is said of a key in the `_meta` of an answer to a call that has not ended.
pub(super) fn not_ended(key: &IdempotencyKey) -> MetaObject {
    let idempotency = json!({"key": key.as_str(), "replayed": false});
    MetaObject(Map::from_iter([(
        IDEMPOTENCY_RESULT_META_KEY.to_owned(),
        idempotency,
    )]))
}

/// The result for an output: as text for clients that read text, structured for those that read that.
pub(super) fn success(output: Value) -> CallToolResult {
    let (text, structured) = match output {
        Value::String(text) => (text, None),
        // Clients of older versions take nothing but an object there; the text block says the same.
        object @ Value::Object(_) => (written(&object), Some(object)),
        other => (written(&other), None),
    };
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = structured;
    result
}

/// A value as text; `to_string` takes twice as long, since it writes through a formatter.
fn written(value: &Value) -> String {
    serde_json::to_string(value).expect("names are strings, and writing to memory does not fail")
}

/// The result for a failure, the same for every version of the protocol: the agent view first, the whole
/// failure in `_meta`.
fn failed(failure: &Redacted, catalogue: Option<&Catalogue>) -> CallToolResult {
    let tool = |operation: &str| catalogue?.tool_of(operation).map(str::to_owned);
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
    fn structured_content_is_an_object_or_not_there() {
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
    fn the_blocks_and_the_meta_of_a_server_are_its_own() {
        let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
        let text = json!({"type": "text", "text": "two"});
        let beside = json!({"content": [text, image], "_meta": {"example.com/a": 1}});
        let result = written(with_beside(success(json!({"a": 2})), Some(beside)));
        assert_eq!(result["content"], json!([text, image]));
        assert_eq!(result["structuredContent"], json!({"a": 2}));
        assert_eq!(result["_meta"], json!({"example.com/a": 1}));
        let bare = written(with_beside(success(json!({"a": 2})), None));
        assert_eq!(bare["content"][0]["text"], json!(r#"{"a":2}"#));
        let odd = with_beside(success(json!({"a": 2})), Some(json!({"content": [7]})));
        assert_eq!(written(odd)["content"][0]["text"], json!(r#"{"a":2}"#));
    }

    #[test]
    fn a_success_is_what_the_dialect_says() {
        let output = json!({"a": [1, 2.5, null], "b": "c"});
        let mut result = written(success(output.clone()));
        assert_eq!(result["resultType"].take(), json!("complete"));
        result.as_object_mut().unwrap().remove("resultType");
        let said = Dialect::Mcp.render_success(&output, Envelope::default());
        assert_eq!(result, said);
    }

    #[test]
    fn what_a_server_gave_beside_a_failure_comes_after_it() {
        let failure = || failed(&Failure::new(codes::TOOL_FAILED).redacted(), None);
        let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
        for (takes_structure, structured) in [(true, json!({"step": 2})), (false, Value::Null)] {
            let beside = json!({"content": [image], "structuredContent": {"step": 2}});
            let result = written(with_blocks(failure(), Some(beside), takes_structure));
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
            written(with_blocks(failure(), None, true)),
            written(failure())
        );
    }

    #[test]
    fn errors_that_clients_act_on_are_those_of_their_version() {
        let sessions = |visits| Wire::Sessions { visits };
        for (number, wire, is_known) in [
            (-32042, sessions(true), true),
            (-32042, sessions(false), false),
            (-32042, Wire::Stateless, false),
            (-32021, Wire::Stateless, true),
            (-32021, sessions(true), false),
            (-32603, Wire::Stateless, false),
        ] {
            assert_eq!(wire.knows(number), is_known, "{number} {wire:?}");
        }
    }

    #[test]
    fn the_first_text_block_of_a_failure_says_it_all() {
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
