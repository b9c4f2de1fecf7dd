//! `panpan translate`: reads one outcome from stdin and writes it to stdout in another dialect.

use std::io::{self, IsTerminal, Read, Write};

use anyhow::Context;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use jiff::Timestamp;
use panpan_failure::catalogue::Category;
use panpan_failure::dialect::{Dialect, Envelope, RESIDUAL, Reply, detect, read_foreign};
use panpan_failure::read::{self, DOCUMENT_BYTES_LIMIT, ReadError};
use panpan_failure::{Failure, Inferred, Kind};
use panpan_upstream::{ErrorResponse, classify};
use serde_json::Value;
use uuid::Uuid;

use super::Status;
use super::error::Hinted;
use super::terminal::write_document;
use crate::files::read_up_to;

/// The options of `panpan translate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  panpan translate --to problem < failure.json
  curl -s https://api.example.com/orders | panpan translate --to call --status 503")]
pub(super) struct Args {
    /// The dialect to write
    #[arg(long, value_name = "DIALECT", value_parser = dialects())]
    to: Dialect,
    /// The dialect of the input [default: detected]
    #[arg(long, value_name = "DIALECT", value_parser = dialects())]
    from: Option<Dialect>,
    /// The HTTP status of the input, for errors in no known dialect
    #[arg(long, value_parser = clap::value_parser!(u16).range(400..=599))]
    status: Option<u16>,
    /// Treat input that is not a failure as the output of a success
    #[arg(long)]
    success: bool,
}

/// Parses the name of a dialect.
pub(super) fn dialects() -> impl TypedValueParser<Value = Dialect> {
    PossibleValuesParser::new(Dialect::ALL.map(Dialect::name))
        .map(|name| Dialect::from_name(&name).expect("only names of dialects are possible values"))
}

/// Reads one document and writes it in the other dialect.
pub(super) fn run(args: &Args, input: impl Read, out: &mut impl Write) -> anyhow::Result<Status> {
    let reply = read_reply(args, input)?;
    let envelope = Envelope {
        request_id: reply.request_id.as_ref(),
        ..Envelope::default()
    };
    let document = match reply.outcome {
        Ok(output) => args.to.render_success(&output, envelope),
        Err(failure) => args.to.render_failure(&failure.redacted(), envelope),
    };
    write_document(&document, io::stdout().is_terminal(), out)?;
    Ok(Status::Success)
}

fn read_reply(args: &Args, input: impl Read) -> anyhow::Result<Reply> {
    let bytes = read_up_to(input, DOCUMENT_BYTES_LIMIT).context("cannot read stdin")?;
    if bytes.trim_ascii().is_empty() {
        let hint = "pipe one JSON document into the command";
        return Err(Hinted::new("stdin is empty", hint).into());
    }
    let document = match read::document(&bytes) {
        Ok(document) => document,
        // With a status, anything is the body of a failure: an HTML page, plain text.
        Err(_) if args.status.is_some() => String::from_utf8_lossy(&bytes).into_owned().into(),
        Err(error) => return Err(unreadable(error).into()),
    };
    let body = String::from_utf8_lossy(&bytes);
    if let Some(dialect) = args.from {
        return read_dialect(args, dialect, document);
    }
    let (reply, is_foreign) = match detect(&document) {
        Ok(dialect) => {
            let reply = read_dialect(args, dialect, document.clone())?;
            let failure = reply.outcome.as_ref().err();
            let is_foreign = failure.is_some_and(|it| is_foreign(dialect, &document, it));
            (reply, is_foreign)
        }
        Err(error) => (read_unknown(args, document, error)?, true),
    };
    Ok(match is_foreign {
        true => Reply {
            outcome: reply.outcome.map_err(|it| as_received(args, it, &body)),
            ..reply
        },
        false => reply,
    })
}

/// Whether a document only looks like a dialect: its code is not one of ours, and neither are its members.
fn is_foreign(dialect: Dialect, document: &Value, failure: &Failure) -> bool {
    let has = |name: &str| {
        let places = [Some(document), document.get("error")];
        places.iter().flatten().any(|it| it.get(name).is_some())
    };
    let states_its_own_code = Kind::of(failure.code().as_str()).is_none()
        && matches!(dialect, Dialect::Bot | Dialect::Call)
        && !has("retryable");
    let is_guessed = failure.inferred().contains(&Inferred::Code);
    (is_guessed || states_its_own_code)
        && !has(RESIDUAL)
        && !has("recovery")
        && dialect != Dialect::Mcp
}

/// The failure of a third party as the gateway reads the same response, if its status is known or a rate limit leaves
/// no doubt about it.
fn as_received(args: &Args, failure: Failure, body: &str) -> Failure {
    const RATE_LIMIT: u16 = 429;
    let stated = failure.upstream().and_then(|it| it.status);
    let implied = (failure.category() == Category::RateLimit).then_some(RATE_LIMIT);
    let response = args
        .status
        .or(stated)
        .or(implied)
        .map(|status| ErrorResponse {
            status,
            headers: &[],
            body,
            provider: None,
        });
    let now = Timestamp::now();
    let received = response.and_then(|response| classify(&response, now));
    let failure = received.map_or(failure, |it| it.mark_inferred(Inferred::Code));
    match args.to {
        // The dialect requires an id.
        Dialect::Bot => failure.stamped(Uuid::new_v4(), now),
        _ => failure,
    }
}

fn read_dialect(args: &Args, dialect: Dialect, document: Value) -> anyhow::Result<Reply> {
    let reply = dialect.read(document).map_err(|error| {
        let hint = format!("the input was read as {dialect}; set --from if it is another dialect");
        Hinted::new(error.to_string(), hint)
    })?;
    let is_bare = matches!(dialect, Dialect::Bot | Dialect::Problem);
    if is_bare && reply.outcome.is_ok() && !args.success {
        let message = format!("the input is not a failure in the dialect {dialect}");
        let hint = "set --success if it is the output of a successful call";
        return Err(Hinted::new(message, hint).into());
    }
    Ok(reply)
}

/// Classifies an error in no known dialect. Input without any sign of a failure is an error.
fn read_unknown(args: &Args, document: Value, error: ReadError) -> anyhow::Result<Reply> {
    if args.success {
        return Ok(Reply {
            request_id: None,
            outcome: Ok(document),
        });
    }
    let failure = read_foreign(document, args.status).ok_or_else(|| unreadable(error))?;
    Ok(Reply {
        request_id: None,
        outcome: Err(failure),
    })
}

fn unreadable(error: ReadError) -> Hinted {
    let hint = match error {
        ReadError::Unrecognised { .. } => {
            "set --from, or --status with the HTTP status of the response"
        }
        _ => "pipe one complete JSON document into the command",
    };
    Hinted::new(error.to_string(), hint)
}
