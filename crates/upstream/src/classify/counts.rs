//! Members of an error body that count finished work: `{"imported": 40}`, `{"created": ["a1", "a2"]}`.
//!
//! Reads known members of the body and of the objects in it that summarise a batch; does not search the whole body.

use panpan_failure::catalogue::code_from_name;
use serde_json::{Map, Value};

/// Words for finished work, without the additions in [`ADDITIONS`].
const DONE: &str = "\
    APPLIED CREATED DELETED DELIVERED IMPORTED INSERTED PROCESSED SAVED SENT STORED SUBMITTED SUCCEEDED SUCCESS \
    SUCCESSES SUCCESSFUL UPDATED UPLOADED WRITTEN";

/// Words for items that failed; if as many failed as were processed, nothing was done.
const FAILED: &str = "ERRORS FAILED FAILURES INVALID REJECTED";

/// What names of counts have in front or behind.
const ADDITIONS: [&str; 8] = [
    "COUNT", "IDS", "ITEMS", "NUM", "NUMBER", "RECORDS", "ROWS", "TOTAL",
];

/// Objects that summarise a batch.
const SUMMARIES: [&str; 10] = [
    "error", "details", "data", "result", "results", "summary", "stats", "counts", "progress",
    "meta",
];

/// The smallest number that is a time (`created: 1700000000`) and not a count.
const TIMES_FROM: u64 = 1_000_000_000;

/// Whether the body says that a part of the work was done.
pub(crate) fn report_work(document: &Value) -> bool {
    let inner = SUMMARIES.iter().filter_map(|name| document.get(name));
    let objects = [document]
        .into_iter()
        .chain(inner)
        .filter_map(Value::as_object);
    objects.into_iter().any(reports_work)
}

fn reports_work(members: &Map<String, Value>) -> bool {
    let failed = counted(members, FAILED).map(|(_, count)| count).max();
    let all_failed =
        |word: &str, count| word == "PROCESSED" && failed.is_some_and(|it| it >= count);
    counted(members, DONE).any(|(word, count)| count > 0 && !all_failed(&word, count))
}

/// The counts of the members with one of these words.
fn counted<'m>(
    members: &'m Map<String, Value>,
    words: &'static str,
) -> impl Iterator<Item = (String, u64)> + 'm {
    members.iter().filter_map(move |(name, value)| {
        let (word, is_count) = stem(name);
        // `success: 1` can be a flag.
        let is_known = words.split(' ').any(|it| it == word) && (is_count || word != "SUCCESS");
        Some((word, count(value)?)).filter(|_| is_known)
    })
}

/// The words of a name without its additions, and whether it had any: `SUCCESS` of `success_count`.
fn stem(name: &str) -> (String, bool) {
    let name = code_from_name(name);
    let kept = name.split('_').filter(|it| !ADDITIONS.contains(it));
    let stem = kept.collect::<Vec<_>>().join("_");
    let is_count = stem.len() < name.len();
    (stem, is_count)
}

fn count(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().filter(|it| *it < TIMES_FROM),
        Value::Array(items) => u64::try_from(items.len()).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counts_of_finished_work_are_recognised() {
        for document in [
            json!({"message": "Rate limit exceeded", "processed": 40, "total": 100}),
            json!({"message": "2 of 3 items were imported", "imported": 2, "failed": [{"index": 2}]}),
            json!({"processed": [1, 2], "rejected": [{"id": 3}]}),
            json!({"created": ["a1"], "errors": [{"row": 3}]}),
            json!({"error": {"code": "PARTIAL", "succeeded": 3, "failed": 2}}),
            json!({"success_count": 3, "failure_count": 1}),
            json!({"summary": {"numInserted": 3}}),
            json!({"updatedRows": 7}),
        ] {
            assert!(report_work(&document), "{document}");
        }
    }

    #[test]
    fn other_members_are_no_counts() {
        for document in [
            json!({"imported": 0, "failed": 3}),
            json!({"created": []}),
            json!({"processed": 3, "failed": 3}),
            json!({"processed": 3, "errors": [1, 2, 3]}),
            json!({"created": 1_700_000_000, "updated": 1_700_000_100_000_u64}),
            json!({"created": "2026-01-01", "deleted": true, "sent": null}),
            json!({"success": 0, "ok": 1}),
            json!({"success": 1}),
            json!({"limit": 100, "remaining": 40}),
            json!({"input": {"sent": 3}}),
            json!({"created_by": 7, "processed_at": 9}),
            json!("imported 3"),
        ] {
            assert!(!report_work(&document), "{document}");
        }
    }
}
