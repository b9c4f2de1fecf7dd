//! Compares the failure that a caller observed with its row.

use std::fmt::Display;

use crate::table::Row;

/// The failure that a caller observed, as on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservedFailure<'a> {
    /// The code.
    pub code: &'a str,
    /// The category.
    pub category: &'a str,
    /// Whether the identical call may succeed later.
    pub retryable: bool,
    /// The effect.
    pub effect: &'a str,
    /// The delay.
    pub retry_after_ms: Option<u64>,
    /// The status of the service's response.
    pub status: Option<u16>,
}

impl Row {
    /// The differences between the observed result (`None`: a success) and the expected one, one text each; empty
    /// if there are none.
    ///
    /// ```
    /// use panpan_faulty::{ObservedFailure, Row};
    ///
    /// let row = Row::of_slug("rate-limited-seconds").unwrap();
    /// let observed = ObservedFailure {
    ///     code: "HTTP_429",
    ///     category: "RATE_LIMIT",
    ///     retryable: true,
    ///     effect: "none",
    ///     retry_after_ms: Some(120_000),
    ///     status: Some(429),
    /// };
    /// assert!(row.differences(Some(observed)).is_empty());
    /// assert_eq!(row.differences(None), ["expected HTTP_429, seen a success"]);
    /// ```
    pub fn differences(&self, observed: Option<ObservedFailure<'_>>) -> Vec<String> {
        let (expected, observed) = match (self.failure(), observed) {
            (None, None) => return Vec::new(),
            (None, Some(observed)) => {
                return vec![format!("expected a success, seen {}", observed.code)];
            }
            (Some(expected), None) => {
                return vec![format!("expected {}, seen a success", expected.code)];
            }
            (Some(expected), Some(observed)) => (expected, observed),
        };
        let status = |status: Option<u16>| status.map_or("none".to_owned(), |it| it.to_string());
        let mut found = vec![
            difference("code", &expected.code, observed.code),
            difference("category", expected.category, observed.category),
            difference("retryable", expected.retryable, observed.retryable),
            difference("effect", expected.effect, observed.effect),
            difference("status", status(expected.status), status(observed.status)),
        ];
        if !self.accepts_delay(observed.retry_after_ms) {
            let (expected, observed) = (expected.retry_after_ms, observed.retry_after_ms);
            found.push(Some(format!(
                "delay: expected {expected:?}, seen {observed:?}"
            )));
        }
        found.into_iter().flatten().collect()
    }
}

fn difference(what: &str, expected: impl Display, observed: impl Display) -> Option<String> {
    let (expected, observed) = (expected.to_string(), observed.to_string());
    (expected != observed).then(|| format!("{what}: expected {expected}, seen {observed}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_differences_are_reported_at_once() {
        let row = Row::of_slug("unavailable-with-a-time-write").unwrap();
        let observed = ObservedFailure {
            code: "INTERNAL",
            category: "PERMANENT",
            retryable: false,
            effect: "unknown",
            retry_after_ms: None,
            status: None,
        };
        assert_eq!(
            row.differences(Some(observed)),
            [
                "code: expected HTTP_503, seen INTERNAL",
                "category: expected TRANSIENT, seen PERMANENT",
                "retryable: expected true, seen false",
                "effect: expected none, seen unknown",
                "status: expected 503, seen none",
                "delay: expected Some(60000), seen None",
            ]
        );
    }

    #[test]
    fn a_success_is_a_difference_only_if_a_failure_is_expected() {
        let delivered = Row::of_slug("no-content").unwrap();
        assert!(delivered.differences(None).is_empty());
        let observed = ObservedFailure {
            code: "HTTP_502",
            category: "SERVER_ERROR",
            retryable: true,
            effect: "none",
            retry_after_ms: None,
            status: Some(204),
        };
        assert_eq!(
            delivered.differences(Some(observed)),
            ["expected a success, seen HTTP_502"]
        );
    }
}
