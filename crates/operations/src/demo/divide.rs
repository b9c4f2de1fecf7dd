//! `demo/divide`: divides two numbers, with declared failures.

use std::sync::Arc;

use panpan_contract::operation::OperationSpec;
use panpan_failure::{DeclareFailures, Failure, Violation};
use panpan_runtime::{Context, untyped};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Clone, Copy, Deserialize)]
struct Input {
    dividend: f64,
    divisor: f64,
}

#[derive(Debug, Failure)]
enum DivideError {
    /// The divisor is zero.
    #[failure(
        code = "DIVISION_BY_ZERO",
        category = VALIDATION,
        http = 422,
        message = "cannot divide {dividend} by zero",
        action = "Give a divisor other than 0"
    )]
    ByZero { dividend: f64, divisor: f64 },
    /// The quotient is too large for a number.
    #[failure(
        code = "QUOTIENT_TOO_LARGE",
        category = VALIDATION,
        http = 422,
        message = "{dividend} divided by {divisor} is too large for a number",
        action = "Give a smaller dividend or a larger divisor"
    )]
    TooLarge { dividend: f64, divisor: f64 },
}

pub(super) fn spec() -> OperationSpec {
    let mut spec = super::query("demo/divide", "Divides one number by another.");
    spec.title = Some("Divide".to_owned());
    spec.input_schema = json!({
        "type": "object",
        "required": ["dividend", "divisor"],
        "additionalProperties": false,
        "properties": {"dividend": {"type": "number"}, "divisor": {"type": "number"}},
    });
    spec.argument_order = vec!["dividend".to_owned(), "divisor".to_owned()];
    spec.output_schema = json!({
        "type": "object",
        "required": ["quotient"],
        "properties": {"quotient": {"type": "number"}},
    });
    spec.error_schemas = DivideError::definitions();
    spec
}

pub(super) async fn run(_: Context, input: Arc<Value>) -> Result<Value, Failure> {
    let Input { dividend, divisor } =
        Input::deserialize(&*input).map_err(|error| untyped(&error))?;
    if divisor == 0.0 {
        let violation = Violation::value("/divisor", "division by zero has no result")
            .expected("a number other than 0")
            .actual(divisor);
        return Err(
            Failure::from(DivideError::ByZero { dividend, divisor }).with_violation(violation)
        );
    }
    let quotient = dividend / divisor;
    if !quotient.is_finite() {
        return Err(DivideError::TooLarge { dividend, divisor }.into());
    }
    Ok(json!({"quotient": quotient}))
}
