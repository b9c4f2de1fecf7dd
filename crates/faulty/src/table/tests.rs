use std::collections::BTreeSet;

use panpan_catalogue::Known;

use super::*;
use crate::fault::{Body, Generated};
use crate::template::{TemplateContext, fill};

fn known(row: &Row) -> Option<(Known, &Expected)> {
    let expected = row.failure()?;
    let known = lookup(&expected.code);
    Some((
        known.unwrap_or_else(|| panic!("{}: {}", row.name, expected.code)),
        expected,
    ))
}

#[test]
fn there_are_many_faults_and_each_has_a_name_of_its_own() {
    let slugs: BTreeSet<_> = faults().iter().map(Row::slug).collect();
    assert_eq!(slugs.len(), faults().len());
    let failures = faults().iter().filter_map(Row::failure).count();
    assert!(failures >= 75, "{failures}");
}

#[test]
fn a_name_leaves_room_for_a_namespace_in_the_name_of_a_tool() {
    for slug in faults().iter().map(Row::slug) {
        assert!(slug.len() <= 48, "{slug}");
    }
}

#[test]
fn every_code_is_in_the_catalogue_with_the_same_facts() {
    for row in faults() {
        let Some((known, expected)) = known(row) else {
            continue;
        };
        let facts = (known.category(), known.retryable());
        assert_eq!(
            facts,
            (expected.category, expected.retryable),
            "{}",
            row.name
        );
    }
}

#[test]
fn no_fault_of_a_service_is_a_defect_of_the_gateway() {
    for (known, _) in faults().iter().filter_map(known) {
        assert!(
            !panpan_catalogue::is_protocol_code(&known.code()),
            "{}",
            known.code()
        );
    }
}

#[test]
fn a_read_has_no_effect() {
    for row in faults().iter().filter(|row| row.operation == Access::Read) {
        let effect = row
            .failure()
            .map_or(Effect::None, |expected| expected.effect);
        assert_eq!(effect, Effect::None, "{}", row.name);
        assert!(!row.keyed && !row.honours_key, "{}", row.name);
    }
}

#[test]
fn a_delay_is_told_only_with_a_code_that_may_be_tried_again() {
    for (row, expected) in faults()
        .iter()
        .filter_map(|row| Some((row, row.failure()?)))
    {
        assert!(
            expected.retryable || expected.retry_after_ms.is_none(),
            "{}",
            row.name
        );
    }
}

#[test]
fn an_answered_status_keeps_its_code_unless_it_means_something_else() {
    for (row, expected) in faults()
        .iter()
        .filter_map(|row| Some((row, row.failure()?)))
    {
        let Some(status) = expected.status.filter(|status| (400..600).contains(status)) else {
            continue;
        };
        let restated = ["rate limit as 403", "quota as 429"];
        let is_restated = restated.iter().any(|name| row.name.starts_with(name));
        if is_restated || expected.code == "ERR_TRY_LATER" {
            continue;
        }
        assert_eq!(expected.code, format!("HTTP_{status}"), "{}", row.name);
    }
}

#[test]
fn a_write_that_was_never_answered_is_no_plain_timeout() {
    for (row, expected) in faults()
        .iter()
        .filter_map(|row| Some((row, row.failure()?)))
    {
        let lost = expected.effect == Effect::Unknown && expected.status.is_none();
        let redirected = expected.code == "ERR_BLOCKED_HOST";
        if lost && !row.honours_key && !redirected {
            assert_eq!(expected.code, "ERR_OUTCOME_UNKNOWN", "{}", row.name);
        }
    }
}

#[test]
fn every_template_of_the_table_is_known() {
    let context = TemplateContext {
        now: jiff::Timestamp::UNIX_EPOCH,
        headers: &[],
    };
    for row in faults() {
        let Fault::Answers { headers, body, .. } = &row.fault else {
            continue;
        };
        let text = match body {
            Some(Body::Text(text) | Body::Generated(Generated::Padded { text, .. })) => {
                text.clone()
            }
            Some(Body::Generated(Generated::Json(value))) => value.to_string(),
            _ => String::new(),
        };
        let texts = headers.iter().map(|(_, value)| value).chain([&text]);
        for filled in texts.map(|text| fill(text, context)) {
            assert!(!filled.contains("{{"), "{}: {filled}", row.name);
        }
    }
}

#[test]
fn bytes_are_written_one_character_each() {
    for row in faults() {
        let bytes = match &row.fault {
            Fault::Sends { bytes, .. } => bytes,
            Fault::Answers {
                body: Some(Body::Generated(Generated::Bytes(bytes))),
                ..
            } => bytes,
            _ => continue,
        };
        assert!(bytes.chars().all(|c| u32::from(c) < 256), "{}", row.name);
    }
}

#[test]
fn a_delay_fits_when_it_is_the_one_that_was_told() {
    let fits = |slug: &str, found_ms| Row::of_slug(slug).unwrap().accepts_delay(found_ms);
    for (slug, found_ms, expected) in [
        ("rate-limited-seconds", Some(120_000), true),
        ("rate-limited-seconds", Some(119_999), false),
        ("rate-limited-seconds", None, false),
        ("rate-limited-date-as-in-mail", Some(120_000), true),
        ("rate-limited-date-as-in-mail", Some(90_001), true),
        ("rate-limited-date-as-in-mail", Some(90_000), false),
        ("rate-limited-date-as-in-mail", Some(120_001), false),
        ("rate-limited-no-hint", None, true),
        ("rate-limited-no-hint", Some(1_000), true),
        ("rate-limited-no-hint", Some(999), false),
        ("rate-limited-no-hint", Some(2_000), true),
        ("rate-limited-no-hint", Some(30_001), false),
        ("rate-limited-zero", Some(1_000), true),
        ("rate-limited-zero", Some(0), false),
        ("no-content", None, false),
    ] {
        assert_eq!(fits(slug, found_ms), expected, "{slug} {found_ms:?}");
    }
}
