//! The one table of header names that carry a hint, and the choice among them.
//! How a value is understood lives in `text` and `quota`.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use jiff::Timestamp;

use super::text::{self, Unit};
use super::{Hint, MAX_HINT_MS, MAX_VALUE_BYTES, forbidden, quota};

/// Reads the hint out of an answer's headers.
///
/// Names match without regard to case. A value that cannot be understood, or is
/// longer than 256 bytes, is passed over for the next candidate. Of several
/// hints one is chosen:
///
/// 1. a wait in milliseconds (`retry-after-ms` and its kin), the longest of them;
/// 2. `Retry-After`, the longest if it is repeated;
/// 3. the ends of quota windows: the longest of those whose quota is used up
///    (its `remaining` is 0), or else the longest of all.
///
/// A negative `grpc-retry-pushback-ms` is no wait; see [`forbids_retry`](super::forbids_retry).
pub fn from_headers<'a>(
    headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    now: Timestamp,
) -> Option<Hint> {
    let mut candidates = Vec::new();
    let mut used_up = BTreeSet::new();
    for (name, raw) in headers {
        if name.len() > MAX_VALUE_BYTES || raw.len() > MAX_VALUE_BYTES {
            continue;
        }
        let name = name.to_ascii_lowercase();
        if let Some(row) = row_of(&name) {
            candidates.extend(read(row, &name, raw, now));
        } else if text::number(raw.trim()).is_some_and(|left| left <= 0.0) {
            used_up.insert(name);
        }
    }
    candidates
        .into_iter()
        .min_by_key(|candidate| candidate.order(&used_up))
        .map(|candidate| candidate.hint)
}

/// Tells whether a header, in lower case, names the end of a quota's window.
pub(super) fn is_quota_reset(name: &str) -> bool {
    row_of(name).is_some_and(|row| row.rank == Rank::QuotaReset)
}

/// One kind of header. A `*` in the name stands for at least one character, the
/// name of the quota, and is filled in where `remaining` has one.
struct Row {
    name: &'static str,
    rank: Rank,
    format: Format,
    remaining: Option<&'static str>,
}

/// How much a header is preferred, the best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Milliseconds,
    RetryAfter,
    QuotaReset,
}

enum Format {
    /// A number in this unit, or anything that names a moment or a span.
    Moment(Unit),
    /// A whole number of milliseconds, which has another meaning below zero.
    Pushback,
    /// The structured `RateLimit` field, with several quotas in one value.
    Quotas,
}

/// The first row that matches a name counts.
const ROWS: &[Row] = &[
    wait(
        "retry-after-ms",
        Rank::Milliseconds,
        Format::Moment(Unit::Milliseconds),
    ),
    wait(
        "x-ms-retry-after-ms",
        Rank::Milliseconds,
        Format::Moment(Unit::Milliseconds),
    ),
    wait(
        "grpc-retry-pushback-ms",
        Rank::Milliseconds,
        Format::Pushback,
    ),
    wait(
        "retry-after",
        Rank::RetryAfter,
        Format::Moment(Unit::Seconds),
    ),
    wait("ratelimit", Rank::QuotaReset, Format::Quotas),
    reset("ratelimit-reset", "ratelimit-remaining"),
    reset("x-ratelimit-reset", "x-ratelimit-remaining"),
    reset("x-ratelimit-reset-after", "x-ratelimit-remaining"),
    reset("x-ratelimit-reset-*", "x-ratelimit-remaining-*"),
    reset("x-rate-limit-reset", "x-rate-limit-remaining"),
    reset(
        "anthropic-ratelimit-*-reset",
        "anthropic-ratelimit-*-remaining",
    ),
];

const fn wait(name: &'static str, rank: Rank, format: Format) -> Row {
    Row {
        name,
        rank,
        format,
        remaining: None,
    }
}

const fn reset(name: &'static str, remaining: &'static str) -> Row {
    let format = Format::Moment(Unit::Seconds);
    Row {
        name,
        rank: Rank::QuotaReset,
        format,
        remaining: Some(remaining),
    }
}

struct Candidate {
    hint: Hint,
    rank: Rank,
    used_up: bool,
    /// The header that says how much of the quota is left.
    remaining: Option<String>,
}

impl Candidate {
    fn order(&self, used_up: &BTreeSet<String>) -> (Rank, bool, Reverse<u64>) {
        let header_says_so = self
            .remaining
            .as_ref()
            .is_some_and(|name| used_up.contains(name));
        (
            self.rank,
            !(self.used_up || header_says_so),
            Reverse(self.hint.delay_ms),
        )
    }
}

fn row_of(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| wildcard(row.name, name).is_some())
}

/// Matches a name against a row's; returns what its `*` stands for, if it has one.
fn wildcard<'n>(pattern: &str, name: &'n str) -> Option<&'n str> {
    let Some((prefix, suffix)) = pattern.split_once('*') else {
        return (pattern == name).then_some("");
    };
    let middle = name.strip_prefix(prefix)?.strip_suffix(suffix)?;
    (!middle.is_empty()).then_some(middle)
}

fn read(row: &Row, name: &str, raw: &str, now: Timestamp) -> Vec<Candidate> {
    let candidate = |delay_ms, used_up| Candidate {
        hint: Hint {
            name: name.to_owned(),
            raw: raw.to_owned(),
            delay_ms,
        },
        rank: row.rank,
        used_up,
        remaining: row
            .remaining
            .zip(wildcard(row.name, name))
            .map(|(n, star)| n.replace('*', star)),
    };
    let single = match row.format {
        Format::Moment(unit) => text::delay_ms(raw, unit, now),
        Format::Pushback => forbidden::pushback_ms(raw).map(|ms| ms.min(MAX_HINT_MS)),
        Format::Quotas => {
            let quotas = quota::parse(raw, now).into_iter();
            return quotas
                .map(|quota| candidate(quota.reset_ms, quota.used_up))
                .collect();
        }
    };
    single
        .map(|delay_ms| candidate(delay_ms, false))
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests;
