//! Failures of many kinds, as handlers return them.

use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_failure::{
    Alternative, Category, Cause, Code, Effect, ErrorDefinition, Failure, Kind, Remedies, Remedy,
    StatusPattern, Upstream, Violation, codes,
};
use serde_json::json;

/// The secrets in these failures, which no caller may see.
pub(crate) const SECRETS: [&str; 4] = ["hunter22", "p4ssw0rd", "0815-4711", "abcdefghijklmnop"];

/// Declares a failure with its own facts, and sensitive details and input.
pub(crate) fn declares(spec: &mut OperationSpec) {
    let code = |text: &str| Code::new(text.to_owned()).unwrap();
    let out_of_tea = ErrorDefinition {
        category: Some(Category::Resource),
        remedy: Some(Remedies::of(&[Remedy::AskHuman])),
        http_status: Some(StatusPattern::Exact(418)),
        jsonrpc_code: Some(4180),
        schema: json!({
            "type": "object",
            "required": ["shelf"],
            "properties": {
                "shelf": {"type": "integer"},
                "pin": {"type": "string", "x-sensitive": true},
                "password": {"type": "string"},
            },
        }),
        ..ErrorDefinition::new(code("OUT_OF_TEA"), "when there is none left")
    };
    spec.error_schemas = vec![out_of_tea];
    spec.input_schema = json!({"properties": {"note": {"writeOnly": true}}});
}

/// The declared failure, with details that match its schema.
pub(crate) fn out_of_tea() -> Failure {
    let mut spec = OperationSpec::new("a/b".parse().unwrap(), OperationType::Query);
    declares(&mut spec);
    let kind: Kind = spec.error_schemas[0].kind().unwrap();
    Failure::new(kind).with_detail("shelf", 7)
}

/// A failure with every member set, and secrets in most of them.
fn rich() -> Failure {
    Failure::new(codes::TOOL_FAILED)
        .with_message("the kettle said Bearer abcdefghijklmnop0123456789 and \"no\"")
        .with_effect(Effect::Applied)
        .with_details(
            serde_json::from_value(json!({
                "deep": {"list": [1, 2.5, null, true, "\u{1f375}"], "password": "hunter22"},
                "api_key": "sk_live_0123456789abcdefghijklmn",
                "next_page_token": "abc",
            }))
            .unwrap(),
        )
        .with_violation(Violation::missing("/cup"))
        .with_violation(Violation::value("/password", "too short").actual(json!("hunter22")))
        .with_violation(Violation::wrong_type("/pieces", "integer", json!("two")))
        .with_adjustment("pieces", 1)
        .with_adjustment("password", "hunter22")
        .with_actions(["fill the kettle"])
        .with_alternatives([Alternative::from("drink water")])
        .with_source("kettle")
        .with_upstream(
            Upstream::status(503)
                .provider("kettles")
                .code("E42")
                .excerpt("<html>hunter22 https://u:p4ssw0rd@host/</html>"),
        )
        .with_cause(Cause {
            code: None,
            message: "token=abcdefghijklmnop0123456789 was refused".to_owned(),
        })
        .with_cause(Cause {
            code: Some(Code::new("NETWORK_ERROR".to_owned()).unwrap()),
            message: "cut".to_owned(),
        })
}

/// Failures whose outcomes are all kept, with a name each.
pub(crate) fn failures() -> Vec<(&'static str, Failure)> {
    let sensitive = out_of_tea()
        .with_detail("pin", "0815-4711")
        .with_detail("password", "hunter22")
        .with_message("pin 0815-4711 is wrong");
    vec![
        ("plain", Failure::new(codes::INSUFFICIENT_FUNDS)),
        ("rich", rich()),
        ("declared", out_of_tea()),
        ("declared with secrets", sensitive),
        (
            "declared with details that do not match",
            out_of_tea().with_detail("shelf", "top"),
        ),
        (
            "declared without details",
            Failure::new(out_of_tea().kind().clone()),
        ),
        (
            "with an HTTP status as its code",
            Failure::new(Kind::of("HTTP_418").unwrap()),
        ),
        (
            "with a protocol code",
            Failure::new(codes::TIMEOUT).with_message("mine"),
        ),
        (
            "with attempts of its own",
            Failure::new(codes::INSUFFICIENT_FUNDS).with_attempts(4),
        ),
        (
            "retryable",
            Failure::new(codes::NETWORK_ERROR)
                .with_retry_after_ms(1)
                .with_effect(Effect::Unknown),
        ),
        (
            "with an empty message",
            Failure::new(codes::TOOL_FAILED).with_message(""),
        ),
        (
            "with empty details",
            Failure::new(codes::TOOL_FAILED).with_details(Default::default()),
        ),
        (
            "without recovery advice",
            Failure::new(codes::TOOL_FAILED)
                .with_actions([""; 0])
                .with_alternatives([]),
        ),
        (
            "decoded from JSON",
            serde_json::from_value(json!({"code": "odd code"})).unwrap(),
        ),
    ]
}
