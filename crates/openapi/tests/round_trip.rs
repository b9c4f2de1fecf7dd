//! `import(export(contract))` declares the same failures, for random contracts.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_failure::{Category, Code, Effect, ErrorDefinition, Remedies, Remedy, StatusPattern};
use panpan_openapi::{DocumentInfo, ImportOptions, export, import};
use proptest::prelude::*;
use serde_json::{Value, json};

const CODES: [&str; 8] = [
    "NO_FILE",
    "NO_FOLDER",
    "DISK_FULL",
    "HTTP_404",
    "HTTP_429",
    "HTTP_503",
    "TOOL_FAILED",
    "LOCKED_1",
];

/// Details schemas: plain, with definitions, with references to themselves or by anchor.
fn details() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({}),
        json!(true),
        json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}),
        json!({"properties": {"a": {"$ref": "#/$defs/A~1b"}}, "$defs": {"A/b": {"items": {"$ref": "#"}}}}),
        json!({"$ref": "#/$defs/A", "$defs": {"A": {"$anchor": "a", "properties": {"b": {"$ref": "#a"}}}}}),
        json!({"$dynamicAnchor": "n", "properties": {"$ref": {"$dynamicRef": "#n"}}}),
        json!({"properties": {"a": {"const": {"$ref": "#/components/schemas/Failure"}}}}),
    ])
}

fn status() -> impl Strategy<Value = Option<StatusPattern>> {
    prop::sample::select(vec![
        None,
        Some(StatusPattern::Exact(404)),
        Some(StatusPattern::Exact(422)),
        Some(StatusPattern::Exact(503)),
        Some(StatusPattern::Range(4)),
        Some(StatusPattern::Range(5)),
        Some(StatusPattern::Default),
    ])
}

fn definition() -> impl Strategy<Value = ErrorDefinition> {
    let facts = (
        prop::option::of(prop::sample::select(Category::ALL)),
        prop::option::of(any::<bool>()),
        prop::option::of(prop::sample::select(Remedy::ALL)),
        prop::option::of(prop::sample::select(Effect::ALL)),
        prop::option::of(3_000_i64..3_003),
    );
    let code = prop::sample::select(&CODES[..]);
    let said = ("[A-Za-z`\n .]{0,20}x", details(), status(), any::<bool>());
    let definition = (code, said, facts).prop_map(|(code, said, facts)| {
        let (description, schema, http_status, is_noted) = said;
        let (category, retryable, remedy, effect, jsonrpc_code) = facts;
        let mut definition = ErrorDefinition {
            schema,
            http_status,
            category,
            retryable,
            remedy: remedy.map(|it| Remedies::from_iter([it])),
            effect,
            jsonrpc_code,
            ..ErrorDefinition::new(Code::new(code).unwrap(), description)
        };
        if is_noted {
            definition.extensions.insert("x-note", json!([1])).unwrap();
        }
        definition
    });
    definition.prop_filter("only what a contract may hold", |it| it.kind().is_ok())
}

fn specs() -> impl Strategy<Value = Vec<OperationSpec>> {
    let operation = prop::collection::vec(definition(), 0..6);
    prop::collection::vec(operation, 1..4).prop_map(|operations| {
        let numbered = operations.into_iter().enumerate();
        let specs = numbered.map(|(number, mut definitions)| {
            definitions.sort_by(|one, other| one.code.cmp(&other.code));
            definitions.dedup_by(|one, other| one.code == other.code);
            let name = format!("fs/operation{number}").parse().unwrap();
            let mut spec = OperationSpec::new(name, OperationType::Mutation);
            spec.error_schemas = definitions;
            spec
        });
        specs.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn declared_failures_survive_a_round_trip(specs in specs()) {
        let about = DocumentInfo { title: "fs", version: "1", server: None };
        let document = export(specs.iter(), &about);
        let import = import(&document, &ImportOptions::new("again")).unwrap();
        prop_assert_eq!(&import.warnings, &[]);
        for spec in &specs {
            let name = format!("again/{}", spec.name);
            let again = import.operations.iter().find(|it| it.name.as_str() == name).unwrap();
            prop_assert_eq!(&again.error_schemas, &spec.error_schemas);
        }
    }
}
