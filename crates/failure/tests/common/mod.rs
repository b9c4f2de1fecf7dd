//! Proptest strategies for failures with hostile values in every field, shared by the tests.

#![allow(dead_code)]

use panpan_failure::dialect::{Dialect, Envelope, MCP_META_KEY, RESIDUAL};
use panpan_failure::{
    Alternative, Category, Cause, Code, Effect, Facts, Failure, Kind, Redacted, Remedies, Remedy,
    Repeat, Upstream, Violation, ViolationKind, catalogue,
};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// Names that have a meaning in some dialect, and unusual names.
const NAMES: &[&str] = &[
    "",
    "panpan",
    "code",
    "type",
    "status",
    "title",
    "detail",
    "details",
    "instance",
    "errors",
    "error",
    "field",
    "reason",
    "expected",
    "actual",
    "required",
    "retryable",
    "retriable",
    "success",
    "ok",
    "result",
    "message",
    "category",
    "data",
    "id",
    "jsonrpc",
    "_meta",
    "content",
    "isError",
    "metadata",
    "@type",
    "retry_after_ms",
    "upstream_status",
    "provider",
    "kind",
    "pointer",
    "a/b~c",
    "naïve",
    "\u{0}",
    "with space",
    "UPPER",
    "a",
    "dev.panpan/failure",
    "__proto__",
    "error_id",
    "timestamp",
    "\u{1F600}",
];

const TEXTS: &[&str] = &[
    "",
    " ",
    "null",
    "{}",
    "true",
    "0",
    "\u{0}",
    "ünïcödé \u{1F600}",
    "line\nbreak\ttab",
    "\"quoted\" \\ back/slash",
    "Task not found",
    "Task not found: x",
    "Invalid params: y",
    "Internal error",
    "Circular dependency detected",
    "system",
    "unknown",
    "about:blank",
    "[REDACTED]",
    "a: b: c",
    "/errors/X",
];

pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![3 => select(TEXTS).prop_map(str::to_owned), 2 => ".{0,12}", 1 => "[a-z ]{0,40}"]
}

pub(crate) fn name() -> impl Strategy<Value = String> {
    prop_oneof![4 => select(NAMES).prop_map(str::to_owned), 1 => "[a-zA-Z_.-]{1,12}", 1 => ".{0,6}"]
}

