//! The options of `panpan call`.

use panpan_failure::dialect::Dialect;
use panpan_runtime::IdempotencyKey;

use super::super::target::{OutputArgs, TargetArgs};
use super::super::translate::dialects;

/// The options of `panpan call`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes: 0 success, 1 the operation failed, 2 the call could not be made, 130 interrupted by Ctrl-C.

Examples:
  panpan call demo/divide dividend=4 divisor=2
  panpan call demo/order --key order-7 '{\"item\": \"tea\"}'
  echo '{\"text\": \"hello\"}' | panpan call demo/echo -
  panpan call --local demo/fail code=ERR_HTTP_429_RATE_LIMITED --dialect problem")]
pub(in crate::cli) struct Args {
    /// The operation, such as demo/echo
    pub(super) operation: String,
    /// The input: one JSON document, @FILE, - for stdin, or members as KEY=VALUE. A value that is valid JSON is used
    /// as JSON ('"7"' is a string), any other value as a string; a.b=1 sets a nested member
    #[arg(allow_negative_numbers = true)]
    pub(super) input: Vec<String>,
    /// The idempotency key: calls with the same key run the operation once
    #[arg(long, value_parser = IdempotencyKey::new)]
    pub(super) key: Option<IdempotencyKey>,
    /// The seed for the jitter of retry delays, to reproduce them
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(super) seed: Option<i64>,
    /// The deadline of the call including all retries: 500ms, 5s or 2m
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    pub(super) timeout: Option<u64>,
    /// Print the outcome as JSON in this dialect
    #[arg(long, value_parser = dialects())]
    pub(super) dialect: Option<Dialect>,
    #[command(flatten)]
    pub(super) target: TargetArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// The units of durations, in milliseconds. `ms` precedes `s`, which it ends with.
const UNITS: [(&str, u64); 3] = [("ms", 1), ("s", 1000), ("m", 60_000)];

fn milliseconds(text: &str) -> Result<u64, String> {
    let parsed = UNITS.iter().find_map(|(unit, length_ms)| {
        let number = text.strip_suffix(unit)?.trim_end();
        number.parse::<u64>().ok()?.checked_mul(*length_ms)
    });
    parsed
        .filter(|milliseconds| *milliseconds > 0)
        .ok_or_else(|| "expected a whole number with a unit, such as 500ms, 5s or 2m".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_whole_number_with_a_unit() {
        for (text, expected) in [
            ("500ms", Some(500)),
            ("5s", Some(5000)),
            ("2m", Some(120_000)),
            ("5 s", Some(5000)),
            ("5", None),
            ("0s", None),
            ("-1s", None),
            ("1.5s", None),
            ("s", None),
            ("ms", None),
            ("", None),
            ("1h", None),
            ("18446744073709551615ms", Some(u64::MAX)),
            ("18446744073709551615s", None),
        ] {
            assert_eq!(milliseconds(text).ok(), expected, "{text:?}");
        }
    }
}
