//! Rules that every row of the catalogue has to obey.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};

use panpan_catalogue::{
    Category, Effect, Entry, Known, Mapping, Remedy, check_code, entries, for_flat_name, for_grpc,
    for_jsonrpc, for_status, is_protocol_code, lookup,
};

#[test]
fn codes_are_well_formed_and_numbers_are_unique() {
    let mut numbers = BTreeMap::new();
    for row in entries() {
        assert_eq!(check_code(row.code), Ok(()), "{}", row.code);
        assert_eq!(
            lookup(row.code),
            Some(Known::Row(row)),
            "{} is duplicated",
            row.code
        );
        assert!((100..1000).contains(&row.number), "{}", row.code);
        if let Some(other) = numbers.insert(row.number, row.code) {
            panic!("{} and {other} share the number {}", row.code, row.number);
        }
    }
}

#[test]
fn retryability_follows_the_category_with_one_exception() {
    let exceptions: Vec<_> = entries()
        .filter(|row| row.retryable != row.category.retryable())
        .map(|row| row.code)
        .collect();
    assert_eq!(exceptions, ["ERR_SSL_ERROR"]);
}

#[test]
fn every_code_has_a_recovery() {
    for row in entries() {
        let recovery = &row.recovery;
        let has_action = !recovery.actions.is_empty();
        if row.retryable {
            assert!(
                recovery.retry_after_ms.is_some() || has_action,
                "{}",
                row.code
            );
            assert!(
                row.remedies.contains(Remedy::Wait),
                "{} is retryable, so waiting is a remedy",
                row.code
            );
        } else {
            assert!(
                has_action || !recovery.alternatives.is_empty(),
                "{}",
                row.code
            );
            assert_eq!(
                recovery.retry_after_ms, None,
                "{} is never retried",
                row.code
            );
            assert_eq!(recovery.max_retries, None, "{} is never retried", row.code);
            assert!(
                !row.remedies.contains(Remedy::Wait),
                "{} is not retryable, so waiting is not a remedy",
                row.code
            );
        }
        assert!(!row.remedies.is_empty(), "{}", row.code);
    }
}

/// Every status, in both families.
fn members() -> impl Iterator<Item = (u16, Known)> {
    let of = |status: u16| {
        let codes = [format!("HTTP_{status}"), format!("ERR_HTTP_{status}")];
        codes.map(|code| (status, lookup(&code).unwrap()))
    };
    (400..600).flat_map(of)
}

#[test]
fn every_status_has_a_recovery_that_fits_it() {
    use Remedy::{AskHuman, ChangeInput, ChangeState, Wait};
    for (_, known) in members() {
        let (recovery, remedies) = (known.recovery(), known.remedies());
        assert!(!recovery.actions.is_empty(), "{}", known.code());
        let waits = remedies.contains(Wait);
        assert_eq!(waits, known.retryable(), "{}", known.code());
        let has_delay = recovery.retry_after_ms.is_some();
        assert_eq!(has_delay, known.retryable(), "{}", known.code());
    }
    for (statuses, expected, does_not_say) in [
        (&[402][..], &[ChangeState, AskHuman][..], "input"),
        (
            &[405, 406, 407, 411, 415, 417, 421, 426, 428, 431],
            &[AskHuman],
            "message",
        ),
        (&[404, 410, 413, 414], &[ChangeInput], "message"),
        (&[412, 423, 424], &[ChangeState], "input"),
        (&[425], &[Wait], "input"),
        (&[451, 499], &[AskHuman], "input"),
        (&[418], &[ChangeInput], "service"),
    ] {
        for status in statuses {
            let known = lookup(&format!("HTTP_{status}")).unwrap();
            let remedies: Vec<_> = known.remedies().iter().collect();
            assert_eq!(remedies, expected, "{status}");
            let action = known.recovery().actions.join(" ");
            assert!(!action.contains(does_not_say), "{status}: {action}");
        }
    }
}

#[test]
fn a_status_has_the_same_facts_in_both_families() {
    for (status, known) in members() {
        let other = for_status(status).unwrap();
        let facts = |it: Known| (it.category(), it.retryable(), it.effect(), it.grpc());
        assert_eq!(facts(known), facts(other), "{}", known.code());
    }
    let own = lookup("ERR_HTTP_405").unwrap().remedies();
    assert!(own.contains(Remedy::ChangeInput) && !own.contains(Remedy::AskHuman));
}

#[test]
fn retryable_codes_state_a_delay_and_a_number_of_retries() {
    for row in entries().filter(|row| row.retryable) {
        assert!(row.recovery.retry_after_ms.is_some(), "{}", row.code);
        assert!(row.recovery.max_retries.is_some(), "{}", row.code);
    }
}

