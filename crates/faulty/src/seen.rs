//! What a caller saw of a fault, held against its row.

use std::fmt::Display;

use crate::table::Row;

/// What a caller saw of a failure, as it stands on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen<'a> {
    /// The code.
    pub code: &'a str,
    /// The word of the category.
    pub category: &'a str,
    /// Whether the identical call may succeed later.
    pub retryable: bool,
    /// The word of the effect.
    pub effect: &'a str,
    /// The delay.
    pub retry_after_ms: Option<u64>,
    /// The status of the service.
    pub status: Option<u16>,
}

impl Row {
    /// Everything in which what was seen (`None`: a success) differs from what the row expects, one
    /// sentence each; nothing when it is as it should be.
    ///
    /// ```
    /// use panpan_faulty::{Row, Seen};
    ///
    /// let row = Row::of_slug("rate-limited-seconds").unwrap();
    /// let seen = Seen {
    ///     code: "HTTP_429",
    ///     category: "RATE_LIMIT",
    ///     retryable: true,
    ///     effect: "none",
    ///     retry_after_ms: Some(120_000),
    ///     status: Some(429),
    /// };
    /// assert!(row.differences(Some(seen)).is_empty());
    /// assert_eq!(row.differences(None), ["expected HTTP_429, seen a success"]);
    /// ```
    pub fn differences(&self, seen: Option<Seen<'_>>) -> Vec<String> {
        let (expected, seen) = match (self.failure(), seen) {
            (None, None) => return Vec::new(),
            (None, Some(seen)) => return vec![format!("expected a success, seen {}", seen.code)],
            (Some(expected), None) => {
                return vec![format!("expected {}, seen a success", expected.code)];
            }
            (Some(expected), Some(seen)) => (expected, seen),
        };
        let status = |status: Option<u16>| status.map_or("none".to_owned(), |it| it.to_string());
        let mut found = vec![
            difference("code", &expected.code, seen.code),
            difference("category", expected.category, seen.category),
            difference("retryable", expected.retryable, seen.retryable),
            difference("effect", expected.effect, seen.effect),
            difference("status", status(expected.status), status(seen.status)),
        ];
        if !self.accepts_delay(seen.retry_after_ms) {
            let (told, seen) = (expected.retry_after_ms, seen.retry_after_ms);
            found.push(Some(format!("delay: expected {told:?}, seen {seen:?}")));
        }
        found.into_iter().flatten().collect()
    }
}

fn difference(what: &str, expected: impl Display, seen: impl Display) -> Option<String> {
    let (expected, seen) = (expected.to_string(), seen.to_string());
    (expected != seen).then(|| format!("{what}: expected {expected}, seen {seen}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_differs_is_told_at_once() {
        let row = Row::of_slug("unavailable-with-a-time-write").unwrap();
        let seen = Seen {
            code: "INTERNAL",
            category: "PERMANENT",
            retryable: false,
            effect: "unknown",
            retry_after_ms: None,
            status: None,
        };
        assert_eq!(
            row.differences(Some(seen)),
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
    fn a_success_is_a_difference_only_where_a_failure_is_expected() {
        let delivered = Row::of_slug("no-content").unwrap();
        assert!(delivered.differences(None).is_empty());
        let seen = Seen {
            code: "HTTP_502",
            category: "SERVER_ERROR",
            retryable: true,
            effect: "none",
            retry_after_ms: None,
            status: Some(204),
        };
        assert_eq!(
            delivered.differences(Some(seen)),
            ["expected a success, seen HTTP_502"]
        );
    }
}
