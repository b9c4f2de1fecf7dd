//! Tests that every dialect, and every chain of dialects, reads back the failure it wrote.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{delete_residual, residual_parent};
use panpan_failure::dialect::{Dialect, Envelope, RESIDUAL, detect};
use panpan_failure::{Failure, Redacted};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

fn through(dialect: Dialect, failure: &Redacted) -> Failure {
    let bytes = dialect.write_failure(failure, Envelope::default());
    let reply = dialect
        .parse(&bytes)
        .unwrap_or_else(|error| panic!("{dialect}: {error}\n{}", String::from_utf8_lossy(&bytes)));
    reply.outcome.expect_err("a failure was written")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_dialect_gives_back_the_same_failure(failure in common::redacted()) {
        for dialect in Dialect::ALL {
            prop_assert_eq!(&through(dialect, &failure), &*failure, "{}", dialect);
        }
    }

    #[test]
    fn a_chain_of_dialects_gives_back_the_same_failure(
        failure in common::redacted(),
        chain in prop::collection::vec(select(Dialect::ALL.to_vec()), 1..9),
    ) {
        let mut current = failure.clone();
        for dialect in &chain {
            current = through(*dialect, &current).redacted();
        }
        prop_assert_eq!(&*current, &*failure, "{:?}", chain);
    }

    #[test]
    fn values_and_bytes_are_equal(failure in common::redacted()) {
        for dialect in Dialect::ALL {
            let bytes = dialect.write_failure(&failure, Envelope::default());
            let parsed: Value = serde_json::from_slice(&bytes).unwrap();
            prop_assert_eq!(parsed, dialect.render_failure(&failure, Envelope::default()), "{}", dialect);
        }
    }

    #[test]
    fn the_dialect_is_detected_by_the_shape(failure in common::redacted()) {
        for dialect in Dialect::ALL {
            let document = dialect.render_failure(&failure, Envelope::default());
            prop_assert_eq!(detect(&document), Ok(dialect), "{}", document);
        }
    }

    #[test]
    fn without_the_residual_the_native_members_are_still_read(failure in common::redacted()) {
        for dialect in Dialect::ALL {
            let mut document = dialect.render_failure(&failure, Envelope::default());
            delete_residual(dialect, &mut document);
            let read = dialect.read(document).unwrap().outcome.unwrap_err();
            check_native(dialect, &failure, &read)?;
        }
    }

    #[test]
    fn the_residual_does_not_repeat_native_members(failure in common::redacted()) {
        for dialect in Dialect::ALL.into_iter().filter(|dialect| *dialect != Dialect::Mcp) {
            let document = dialect.render_failure(&failure, Envelope::default());
            let residual = residual(dialect, &document);
            prop_assert!(residual.get("message").is_none(), "{} {}", dialect, residual);
            for (pointer, natively) in [
                ("/code", CARRY_THE_CODE),
                ("/retryable", CARRY_RETRYABILITY),
                ("/recovery/retry_after_ms", CARRY_THE_DELAY),
            ] {
                let repeated = natively.contains(&dialect) && residual.pointer(pointer).is_some();
                prop_assert!(!repeated, "{} repeats {}: {}", dialect, pointer, residual);
            }
            let names = |value: Option<&Value>| -> Vec<String> {
                value.and_then(Value::as_object).into_iter().flat_map(|map| map.keys().cloned()).collect()
            };
            let rest = names(residual.get("details"));
            let native = names(native_details(dialect, &document));
            let is_reserved = |name: &String| RESERVED_NAMES.contains(&name.as_str());
            let are_disjoint = rest.iter().all(|name| !native.contains(name) || is_reserved(name));
            prop_assert!(are_disjoint, "{}: {:?} and {:?}", dialect, rest, native);
        }
    }

    #[test]
    fn every_dialect_gives_back_the_same_output(output in common::value(), id in prop_oneof![Just(json!("call-1")), Just(json!(7))]) {
        let envelope = Envelope { request_id: Some(&id), ..Envelope::default() };
        for dialect in Dialect::ALL {
            // A bare output with the shape of a failure cannot be distinguished from one.
            let bare = matches!(dialect, Dialect::Bot | Dialect::Problem);
            if bare && detect(&output).is_ok() {
                continue;
            }
            let document = dialect.render_success(&output, envelope);
            let reply = dialect.read(document).unwrap();
            prop_assert_eq!(reply.outcome.ok(), Some(output.clone()), "{}", dialect);
            let repeats_id = matches!(dialect, Dialect::Outcome | Dialect::JsonRpc | Dialect::Call);
            prop_assert_eq!(reply.request_id, repeats_id.then(|| id.clone()), "{}", dialect);
        }
    }

    #[test]
    fn any_bytes_give_a_reply_or_a_typed_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for dialect in Dialect::ALL {
            let _ = dialect.parse(&bytes);
        }
    }

    #[test]
    fn any_json_gives_a_reply_or_an_error_with_a_pointer_into_it(document in common::value()) {
        for dialect in Dialect::ALL {
            if let Err(error) = dialect.read(document.clone()) {
                prop_assert!(!error.to_string().is_empty());
                prop_assert!(error.pointer().is_empty() || error.pointer().starts_with('/'));
            }
        }
    }

    #[test]
    fn a_damaged_document_never_panics(
        failure in common::redacted(),
        index in any::<prop::sample::Index>(),
        damage in common::value(),
    ) {
        for dialect in Dialect::ALL {
            let mut document = dialect.render_failure(&failure, Envelope::default());
            let pointers = pointers(&document);
            let pointer = &pointers[index.index(pointers.len())];
            *document.pointer_mut(pointer).unwrap() = damage.clone();
            if let Ok(reply) = dialect.read(document)
                && let Err(failure) = reply.outcome {
                    prop_assert_eq!(&through(dialect, &failure.clone().redacted()), &*failure.redacted());
                }
        }
    }
}

