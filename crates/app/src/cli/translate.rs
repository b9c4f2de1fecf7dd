//! `panpan translate`: one outcome from standard input, in another dialect on standard output.

use std::io::{IsTerminal, Read, Write};

use anyhow::Context;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use panpan_contract::dialect::{Dialect, Envelope, Reply, detect};
use panpan_contract::read::{self, DOCUMENT_BYTES_LIMIT, ReadError};
use serde::Serialize;

use super::Done;
use super::error::Hinted;

/// From which dialect to which.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The dialect to write
    #[arg(long, value_parser = dialects())]
    to: Dialect,
    /// The dialect the input is written in; told by its shape when left out
    #[arg(long, value_parser = dialects())]
    from: Option<Dialect>,
}

/// The names of the dialects, for help, completion and refusals alike.
fn dialects() -> impl TypedValueParser<Value = Dialect> {
    PossibleValuesParser::new(Dialect::ALL.map(Dialect::name))
        .map(|name| Dialect::from_name(&name).expect("only names of dialects are possible values"))
}

/// Reads one document and writes it in the other dialect.
pub(super) fn run(args: &Args, input: impl Read, out: &mut impl Write) -> anyhow::Result<Done> {
    let reply = read_reply(args, input)?;
    let envelope = Envelope {
        request_id: reply.request_id.as_ref(),
        ..Envelope::default()
    };
    match reply.outcome {
        Ok(output) => write(&args.to.render_success(&output, envelope), out)?,
        Err(failure) => write(&args.to.failure(&failure.redacted(), envelope), out)?,
    }
    Ok(Done::Yes)
}

/// On several lines for people, on one for programs.
fn write(document: &impl Serialize, out: &mut impl Write) -> anyhow::Result<()> {
    if std::io::stdout().is_terminal() {
        serde_json::to_writer_pretty(&mut *out, document)?;
    } else {
        serde_json::to_writer(&mut *out, document)?;
    }
    writeln!(out)?;
    Ok(())
}

fn read_reply(args: &Args, input: impl Read) -> anyhow::Result<Reply> {
    let mut bytes = Vec::new();
    // One byte more than is read at most, so that a larger document is noticed and refused.
    let limit = u64::try_from(DOCUMENT_BYTES_LIMIT)?.saturating_add(1);
    input
        .take(limit)
        .read_to_end(&mut bytes)
        .context("cannot read standard input")?;
    if bytes.trim_ascii().is_empty() {
        let hint = "pipe one JSON document into it";
        return Err(Hinted::new("there is nothing on standard input", hint).into());
    }
    let document = read::document(&bytes).map_err(refused)?;
    let dialect = args
        .from
        .map_or_else(|| detect(&document), Ok)
        .map_err(refused)?;
    dialect.read(document).map_err(|error| {
        let hint = format!("the input was read as {dialect}; say --from if it is another dialect");
        Hinted::new(error.to_string(), hint).into()
    })
}

fn refused(error: ReadError) -> Hinted {
    let hint = match error {
        ReadError::Unrecognised { .. } => "say --from with the dialect the input is written in",
        _ => "give one complete JSON document",
    };
    Hinted::new(error.to_string(), hint)
}
