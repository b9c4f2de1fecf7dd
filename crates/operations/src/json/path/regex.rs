//! `match` and `search` of RFC 9535 with limits: each pattern is compiled once and matched in linear time, and
//! the scanned text is limited.
//!
//! In the RFC an invalid pattern matches nothing. Here the query fails, since an empty result would look
//! correct.

use std::cell::RefCell;
use std::collections::HashMap;

use regex::{Regex, RegexBuilder};
use serde_json::Value;
use serde_json_path::functions::{LogicalType, ValueType};

use crate::json::document::BYTES_LIMIT;

/// The maximum number of different patterns of one query.
pub(super) const PATTERNS_LIMIT: usize = 64;
/// The longest pattern, in bytes.
pub(super) const PATTERN_LENGTH_LIMIT: usize = 1000;
/// The largest compiled pattern, in bytes.
const COMPILED_BYTES_LIMIT: usize = 256 * 1024;
/// How much text one query may match patterns against, in bytes.
pub(super) const SCANNED_BYTES_LIMIT: usize = 2 * BYTES_LIMIT;

/// Why patterns could not be matched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RegexProblem {
    #[error("the pattern {0} is invalid")]
    Invalid(String),
    #[error("a pattern is longer than {PATTERN_LENGTH_LIMIT} bytes")]
    TooLong,
    #[error("the query uses more than {PATTERNS_LIMIT} different patterns")]
    TooMany,
    #[error("the query matches patterns against more than {SCANNED_BYTES_LIMIT} bytes of text")]
    TooMuchText,
}

#[derive(Debug, Default)]
struct Matching {
    patterns: HashMap<String, Regex>,
    scanned_bytes: usize,
    problem: Option<RegexProblem>,
}

thread_local! {
    // The library calls its functions with their arguments only. A query runs on one thread.
    static MATCHING: RefCell<Matching> = RefCell::default();
}

/// Runs queries, and fails if their patterns together exceed a limit.
pub(super) fn bounded<T>(queries: impl FnOnce() -> T) -> Result<T, RegexProblem> {
    MATCHING.take();
    let found = queries();
    MATCHING.take().problem.map_or(Ok(found), Err)
}

#[serde_json_path::function(name = "match")]
fn matches_whole(text: ValueType<'_>, pattern: ValueType<'_>) -> LogicalType {
    matches(&text, &pattern, r"\A(?:", r")\z")
}

#[serde_json_path::function(name = "search")]
fn matches_somewhere(text: ValueType<'_>, pattern: ValueType<'_>) -> LogicalType {
    matches(&text, &pattern, "(?:", ")")
}

fn matches(
    text: &ValueType<'_>,
    pattern: &ValueType<'_>,
    before: &str,
    after: &str,
) -> LogicalType {
    let (Some(Value::String(text)), Some(Value::String(pattern))) =
        (text.as_value(), pattern.as_value())
    else {
        return LogicalType::False;
    };
    MATCHING.with_borrow_mut(|matching| {
        if matching.problem.is_some() {
            return LogicalType::False;
        }
        let matched = matching.matched(text, pattern, before, after);
        let matched = matched.unwrap_or_else(|problem| {
            matching.problem = Some(problem);
            false
        });
        matched.into()
    })
}

impl Matching {
    fn matched(
        &mut self,
        text: &str,
        pattern: &str,
        before: &str,
        after: &str,
    ) -> Result<bool, RegexProblem> {
        if pattern.len() > PATTERN_LENGTH_LIMIT {
            return Err(RegexProblem::TooLong);
        }
        self.scanned_bytes += text.len();
        if self.scanned_bytes > SCANNED_BYTES_LIMIT {
            return Err(RegexProblem::TooMuchText);
        }
        let whole = format!("{before}{pattern}{after}");
        if let Some(regex) = self.patterns.get(&whole) {
            return Ok(regex.is_match(text));
        }
        if self.patterns.len() == PATTERNS_LIMIT {
            return Err(RegexProblem::TooMany);
        }
        // RFC 9485: the dot matches neither end of a line.
        let regex = RegexBuilder::new(&whole)
            .crlf(true)
            .size_limit(COMPILED_BYTES_LIMIT)
            .build()
            .map_err(|_| RegexProblem::Invalid(pattern.to_owned()))?;
        let matched = regex.is_match(text);
        self.patterns.insert(whole, regex);
        Ok(matched)
    }
}