/// The dialects with a native member for each field.
const CARRY_THE_CODE: &[Dialect] = &[
    Dialect::Call,
    Dialect::Outcome,
    Dialect::Problem,
    Dialect::Bot,
    Dialect::Grpc,
    Dialect::JsonRpc,
];
const CARRY_RETRYABILITY: &[Dialect] = &[
    Dialect::Flat,
    Dialect::Call,
    Dialect::Outcome,
    Dialect::Problem,
    Dialect::Grpc,
];
const CARRY_THE_DELAY: &[Dialect] = &[
    Dialect::Outcome,
    Dialect::Problem,
    Dialect::Bot,
    Dialect::Grpc,
];

/// Native members next to the details; details with these names are in the residual.
const RESERVED_NAMES: [&str; 9] = [
    "code",
    "required",
    "field",
    "reason",
    "expected",
    "actual",
    "errors",
    "panpan",
    "retryable",
];

/// The pointers of all values in a document.
fn pointers(document: &Value) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut open = vec![(String::new(), document)];
    while let Some((path, value)) = open.pop() {
        let children: Vec<(String, &Value)> = match value {
            Value::Object(map) => map
                .iter()
                .map(|(name, value)| {
                    (
                        format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")),
                        value,
                    )
                })
                .collect(),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .map(|(index, value)| (format!("{path}/{index}"), value))
                .collect(),
            _ => Vec::new(),
        };
        found.extend(children.iter().map(|(path, _)| path.clone()));
        open.extend(children);
    }
    found
}

fn residual(dialect: Dialect, document: &Value) -> Value {
    let parent = document.pointer(residual_parent(dialect)).unwrap();
    match &parent[RESIDUAL] {
        Value::String(text) => serde_json::from_str(text).unwrap(),
        other => other.clone(),
    }
}

fn native_details(dialect: Dialect, document: &Value) -> Option<&Value> {
    match dialect {
        Dialect::Flat | Dialect::Call | Dialect::Problem => document.get("details"),
        Dialect::Outcome => document.pointer("/error/details"),
        Dialect::JsonRpc => document.pointer("/error/data"),
        Dialect::Grpc => document.pointer("/details/0/metadata"),
        Dialect::Bot | Dialect::Mcp => None,
    }
}

fn check_native(dialect: Dialect, failure: &Failure, read: &Failure) -> Result<(), TestCaseError> {
    let catalogued = failure.kind().is_catalogued();
    let native_code = match dialect {
        // Flat names and JSON-RPC numbers map to one code each.
        Dialect::Flat => panpan_failure::catalogue::for_flat_name(&failure.kind().flat_name())
            .map(|known| known.code().into_owned()),
        Dialect::JsonRpc => panpan_failure::catalogue::for_jsonrpc(failure.kind().jsonrpc_code())
            .map(|known| known.code().into_owned()),
        _ => Some(failure.code().to_string()),
    };
    let exact = native_code.as_deref() == Some(failure.code().as_str());
    if exact || (dialect == Dialect::Flat && !catalogued) {
        prop_assert_eq!(read.code(), failure.code(), "{}", dialect);
    }
    prop_assert_eq!(read.message(), failure.message(), "{}", dialect);
    // JSON-RPC has no member for it, and the bot dialect states it by the delay for declared codes.
    let lacks_delay = dialect == Dialect::Bot && failure.recovery().retry_after_ms.is_none();
    let is_unstated = dialect == Dialect::JsonRpc || (lacks_delay && !catalogued);
    if read.code() == failure.code() && !is_unstated {
        prop_assert_eq!(read.may_repeat(), failure.may_repeat(), "{}", dialect);
    }
    if !failure.retryable() && read.code() == failure.code() {
        prop_assert!(
            !read.retryable(),
            "{} makes a failure retryable that is not",
            dialect
        );
    }
    if matches!(dialect, Dialect::Call | Dialect::Outcome | Dialect::Problem) {
        prop_assert_eq!(read.details(), failure.details(), "{}", dialect);
    }
    if matches!(
        dialect,
        Dialect::Outcome | Dialect::Bot | Dialect::Problem | Dialect::Grpc | Dialect::Mcp
    ) && failure.recovery().retry_after_ms.is_some()
    {
        prop_assert_eq!(
            read.recovery().retry_after_ms,
            failure.recovery().retry_after_ms,
            "{}",
            dialect
        );
    }
    if matches!(dialect, Dialect::Flat | Dialect::JsonRpc | Dialect::Grpc) {
        for (name, value) in failure.details().into_iter().flatten() {
            let has_member = match dialect {
                Dialect::Grpc => {
                    value.is_string()
                        && name.len() > 1
                        && name.bytes().all(|byte| byte.is_ascii_lowercase())
                }
                Dialect::JsonRpc => !name.to_ascii_lowercase().contains("retr"),
                _ => true,
            };
            if has_member && !RESERVED_NAMES.contains(&name.as_str()) {
                prop_assert_eq!(
                    read.details().and_then(|details| details.get(name)),
                    Some(value),
                    "{}",
                    dialect
                );
            }
        }
    }
    Ok(())
}
