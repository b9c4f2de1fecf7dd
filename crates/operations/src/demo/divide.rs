//! `demo/divide`: divides two numbers, and declares what can go wrong about that.

use std::sync::Arc;

use panpan_contract::catalogue::{Remedies, Remedy};
use panpan_contract::failure::Violation;
use panpan_contract::operation::{ErrorDefinition, OperationSpec, StatusPattern};
use panpan_contract::{Category, Code, Failure};
use panpan_runtime::{Context, untyped};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Clone, Copy, Deserialize)]
struct Input {
    dividend: f64,
    divisor: f64,
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
    spec.output_schema = json!({
        "type": "object",
        "required": ["quotient"],
        "properties": {"quotient": {"type": "number"}},
    });
    spec.error_schemas = vec![division_by_zero(), quotient_too_large()];
    spec
}

fn division_by_zero() -> ErrorDefinition {
    definition("DIVISION_BY_ZERO", "The divisor is zero.")
}

fn quotient_too_large() -> ErrorDefinition {
    definition(
        "QUOTIENT_TOO_LARGE",
        "The quotient is larger than any number that can be written.",
    )
}

fn definition(code: &'static str, description: &str) -> ErrorDefinition {
    let code = Code::new(code).expect("the codes of the demonstration are well formed");
    ErrorDefinition {
        schema: json!({
            "type": "object",
            "required": ["dividend", "divisor"],
            "properties": {"dividend": {"type": "number"}, "divisor": {"type": "number"}},
        }),
        http_status: Some(StatusPattern::Exact(422)),
        category: Some(Category::Validation),
        remedy: Some(Remedies::of(&[Remedy::ChangeInput])),
        ..ErrorDefinition::new(code, description)
    }
}

pub(super) async fn run(_: Context, input: Arc<Value>) -> Result<Value, Failure> {
    let input = Input::deserialize(&*input).map_err(|error| untyped(&error))?;
    if input.divisor == 0.0 {
        return Err(failure(&division_by_zero(), input)
            .with_message(format!("cannot divide {} by zero", input.dividend))
            .with_violation(
                Violation::value("/divisor", "division by zero has no result")
                    .expected("a number other than 0")
                    .actual(input.divisor),
            )
            .with_actions(["Give a divisor other than 0"]));
    }
    let quotient = input.dividend / input.divisor;
    if !quotient.is_finite() {
        return Err(failure(&quotient_too_large(), input)
            .with_message(format!(
                "{} divided by {} is too large for a number",
                input.dividend, input.divisor
            ))
            .with_actions(["Give a smaller dividend or a larger divisor"]));
    }
    Ok(json!({"quotient": quotient}))
}

fn failure(definition: &ErrorDefinition, input: Input) -> Failure {
    let kind = definition
        .kind()
        .expect("the declaration is accepted: the registry has checked it");
    Failure::new(kind)
        .with_detail("dividend", input.dividend)
        .with_detail("divisor", input.divisor)
}
