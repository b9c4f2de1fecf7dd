//! The table of headers that carry a hint, and the choice among several hints.
//! Values are parsed in `text` and `quota`.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use jiff::Timestamp;

use super::text::{self, Unit};
use super::{Hint, MAX_HINT_MS, MAX_VALUE_BYTES, forbidden, quota};

/// Reads the hint from the headers of a response.
///
/// Names are case-insensitive. A value that cannot be parsed, or is longer than 256 bytes, is skipped. Of
/// several hints this one is chosen:
///
/// 1. a delay in milliseconds (`retry-after-ms` and similar), the longest of them;
/// 2. `Retry-After`, the longest if it is repeated;
/// 3. the ends of quota windows: the longest of the exhausted quotas (`remaining` is 0), or else the
///    longest of all.
///
/// A negative `grpc-retry-pushback-ms` is not a delay; see [`forbids_retry`](super::forbids_retry).
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

/// Whether a header, in lower case, states the end of a quota window.
pub(super) fn is_quota_reset(name: &str) -> bool {
    row_of(name).is_some_and(|row| row.rank == Rank::QuotaReset)
}

/// One kind of header. A `*` in the name stands for the name of the quota, at least one character; the
/// `*` in `remaining` stands for the same.
struct Row {
    name: &'static str,
    rank: Rank,
    format: Format,
    remaining: Option<&'static str>,
}

/// Preference among headers, best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Milliseconds,
    RetryAfter,
    QuotaReset,
}

enum Format {
    /// A number in this unit, a duration or a date.
    Moment(Unit),
    /// An integer in milliseconds, which means "do not retry" below zero.
    Pushback,
    /// The structured `RateLimit` header, with several quotas in one value.
    Quotas,
}

const MILLISECONDS: Format = Format::Moment(Unit::Milliseconds);
const SECONDS: Format = Format::Moment(Unit::Seconds);

/// The first row that matches a name applies.
const ROWS: &[Row] = &[
    wait("retry-after-ms", Rank::Milliseconds, MILLISECONDS),
    wait("x-ms-retry-after-ms", Rank::Milliseconds, MILLISECONDS),
    wait(
        "grpc-retry-pushback-ms",
        Rank::Milliseconds,
        Format::Pushback,
    ),
    wait(
        "x-ratelimit-retry-after-ms",
        Rank::Milliseconds,
        MILLISECONDS,
    ),
    wait("retry-after", Rank::RetryAfter, SECONDS),
    wait("x-retry-after", Rank::RetryAfter, SECONDS),
    wait("x-ratelimit-retry-after", Rank::RetryAfter, SECONDS),
    wait("ratelimit", Rank::QuotaReset, Format::Quotas),
    reset("ratelimit-reset", "ratelimit-remaining"),
    reset("x-ratelimit-reset", "x-ratelimit-remaining"),
    reset("x-ratelimit-reset-after", "x-ratelimit-remaining"),
    reset("x-ratelimit-reset-*", "x-ratelimit-remaining-*"),
    reset("x-ratelimit-*-reset", "x-ratelimit-*-remaining"),
    reset("x-rate-limit-reset", "x-rate-limit-remaining"),
    reset("x-rate-limit-*-reset", "x-rate-limit-*-remaining"),
    window("x-rate-limit-*-interval-ms", "x-rate-limit-*-remaining"),
    window(
        "x-*-ratelimit-interval-milliseconds",
        "x-*-ratelimit-remaining",
    ),
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
    Row {
        remaining: Some(remaining),
        ..wait(name, Rank::QuotaReset, SECONDS)
    }
}

/// The length of a window, which is on every response; at most this long until it ends.
const fn window(name: &'static str, remaining: &'static str) -> Row {
    Row {
        remaining: Some(remaining),
        ..wait(name, Rank::QuotaReset, MILLISECONDS)
    }
}

struct Candidate {
    hint: Hint,
    rank: Rank,
    used_up: bool,
    /// The header with the remaining quota.
    remaining: Option<String>,
}

impl Candidate {
    fn order(&self, used_up: &BTreeSet<String>) -> (Rank, bool, Reverse<u64>) {
        let is_used_up_by_header = self
            .remaining
            .as_ref()
            .is_some_and(|name| used_up.contains(name));
        (
            self.rank,
            !(self.used_up || is_used_up_by_header),
            Reverse(self.hint.delay_ms),
        )
    }
}

fn row_of(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| wildcard(row.name, name).is_some())
}

/// Matches a name against a pattern; returns the text that `*` stands for, if any.
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