#[test]
fn refusals_before_any_work_have_no_effect() {
    for row in entries() {
        let before_work = matches!(
            row.category,
            Category::Validation | Category::AuthFail | Category::RateLimit | Category::Resource
        );
        assert!(!before_work || row.effect == Effect::None, "{}", row.code);
    }
}

#[test]
fn every_mapping_leads_back_to_its_canonical_code() {
    for row in entries() {
        check(row, "jsonrpc", for_jsonrpc(row.jsonrpc.into()), |found| {
            found.jsonrpc() == row.jsonrpc
        });
        check(row, "grpc", for_grpc(row.grpc), |found| {
            found.grpc() == row.grpc
        });
        check(row, "http", for_status(row.http), |found| {
            found.http() == row.http
        });
        let name = Known::Row(row).flat_name();
        check(row, "flat", for_flat_name(&name), |found| {
            found.flat_name() == name
        });
    }

    fn check(row: &Entry, mapping: &str, found: Option<Known>, same: impl Fn(&Known) -> bool) {
        let found =
            found.unwrap_or_else(|| panic!("{} cannot be mapped back in {mapping}", row.code));
        assert!(
            same(&found),
            "{} leads to {} in {mapping}",
            row.code,
            found.code()
        );
    }
}

#[test]
fn these_codes_are_canonical() {
    for (number, code) in [
        (-32700, "PARSE_ERROR"),
        (-32600, "INVALID_REQUEST"),
        (-32601, "NOT_FOUND"),
        (-32602, "INVALID_INPUT"),
        (-32603, "INTERNAL"),
        (-32004, "UNAUTHORIZED"),
        (215, "ERR_HTTP_429_RATE_LIMITED"),
        (2418, "ERR_HTTP_418"),
        (9404, "HTTP_404"),
    ] {
        assert_eq!(for_jsonrpc(number).unwrap().code(), code, "{number}");
    }
    for (name, code) in [
        ("not_found", "ARTIFACT_NOT_FOUND"),
        ("timeout", "EXECUTION_TIMEOUT"),
        ("invalid_argument", "INVALID_ARGUMENT"),
        ("not_authorized", "NOT_AUTHORIZED"),
        ("internal_error", "INTERNAL_ERROR"),
        ("err_http_418", "ERR_HTTP_418"),
    ] {
        assert_eq!(for_flat_name(name).unwrap().code(), code, "{name}");
    }
    for unknown in [1000, 0, -32000, -32099, 999, i64::MIN, i64::MAX] {
        assert_eq!(for_jsonrpc(unknown), None, "{unknown}");
    }
}

#[test]
fn at_most_one_code_is_canonical_for_a_value() {
    let marks = |mapping: Mapping, value: fn(&Entry) -> String| {
        let mut seen = BTreeMap::new();
        for row in entries().filter(|row| row.is_canonical(mapping)) {
            let other = seen.insert(value(row), row.code);
            assert_eq!(other, None, "{} is canonical too", row.code);
        }
    };
    marks(Mapping::JsonRpc, |row| row.jsonrpc.to_string());
    marks(Mapping::Grpc, |row| row.grpc.to_string());
    marks(Mapping::Flat, |row| {
        Known::Row(row_of(row)).flat_name().into_owned()
    });

    fn row_of(row: &Entry) -> &'static Entry {
        entries().find(|other| other.code == row.code).unwrap()
    }
}

#[test]
fn json_rpc_numbers_stay_out_of_reserved_ranges() {
    let seeded: BTreeSet<i32> = (-32012..=-32001)
        .chain([-32700])
        .chain(-32603..=-32600)
        .collect();
    for row in entries().filter(|row| row.jsonrpc < 0) {
        assert!(
            seeded.contains(&row.jsonrpc),
            "{} {}",
            row.code,
            row.jsonrpc
        );
    }
    for row in entries().filter(|row| row.jsonrpc > 0) {
        assert_eq!(row.jsonrpc, i32::from(row.number), "{}", row.code);
    }
}

#[test]
fn eight_codes_are_reserved_for_the_protocol() {
    let protocol: Vec<_> = entries()
        .map(|row| row.code)
        .filter(|code| is_protocol_code(code))
        .collect();
    assert_eq!(protocol.len(), 8);
    let retryable: Vec<_> = protocol
        .iter()
        .filter(|code| lookup(code).unwrap().retryable())
        .collect();
    assert_eq!(retryable, [&"TIMEOUT"]);
}
