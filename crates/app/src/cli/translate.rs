//! `panpan translate`: one outcome from standard input, in another dialect on standard output.

use std::io::{IsTerminal, Read, Write};

use anyhow::Context;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use panpan_failure::dialect::{Dialect, Envelope, Reply, detect, read_foreign};
use panpan_failure::read::{self, DOCUMENT_BYTES_LIMIT, ReadError};
use serde::Serialize;
use serde_json::Value;

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
    /// The HTTP status the input came with, for errors written in no dialect
    #[arg(long, value_parser = clap::value_parser!(u16).range(400..=599))]
    status: Option<u16>,
    /// Take input that does not have the shape of a failure for the bare output of a success
    #[arg(long)]
    success: bool,
}

/// The names of the dialects, for help, completion and refusals alike.
pub(super) fn dialects() -> impl TypedValueParser<Value = Dialect> {
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
    let document = match read::document(&bytes) {
        Ok(document) => document,
        // With a status, whatever came with it is the body of a failure: an HTML page, plain text.
        Err(_) if args.status.is_some() => String::from_utf8_lossy(&bytes).into_owned().into(),
        Err(error) => return Err(refused(error).into()),
    };
    match args.from.map_or_else(|| detect(&document), Ok) {
        Ok(dialect) => read_dialect(args, dialect, document),
        Err(error) => read_unknown(args, document, error),
    }
}

fn read_dialect(args: &Args, dialect: Dialect, document: Value) -> anyhow::Result<Reply> {
    let reply = dialect.read(document).map_err(|error| {
        let hint = format!("the input was read as {dialect}; say --from if it is another dialect");
        Hinted::new(error.to_string(), hint)
    })?;
    let is_bare = matches!(dialect, Dialect::Bot | Dialect::Problem);
    if is_bare && reply.outcome.is_ok() && !args.success {
        let message = format!("the input does not have the shape of a failure in {dialect}");
        let hint = "say --success if it is the output of a call that succeeded";
        return Err(Hinted::new(message, hint).into());
    }
    Ok(reply)
}

/// Errors written in no dialect are guessed at; what says nothing of a failure is refused.
fn read_unknown(args: &Args, document: Value, error: ReadError) -> anyhow::Result<Reply> {
    if args.success {
        return Ok(Reply {
            request_id: None,
            outcome: Ok(document),
        });
    }
    let failure = read_foreign(document, args.status).ok_or_else(|| refused(error))?;
    Ok(Reply {
        request_id: None,
        outcome: Err(failure),
    })
}

fn refused(error: ReadError) -> Hinted {
    let hint = match error {
        ReadError::Unrecognised { .. } => {
            "say --from, or --status with the HTTP status it came with"
        }
        _ => "give one complete JSON document",
    };
    Hinted::new(error.to_string(), hint)
}
