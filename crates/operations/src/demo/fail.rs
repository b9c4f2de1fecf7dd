//! `demo/fail`: fails with the requested code, to show what a failure looks like to an agent.
//!
//! Any catalogue code can be requested, except protocol codes.

use std::sync::Arc;

use panpan_contract::operation::OperationSpec;
use panpan_contract::retry::RetryRule;
use panpan_failure::catalogue::{CODE_LENGTH_LIMIT, entries, is_protocol_code, nearest};
use panpan_failure::{Alternative, Failure, Kind, Violation, codes};
use panpan_runtime::{Context, untyped};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Input {
    code: String,
    message: Option<String>,
}

pub(super) fn spec() -> OperationSpec {
    let mut spec = super::query(
        "demo/fail",
        "Fails with the given code of the catalogue, so that you can see what that failure looks like.",
    );
    spec.title = Some("Fail on request".to_owned());
    // A retry would fail in the same way.
    spec.retry = Some(RetryRule::OFF);
    spec.input_schema = json!({
        "type": "object",
        "required": ["code"],
        "additionalProperties": false,
        "properties": {
            "code": {
                "type": "string",
                "maxLength": CODE_LENGTH_LIMIT,
                "description": "A code of the catalogue, such as ERR_HTTP_429_RATE_LIMITED.",
            },
            "message": {
                "type": "string",
                "maxLength": 1000,
                "description": "The message of the failure; by default the title of the code.",
            },
        },
    });
    spec
}

pub(super) async fn run(_: Context, input: Arc<Value>) -> Result<Value, Failure> {
    let input = Input::deserialize(&*input).map_err(|error| untyped(&error))?;
    let kind = Kind::of(&input.code).filter(|kind| !is_protocol_code(kind.code().as_str()));
    let Some(kind) = kind else {
        return Err(invalid_code(&input.code));
    };
    let failure = Failure::new(kind);
    Err(match input.message {
        Some(message) => failure
            .with_detail("message", message.as_str())
            .with_message(message),
        None => failure,
    })
}

fn invalid_code(code: &str) -> Failure {
    let (message, reason) = if is_protocol_code(code) {
        (
            format!("{code} is a protocol code, which operations cannot return"),
            "belongs to the protocol",
        )
    } else {
        (
            format!("the catalogue has no code {code}"),
            "is not in the catalogue",
        )
    };
    let allowed = entries()
        .map(|entry| entry.code)
        .filter(|code| !is_protocol_code(code));
    let near = nearest(code, allowed);
    let failure = Failure::new(codes::INVALID_INPUT_ERROR)
        .with_message(message)
        .with_violation(
            Violation::value("/code", reason)
                .expected("a catalogue code that operations may return")
                .actual(code),
        )
        .with_detail("nearest", near.clone());
    let Some(best) = near.first() else {
        return failure;
    };
    failure
        .with_adjustment("code", *best)
        .with_alternatives(near.iter().map(|code| alternative(code)))
}

fn alternative(code: &str) -> Alternative {
    Alternative {
        description: format!("ask for {code}"),
        example: Some(json!({"code": code}).to_string()),
    }
}