pub(crate) fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        select(vec![
            json!(9_007_199_254_740_993_u64),
            json!(-0.0),
            json!(1e300),
            json!(5e-324),
            json!(0.1),
            json!([]),
            json!({})
        ]),
        any::<f64>()
            .prop_filter("JSON numbers are finite", |number| number.is_finite())
            .prop_map(Value::from),
        text().prop_map(Value::from),
        Just(deep(100)),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(name(), inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A value with this many levels of nesting.
pub(crate) fn deep(levels: usize) -> Value {
    (0..levels).fold(json!("bottom"), |inner, level| {
        if level % 2 == 0 {
            json!([inner])
        } else {
            json!({"": inner})
        }
    })
}

pub(crate) fn object() -> impl Strategy<Value = Map<String, Value>> {
    btree_map(name(), value(), 0..5).prop_map(|map| map.into_iter().collect())
}

pub(crate) fn kind() -> impl Strategy<Value = Kind> {
    let rows: Vec<&str> = catalogue::entries().map(|row| row.code).collect();
    let catalogued = select(rows).prop_map(|code| Kind::of(code).unwrap());
    let member = (select(vec!["HTTP_", "ERR_HTTP_"]), 400_u16..600)
        .prop_map(|(prefix, status)| Kind::of(&format!("{prefix}{status}")).unwrap());
    prop_oneof![4 => catalogued, 1 => member, 3 => declared()]
}

fn declared() -> impl Strategy<Value = Kind> {
    let code = "[A-Z][A-Z0-9_]{1,20}[A-Z0-9]".prop_map(|code| Code::new(code).unwrap());
    let facts = (
        option::of(select(Category::ALL)),
        option::of(any::<bool>()),
        option::of(vec(select(Remedy::ALL), 0..3).prop_map(Remedies::from_iter)),
        option::of(400_u16..600),
        option::of(1000_i64..100_000),
    );
    (code, facts).prop_filter_map("refused declarations are skipped", |(code, facts)| {
        let (category, retryable, remedies, http_status, jsonrpc_code) = facts;
        Kind::declared(
            code,
            Facts {
                category,
                retryable,
                remedies,
                http_status,
                jsonrpc_code,
            },
        )
        .ok()
    })
}

fn cause_code() -> impl Strategy<Value = Code> {
    select(vec!["ERR_TIMEOUT", "INNER_FAILURE"]).prop_map(|code| Code::new(code).unwrap())
}

fn violation() -> impl Strategy<Value = Violation> {
    let kind = select(vec![
        ViolationKind::Missing,
        ViolationKind::Type,
        ViolationKind::Value,
    ]);
    let pointer = vec(name(), 0..3).prop_map(|steps| {
        steps
            .iter()
            .map(|step| format!("/{}", step.replace('~', "~0").replace('/', "~1")))
            .collect::<String>()
    });
    (
        pointer,
        kind,
        option::of(text()),
        option::of(value()),
        text(),
    )
        .prop_map(|(pointer, kind, expected, actual, reason)| Violation {
            pointer,
            kind,
            expected,
            actual,
            reason,
        })
}

fn upstream() -> impl Strategy<Value = Upstream> {
    (
        option::of(any::<u16>()),
        option::of(text()),
        option::of(text()),
        option::of(text()),
    )
        .prop_map(|(status, provider, code, excerpt)| Upstream {
            status,
            provider,
            code,
            excerpt,
        })
}

fn alternative() -> impl Strategy<Value = Alternative> {
    (text(), option::of(text())).prop_map(|(description, example)| Alternative {
        description,
        example,
    })
}

/// A failure with hostile values in every field.
pub(crate) fn failure() -> impl Strategy<Value = Failure> {
    let basics = (kind(), text(), select(Effect::ALL), option::of(object()));
    let recovery = (
        option::of(any::<u64>()),
        option::of(any::<u32>()),
        object(),
        vec(alternative(), 0..3),
        vec(text(), 0..3),
    );
    let context = (
        option::of(text()),
        option::of(text()),
        option::of(object()),
        upstream(),
    );
    let occurrence = (
        option::of((
            any::<u128>(),
            -377_705_023_201_i64..253_402_207_200,
            0..1_000_000_000_i32,
        )),
        vec((option::of(cause_code()), text()), 0..3),
        select(vec![0, 1, 2, u32::MAX]),
        option::of(select(Repeat::ALL.to_vec())),
        option::of(text()),
    );
    (
        basics,
        vec(violation(), 0..3),
        recovery,
        context,
        occurrence,
    )
        .prop_map(|(basics, violations, recovery, context, occurrence)| {
            let (kind, message, effect, details) = basics;
            let mut failure = Failure::new(kind)
                .with_message(message)
                .with_effect(effect)
                .with_violations(violations);
            if let Some(details) = details {
                failure = failure.with_details(details);
            }
            let (delay, retries, adjustments, alternatives, actions) = recovery;
            failure = failure
                .with_actions(actions)
                .with_alternatives(alternatives);
            failure = delay
                .into_iter()
                .fold(failure, Failure::with_retry_after_ms);
            failure = retries.into_iter().fold(failure, Failure::with_max_retries);
            failure = adjustments
                .into_iter()
                .fold(failure, |failure, (name, value)| {
                    failure.with_adjustment(name, value)
                });
            let (source, operation, parameters, upstream) = context;
            failure = source.into_iter().fold(failure, Failure::with_source);
            failure = operation.into_iter().fold(failure, Failure::with_operation);
            failure = parameters
                .into_iter()
                .fold(failure, Failure::with_parameters);
            failure = failure.with_upstream(upstream);
            let (stamp, causes, attempts, repeat, meaning) = occurrence;
            failure = failure.with_attempts(attempts);
            failure = repeat.into_iter().fold(failure, Failure::with_repeat);
            failure = meaning.into_iter().fold(failure, Failure::with_meaning);
            if let Some((id, seconds, nanos)) = stamp {
                let nanos = if seconds < 0 { -nanos } else { nanos };
                failure = failure.stamped(
                    Uuid::from_u128(id),
                    jiff::Timestamp::new(seconds, nanos).unwrap(),
                );
            }
            causes
                .into_iter()
                .fold(failure, |failure, (code, message)| {
                    failure.with_cause(Cause { code, message })
                })
        })
}

/// A redacted failure.
pub(crate) fn redacted() -> impl Strategy<Value = Redacted> {
    (failure(), any::<bool>()).prop_map(|(failure, checked)| {
        let redacted = failure.redacted();
        if checked {
            redacted.with_details_checked()
        } else {
            redacted
        }
    })
}

/// A failure in a dialect without the residual: the native members.
pub(crate) fn native(dialect: Dialect, failure: Failure) -> Value {
    let mut document = dialect.render_failure(&failure.redacted(), Envelope::default());
    delete_residual(dialect, &mut document);
    document
}

/// Pointer of the object that contains the residual.
pub(crate) fn residual_parent(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Flat | Dialect::Call | Dialect::Problem => "",
        Dialect::Bot | Dialect::Outcome => "/error",
        Dialect::JsonRpc => "/error/data",
        Dialect::Mcp => "/_meta",
        Dialect::Grpc => "/details/0/metadata",
    }
}

pub(crate) fn delete_residual(dialect: Dialect, document: &mut Value) {
    let name = if dialect == Dialect::Mcp {
        MCP_META_KEY
    } else {
        RESIDUAL
    };
    let parent = document.pointer_mut(residual_parent(dialect)).unwrap();
    assert!(
        parent.as_object_mut().unwrap().remove(name).is_some(),
        "{dialect} has no residual"
    );
}
