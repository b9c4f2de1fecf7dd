//! The structured `RateLimit` header of the IETF drafts, with several quotas in one value.
//! The older headers with one number (`ratelimit-reset`) are parsed in `text`.

use jiff::Timestamp;

use super::text::{self, Unit};

/// One quota of a `RateLimit` header with a reset time.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Quota {
    pub(super) reset_ms: u64,
    pub(super) used_up: bool,
}

/// Parses the quotas of a `RateLimit` header.
///
/// Drafts 6 and 7 write one quota as `limit=100, remaining=0, reset=30`; from draft 8 on each quota is a
/// name with parameters, `"default";r=0;t=30`. Both are sequences of `key=value` pairs, where a bare name
/// starts the next quota.
pub(super) fn parse(raw: &str, now: Timestamp) -> Vec<Quota> {
    let mut quotas = Vec::new();
    let mut current = Pairs::default();
    for part in split_unquoted(raw, ',').flat_map(|item| split_unquoted(item, ';')) {
        match part.trim().split_once('=') {
            Some((key, value)) if !key.starts_with('"') => current.set(key, value, now),
            _ => quotas.extend(std::mem::take(&mut current).finish()),
        }
    }
    quotas.extend(current.finish());
    quotas
}

#[derive(Default)]
struct Pairs {
    reset_ms: Option<u64>,
    remaining: Option<f64>,
}

impl Pairs {
    fn set(&mut self, key: &str, value: &str, now: Timestamp) {
        match key.trim() {
            "reset" | "t" => self.reset_ms = text::delay_ms(value, Unit::Seconds, now),
            "remaining" | "r" => self.remaining = text::number(value.trim()),
            _ => {}
        }
    }

    fn finish(self) -> Option<Quota> {
        let used_up = self.remaining.is_some_and(|left| left <= 0.0);
        self.reset_ms.map(|reset_ms| Quota { reset_ms, used_up })
    }
}

/// Splits a structured field at separators outside of quoted names.
fn split_unquoted(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    text.split(move |c| {
        if escaped {
            escaped = false;
            return false;
        }
        escaped = quoted && c == '\\';
        quoted ^= c == '"';
        c == separator && !quoted
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quotas_are_parsed_in_every_draft() {
        let check = |raw: &str, expected: &[(u64, bool)]| {
            let quotas = parse(raw, Timestamp::UNIX_EPOCH);
            let found: Vec<_> = quotas.iter().map(|q| (q.reset_ms, q.used_up)).collect();
            assert_eq!(found, expected, "{raw}");
        };
        check("limit=100, remaining=0, reset=30", &[(30_000, true)]);
        check("limit=100, remaining=7, reset=30", &[(30_000, false)]);
        check("limit=100,remaining=0,reset=1.5", &[(1_500, true)]);
        check("limit=10;w=1, remaining=0; reset=5", &[(5_000, true)]);
        check("reset=30", &[(30_000, false)]);
        check(r#""default";r=0;t=30"#, &[(30_000, true)]);
        check("default;r=50;t=30", &[(30_000, false)]);
        check(
            r#""burst";r=0;t=5, "daily";r=12;t=3600"#,
            &[(5_000, true), (3_600_000, false)],
        );
        check(r#""a,b;t=9\",";r=0;t=2"#, &[(2_000, true)]);
        check(r#""no reset";r=0, "x";t=1"#, &[(1_000, false)]);
        check(
            r#""default"; r=0; t=30; pk=:cHsdsRa894==:"#,
            &[(30_000, true)],
        );
        check(r#""t=5";r=0"#, &[]);
        check(
            r#""a=b";r=0;t=5, "c=d";t=1"#,
            &[(5_000, true), (1_000, false)],
        );
        for garbage in [
            "",
            "soon",
            "reset=",
            "reset=soon",
            "t=NaN",
            "=",
            ";;,,",
            "\"",
            "\"a;t=5",
        ] {
            check(garbage, &[]);
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(raw in prop_oneof![any::<String>(), "[\"\\\\;,=rt0-9 ]{0,60}"]) {
            let _ = parse(&raw, Timestamp::UNIX_EPOCH);
        }
    }
}
