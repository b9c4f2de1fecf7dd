//! From an outcome to a tool's result.

use panpan_contract::Redacted;
use panpan_contract::dialect::{Dialect, Envelope};
use panpan_runtime::{Answer, IdempotencyKey};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, MetaObject, ResultType};
use serde_json::{Map, Value, json};

/// The key in a result's `_meta` that says whether and how long asking again gives the same outcome.
pub const IDEMPOTENCY_RESULT_META_KEY: &str = "dev.panpan/idempotency";

/// The result of a tool for an answer.
pub(super) fn of_answer(
    answer: Answer,
    key: Option<&IdempotencyKey>,
) -> Result<CallToolResult, ErrorData> {
    let idempotency = key.map(|key| idempotency(&answer, key));
    let as_declared = answer.as_declared;
    let mut result = of(&answer.into_value())?;
    if !as_declared {
        // Clients hold structured content against the tool's schema and refuse what does not fit.
        result.structured_content = None;
    }
    if let Some(idempotency) = idempotency {
        let meta = result.meta.get_or_insert_with(|| MetaObject(Map::new()));
        meta.0
            .insert(IDEMPOTENCY_RESULT_META_KEY.to_owned(), idempotency);
    }
    Ok(result)
}

fn idempotency(answer: &Answer, key: &IdempotencyKey) -> Value {
    let mut idempotency = json!({"key": key.as_str(), "replayed": answer.replayed});
    if let Some(at) = answer.expires_at {
        idempotency["expires_at"] = json!(at);
    }
    idempotency
}

/// The result of a tool for an outcome, the same for every version of the protocol.
pub(super) fn of(outcome: &Result<Value, Redacted>) -> Result<CallToolResult, ErrorData> {
    let envelope = Envelope::default();
    let rendered = match outcome {
        Ok(output) => Dialect::Mcp.render_success(output, envelope),
        Err(failure) => Dialect::Mcp.render_failure(failure, envelope),
    };
    let mut result: CallToolResult = serde_json::from_value(rendered).map_err(|_| unwritable())?;
    // Clients of older versions take nothing but an object there; the text block says the same.
    result.structured_content = result.structured_content.filter(Value::is_object);
    // Required since 2026-07-28; the library drops it for older peers.
    result.result_type = Some(ResultType::COMPLETE);
    Ok(result)
}

/// The answer when there is none that could be written.
pub(super) fn unwritable() -> ErrorData {
    ErrorData::internal_error("the answer could not be written", None)
}

#[cfg(test)]
mod tests {
    use panpan_contract::dialect::MCP_META_KEY;
    use panpan_contract::{Failure, codes};
    use serde_json::json;

    use super::*;

    fn written(outcome: &Result<Value, Redacted>) -> Value {
        serde_json::to_value(of(outcome).unwrap()).unwrap()
    }

    #[test]
    fn structured_content_is_an_object_or_not_there() {
        for (output, structured) in [
            (json!({"a": 1}), Some(json!({"a": 1}))),
            (json!([1]), None),
            (json!("text"), None),
            (json!(null), None),
        ] {
            let result = written(&Ok(output.clone()));
            assert_eq!(
                result.get("structuredContent"),
                structured.as_ref(),
                "{output}"
            );
            assert_eq!(result["isError"], json!(false));
        }
        assert_eq!(written(&Ok(json!([1])))["content"][0]["text"], json!("[1]"));
    }

    #[test]
    fn the_first_text_block_of_a_failure_says_it_all() {
        let failure = Failure::new(codes::ERR_HTTP_429_RATE_LIMITED).with_retry_after_ms(7000);
        let result = written(&Err(failure.clone().redacted()));
        assert_eq!(result["isError"], json!(true));
        assert!(result.get("structuredContent").is_none());
        let text = result["content"][0]["text"].as_str().unwrap();
        let read = Dialect::Bot
            .parse(text.as_bytes())
            .unwrap()
            .outcome
            .unwrap_err();
        assert_eq!(read.code(), failure.code());
        assert_eq!(read.recovery().retry_after_ms, Some(7000));
        assert_eq!(
            result["_meta"][MCP_META_KEY]["code"],
            json!("ERR_HTTP_429_RATE_LIMITED")
        );
    }
}
