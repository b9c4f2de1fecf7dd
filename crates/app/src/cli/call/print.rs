//! Prints an outcome: data on stdout, messages on stderr, and the exit code.

use std::io::{self, ErrorKind, IsTerminal, Write};

use panpan_failure::dialect::{Dialect, Envelope};
use panpan_failure::{Effect, Redacted, codes};
use serde_json::Value;

use super::End;
use super::options::Args;
use super::report::report;
use crate::builtin;
use crate::cli::INTERRUPTED;
use crate::cli::error::{ERROR, NEGATIVE};
use crate::cli::terminal::{Colour, escape, write_document};

/// How outcomes are printed.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct Printer<'a> {
    /// The operation of the call.
    pub(in crate::cli) operation: &'a str,
    /// Whether stdout is a terminal.
    pub(in crate::cli) is_terminal: bool,
    /// Whether a failure is printed as JSON even on a terminal.
    pub(in crate::cli) json: bool,
    /// The dialect of outcomes.
    pub(in crate::cli) dialect: Option<Dialect>,
    /// The key of the call.
    pub(in crate::cli) key: Option<&'a str>,
    /// Whether stderr is coloured.
    pub(in crate::cli) colour: Colour,
}

impl<'a> Printer<'a> {
    /// The printer for these arguments and this process.
    pub(super) fn of(args: &'a Args) -> Self {
        Self {
            operation: &args.operation,
            is_terminal: io::stdout().is_terminal(),
            json: args.output.json,
            dialect: args.dialect,
            key: args.key.as_ref().map(|key| key.as_str()),
            colour: Colour::choose(args.output.color, io::stderr().is_terminal()),
        }
    }

    /// Prints how a call ended and returns the exit code.
    pub(in crate::cli) fn print(
        self,
        end: &End,
        out: &mut impl Write,
        messages: &mut impl Write,
    ) -> io::Result<u8> {
        match end {
            End::Output {
                value,
                call,
                replayed,
            } => {
                let id = call.map(|id| Value::from(id.to_string()));
                self.output(value, id.as_ref(), out)?;
                self.note_replay(*replayed, messages)?;
                Ok(0)
            }
            End::Streamed => Ok(0),
            End::Failed { failure, replayed } => {
                self.failure(failure, None, out, messages)?;
                self.note_replay(*replayed, messages)?;
                Ok(NEGATIVE)
            }
            End::NoResponse(failure) => {
                self.failure(failure, self.no_server(failure), out, messages)?;
                Ok(ERROR)
            }
            End::Interrupted(effect) => {
                writeln!(messages, "panpan: {}", self.interrupted(*effect))?;
                Ok(INTERRUPTED)
            }
        }
    }

    /// Prints an item of a subscription.
    pub(super) fn item(self, item: &Value, out: &mut impl Write) -> io::Result<()> {
        self.output(item, None, out)
    }

    fn output(self, value: &Value, id: Option<&Value>, out: &mut impl Write) -> io::Result<()> {
        let envelope = Envelope {
            request_id: id,
            ..Envelope::default()
        };
        match self.dialect {
            Some(dialect) => {
                write_document(&dialect.success(value, envelope), self.is_terminal, out)
            }
            None => write_document(value, self.is_terminal, out),
        }
    }

    /// Prints a failure: as JSON, or as a report on a terminal. The text, if there is one, replaces the report.
    fn failure(
        self,
        failure: &Redacted,
        text: Option<String>,
        out: &mut impl Write,
        messages: &mut impl Write,
    ) -> io::Result<()> {
        let as_report = self.is_terminal && !self.json && self.dialect.is_none();
        if !as_report {
            let dialect = self.dialect.unwrap_or(Dialect::Call);
            let document = dialect.failure(failure, Envelope::default());
            ignore_broken_pipe(write_document(&document, self.is_terminal, out))?;
        }
        if let Some(text) = text {
            return writeln!(messages, "panpan: {text}");
        }
        if as_report {
            return messages.write_all(report(failure, self.key, self.colour).as_bytes());
        }
        let (code, message) = (failure.code(), escape(failure.message()));
        writeln!(messages, "panpan: {code}: {message}")
    }

    fn note_replay(self, replayed: bool, messages: &mut impl Write) -> io::Result<()> {
        if !replayed {
            return Ok(());
        }
        let key = self.key.unwrap_or_default();
        writeln!(
            messages,
            "panpan: replayed the outcome recorded under the key {key}; the operation did not run again"
        )
    }

    fn interrupted(self, effect: Option<Effect>) -> String {
        match (effect, self.key) {
            (Some(Effect::None), _) => "the call was interrupted; nothing was changed".to_owned(),
            (_, Some(key)) => {
                format!("the call was interrupted; call again with --key {key} to get its outcome")
            }
            (_, None) => "the call was interrupted; it may have taken effect".to_owned(),
        }
    }

    /// The message if no server listens, with the command that starts one.
    fn no_server(self, failure: &Redacted) -> Option<String> {
        if failure.code().as_str() != codes::ERR_CONNECTION_REFUSED.code {
            return None;
        }
        let (message, operation) = (escape(failure.message()), escape(self.operation));
        let hint = match builtin::is_built_in(self.operation) {
            true => format!(
                "start a server with `panpan serve`, name another with --server, or add --local to call {operation} \
                 in this process"
            ),
            false => format!(
                "start the server that has {operation}, with `panpan serve --openapi FILE@URL` or `panpan serve \
                 --mcp-stdio COMMAND`, or name another with --server"
            ),
        };
        Some(format!("{message}\n\nhint: {hint}"))
    }
}

/// A reader that closed the pipe does not change how the call ended.
fn ignore_broken_pipe(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

#[cfg(test)]
mod tests;
