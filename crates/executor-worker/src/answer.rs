//! From the bytes of a request to its answer, without any I/O.

use panpan_contract::failure::Violation;
use panpan_contract::read;
use panpan_contract::{Failure, codes};
use serde_json::Value;

/// What is answered, and how the process ends.
pub(crate) struct Answer {
    pub(crate) failure: Failure,
    pub(crate) exit_code: u8,
}

/// Answers a request. That there is code is checked; nothing here can run it.
pub(crate) fn answer(request: &[u8]) -> Answer {
    match requested(request) {
        Ok(_) => Answer {
            failure: no_interpreter(),
            exit_code: 2,
        },
        Err(failure) => Answer {
            failure,
            exit_code: 1,
        },
    }
}

fn requested(request: &[u8]) -> Result<String, Failure> {
    let mut document = read::document(request)?;
    if !document.is_object() {
        let violation = Violation::wrong_type("", "object", kind_of(&document).into());
        return Err(unfit(violation, "the request is not an object"));
    }
    match document.get_mut("code").map(Value::take) {
        Some(Value::String(code)) => Ok(code),
        Some(other) => {
            let violation = Violation::wrong_type("/code", "string", kind_of(&other).into());
            Err(unfit(violation, "the code to run is not a string"))
        }
        None => Err(unfit(
            Violation::missing("/code").expected("string"),
            "the request names no code to run",
        )),
    }
}

fn no_interpreter() -> Failure {
    Failure::new(codes::NOT_CONFIGURED)
        .with_message("this worker was built without an interpreter and cannot run code")
        .with_detail("setting", "interpreter")
        .with_actions(["Install a build of panpan-executor-worker that links an interpreter"])
}

fn unfit(violation: Violation, message: &str) -> Failure {
    Failure::new(codes::ERR_JSON_SCHEMA_MISMATCH)
        .with_message(message)
        .with_violation(violation)
        .with_actions([r#"Send {"code": "..."} with the source text to run"#])
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
