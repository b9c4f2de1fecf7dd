//! `panpan explain`: what a code means, what to do about it, how each dialect shows it.

use std::io::Write;

use panpan_failure::catalogue::{self, Known, nearest};
use panpan_failure::dialect::{Dialect, Envelope};
use panpan_failure::explained::{explained, facts};
use panpan_failure::{Category, Code, Effect, Failure, Kind, Remedy};
use serde_json::Value;

use super::Done;
use super::error::Hinted;

/// What to explain.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The code to explain, such as ERR_HTTP_429_RATE_LIMITED, or its number; without it all are listed
    #[arg(allow_negative_numbers = true)]
    code: Option<String>,
    /// List only codes of this category: its word or its letter
    #[arg(long, value_parser = category, conflicts_with = "code")]
    category: Option<Category>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn category(text: &str) -> Result<Category, String> {
    let word = text.to_ascii_uppercase();
    let by_letter = || {
        Some(word.chars().next()?)
            .filter(|_| word.len() == 1)
            .and_then(Category::from_letter)
    };
    Category::from_word(&word)
        .or_else(by_letter)
        .ok_or_else(|| {
            let words: Vec<_> = Category::ALL
                .iter()
                .map(|category| category.word())
                .collect();
            format!("one of {}", words.join(", "))
        })
}

/// Prints the page of one code, or the list of all.
pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<Done> {
    let Some(asked) = &args.code else {
        list(args, out)?;
        return Ok(Done::Yes);
    };
    match find(asked) {
        Some(known) if args.json => writeln!(out, "{:#}", explained(&known))?,
        Some(known) => page(&known, out)?,
        None => return Ok(Done::No(unknown(asked))),
    }
    Ok(Done::Yes)
}

fn list(args: &Args, out: &mut impl Write) -> std::io::Result<()> {
    let wanted = |row: &&catalogue::Entry| {
        args.category
            .is_none_or(|category| row.category == category)
    };
    let rows: Vec<Known> = catalogue::entries()
        .filter(wanted)
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
            "\nERR_HTTP_<status> and HTTP_<status>, 400 to 599, take the facts of their status."
        )?;
    }
    Ok(())
}

/// The code as typed, in upper case, as the flat dialect names it, or by its number.
fn find(asked: &str) -> Option<Known> {
    if let Ok(number) = asked.parse::<i64>() {
        return catalogue::for_jsonrpc(number);
    }
    let normalised = Code::normalised(asked)?;
    catalogue::lookup(normalised.as_str()).or_else(|| catalogue::for_flat_name(asked))
}

/// Says that there is no such code, and which ones come near.
fn unknown(asked: &str) -> Hinted {
    let near = nearest_codes(asked);
    let hint = match near.as_slice() {
        [] => "`panpan explain` lists every code".to_owned(),
        near => format!(
            "did you mean {}? `panpan explain` lists every code",
            near.join(", ")
        ),
    };
    Hinted::new(format!("there is no code {asked:?}"), hint)
}

/// The codes that come nearest: those of a status if a number was asked for, else by spelling, else
/// those that hold the word.
fn nearest_codes(asked: &str) -> Vec<&'static str> {
    let codes = || catalogue::entries().map(|row| row.code);
    if let Ok(status) = asked.parse::<u16>() {
        let answered = catalogue::entries().filter(|row| row.http == status);
        return answered.map(|row| row.code).collect();
    }
    let near = nearest(asked, codes());
    if !near.is_empty() {
        return near;
    }
    let word = asked.to_ascii_uppercase();
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
    writeln!(out, "\nHow each dialect shows it\n")?;
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
        ("repeating", advice(failure)),
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
        (false, _) => "never succeeds: the identical call fails again".to_owned(),
        (true, Effect::None) => format!("safe, {}", times(failure)),
        (true, Effect::Unknown | Effect::Applied) => format!(
            "if the call reads, or is idempotent (effect {effect}), {}",
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
