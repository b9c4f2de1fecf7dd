//! Builds the result of a tool from the outcome of a call.
//!
//! A successful output is moved into the result, not copied, and serialised once as text.

use panpan_contract::undeclared;
use panpan_failure::Redacted;
use panpan_failure::dialect::{MCP_META_KEY, agent_view};
use panpan_mcp::names::{
    CAPABILITY_MISSING, IDEMPOTENCY_RESULT_META_KEY, URL_ELICITATION_REQUIRED,
};
use panpan_mcp::{extras, output};
use panpan_runtime::{Answer, IdempotencyKey};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode, MetaObject};
use serde_json::{Map, Value, json};

use super::features;
use super::tool_index::{Entry, ToolIndex};

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
    pub(super) fn defines(self, code: i32) -> bool {
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
    let (code, theirs) = extras::error(answer.extra.as_ref()?)?;
    let mut error = features::error_response(failure);
    error.code = ErrorCode(Some(code).filter(|it| version.defines(*it))?);
    if let Some(Value::Object(data)) = &mut error.data {
        data.extend(theirs);
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
    let violation = answer.schema_violation.take();
    let extra = answer.extra.take().map(|it| *it);
    let mut result = match answer.into_value() {
        Ok(output) => {
            let mut result = match &violation {
                Some(violation) => not_as_declared(output, violation, entry),
                None if entry.is_some_and(|it| it.returns_content) => {
                    output::content_to_result(output)
                }
                None => output::to_result(output),
            };
            extras::add_to_output(&mut result, extra);
            result
        }
        Err(failure) => {
            let allows_structured =
                version == WireVersion::Stateless || !entry.is_some_and(|it| it.has_output_schema);
            let mut result = failed(&failure, index);
            extras::add_to_failure(&mut result, extra, allows_structured);
            result
        }
    };
    if let Some(idempotency) = idempotency {
        let meta = result.meta.get_or_insert_with(|| MetaObject(Map::new()));
        let name = IDEMPOTENCY_RESULT_META_KEY.to_owned();
        meta.0.insert(name, idempotency);
    }
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
    let mut result = output::to_result(output);
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

/// The result for a failure, in every protocol version: the agent view first, the whole failure in
/// `_meta`.
pub(super) fn failed(failure: &Redacted, index: Option<&ToolIndex>) -> CallToolResult {
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
    use panpan_failure::dialect::Dialect;
    use panpan_failure::{Failure, codes};

    use super::*;

    fn written(result: CallToolResult) -> Value {
        serde_json::to_value(result).unwrap()
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
