//! `panpan explain`: the meaning of a code, what to do about it, and how each dialect writes it.

use std::io::Write;

use panpan_failure::catalogue::{self, Known, nearest};
use panpan_failure::dialect::{Dialect, Envelope};
use panpan_failure::explained::{explained, facts};
use panpan_failure::{Category, Code, Effect, Failure, Kind, Remedy};
use serde_json::Value;

use super::Status;
use super::error::{Hinted, did_you_mean};

/// The options of `panpan explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  panpan explain ERR_HTTP_429_RATE_LIMITED
  panpan explain -32601
  panpan explain --category rate_limit --json")]
pub(super) struct Args {
    /// The code, such as ERR_TIMEOUT, or its number [default: list all codes]
    #[arg(allow_negative_numbers = true)]
    code: Option<String>,
    /// List only the codes of this category, given by name or letter
    #[arg(long, value_parser = category, conflicts_with = "code")]
    category: Option<Category>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn category(text: &str) -> Result<Category, String> {
    let word = text.to_ascii_uppercase();
    let is_meant = |it: &&Category| it.word() == word || it.letter().to_string() == word;
    let found = Category::ALL.iter().find(is_meant);
    found.copied().ok_or_else(|| {
        let words: Vec<&str> = Category::ALL.iter().map(|it| it.word()).collect();
        format!("expected one of {}", words.join(", "))
    })
}

/// Prints the page of one code, or the list of all codes.
pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<Status> {
    let Some(code) = &args.code else {
        list(args, out)?;
        return Ok(Status::Success);
    };
    match find(code) {
        Some(known) if args.json => writeln!(out, "{:#}", explained(&known))?,
        Some(known) => page(&known, out)?,
        None => return Ok(Status::Negative(unknown(code))),
    }
    Ok(Status::Success)
}

fn list(args: &Args, out: &mut impl Write) -> std::io::Result<()> {
    let is_selected = |row: &&catalogue::Entry| {
        args.category
            .is_none_or(|category| row.category == category)
    };
    let rows: Vec<Known> = catalogue::entries()
        .filter(is_selected)
        .map(Known::Row)
        .collect();
    if args.json {
        return writeln!(out, "{:#}", Value::from_iter(rows.iter().map(facts)));
    }
    writeln!(
        out,
        "{:<30} {:<13} {:<5} {:>4}  WHAT HAPPENED",
        "CODE", "CATEGORY", "RETRY", "HTTP"
    )?;
    for known in &rows {
        let row = known.row();
        let retry = if row.retryable { "yes" } else { "no" };
        writeln!(
            out,
            "{:<30} {:<13} {retry:<5} {:>4}  {}",
            row.code, row.category, row.http, row.title
        )?;
    }
    if args.category.is_none() {
        writeln!(
            out,
            "\nERR_HTTP_<status> and HTTP_<status>, 400 to 599, have the category and advice of their status."
        )?;
    }
    Ok(())
}

/// Finds a code by its name in any case, its name in the flat dialect, or its number.
fn find(code: &str) -> Option<Known> {
    if let Ok(number) = code.parse::<i64>() {
        return catalogue::for_jsonrpc(number);
    }
    let normalised = Code::normalised(code)?;
    catalogue::lookup(normalised.as_str()).or_else(|| catalogue::for_flat_name(code))
}

/// An unknown code, with the nearest codes as a hint.
fn unknown(code: &str) -> Hinted {
    let hint = did_you_mean(&nearest_codes(code), "`panpan explain` lists every code");
    Hinted::new(format!("unknown code {code:?}"), hint)
}

/// The nearest codes: those of an HTTP status if the code is a number, otherwise by spelling, otherwise those that
/// contain the word.
fn nearest_codes(code: &str) -> Vec<&'static str> {
    let codes = || catalogue::entries().map(|row| row.code);
    if let Ok(status) = code.parse::<u16>() {
        let with_status = catalogue::entries().filter(|row| row.http == status);
        return with_status.map(|row| row.code).collect();
    }
    let near = nearest(code, codes());
    if !near.is_empty() {
        return near;
    }
    let word = code.to_ascii_uppercase();
    codes()
        .filter(|code| word.len() > 2 && code.contains(&word))
        .collect()
}

fn page(known: &Known, out: &mut impl Write) -> anyhow::Result<()> {
    let failure = Failure::new(Kind::from(*known)).redacted();
    writeln!(out, "{}: {}\n", failure.code(), known.title())?;
    for (label, text) in summary(known, &failure) {
        writeln!(out, "  {label:<10} {text}")?;
    }
    writeln!(out)?;
    for line in known.page().lines() {
        writeln!(out, "{}", line.trim_start_matches("## "))?;
    }
    writeln!(out, "\nHow each dialect writes it\n")?;
    for dialect in Dialect::ALL {
        let shown = serde_json::to_string(&dialect.failure(&failure, Envelope::default()))?;
        writeln!(out, "{dialect:<8} {shown}")?;
    }
    Ok(())
}

fn summary(known: &Known, failure: &Failure) -> [(&'static str, String); 5] {
    let kind = failure.kind();
    let remedies: Vec<_> = kind.remedies().iter().map(Remedy::word).collect();
    let (number, domain, grpc) = (known.number(), known.domain(), kind.grpc());
    let (http, jsonrpc) = (kind.http_status(), kind.jsonrpc_code());
    [
        (
            "category",
            format!("{} ({})", kind.category(), kind.category().letter()),
        ),
        ("retry", advice(failure)),
        ("remedy", remedies.join(", ")),
        (
            "numbers",
            format!(
                "{number} ({domain}), HTTP {http}, JSON-RPC {jsonrpc}, gRPC {} {grpc}",
                grpc.number()
            ),
        ),
        (
            "flat",
            format!("{} ({})", kind.flat_name(), kind.flat_category()),
        ),
    ]
}

fn advice(failure: &Failure) -> String {
    let effect = failure.effect();
    match (failure.retryable(), effect) {
        (false, _) => "no: the identical call fails again".to_owned(),
        (true, Effect::None) => format!("yes, {}", times(failure)),
        (true, Effect::Unknown | Effect::Applied) => format!(
            "if the call only reads or is idempotent (effect {effect}), {}",
            times(failure)
        ),
    }
}

fn times(failure: &Failure) -> String {
    let recovery = failure.recovery();
    let delay = recovery
        .retry_after_ms
        .map_or_else(String::new, |delay| format!("after {delay} ms"));
    let count = recovery
        .max_retries
        .map_or_else(String::new, |count| format!(", at most {count} times"));
    format!("{delay}{count}")
}
