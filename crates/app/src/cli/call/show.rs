//! Where an outcome goes: data to stdout, talk to stderr, and the exit code.

use std::env;
use std::io::{self, ErrorKind, IsTerminal, Write};

use clap::ColorChoice;
use panpan_failure::dialect::{Dialect, Envelope};
use panpan_failure::{Effect, Redacted, codes};
use serde::Serialize;
use serde_json::Value;

use super::super::error::{ANSWER_IS_NO, COULD_NOT};
use super::options::Args;
use super::page::page;
use super::{End, INTERRUPTED};
use crate::cli::terminal::{Paint, visible, visible_json};

/// How outcomes are shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Screen<'a> {
    /// Whether a person looks at stdout.
    pub(super) is_terminal: bool,
    /// Whether a failure is JSON, although a person looks.
    pub(super) json: bool,
    /// The dialect outcomes are written in.
    pub(super) dialect: Option<Dialect>,
    /// The key of the call.
    pub(super) key: Option<&'a str>,
    /// Whether stderr is coloured.
    pub(super) paint: Paint,
}

impl<'a> Screen<'a> {
    /// The screen these arguments and this process have.
    pub(super) fn of(args: &'a Args) -> Self {
        Self {
            is_terminal: io::stdout().is_terminal(),
            json: args.json,
            dialect: args.dialect,
            key: args.key.as_ref().map(|key| key.as_str()),
            paint: paint(args.color),
        }
    }

    /// Shows how a call ended; gives the exit code.
    pub(super) fn show(
        self,
        end: &End,
        out: &mut impl Write,
        talk: &mut impl Write,
    ) -> io::Result<u8> {
        match end {
            End::Output {
                value,
                call,
                replayed,
            } => {
                let id = call.map(|id| Value::from(id.to_string()));
                self.output(value, id.as_ref(), out)?;
                self.tell_replay(*replayed, talk)?;
                Ok(0)
            }
            End::Streamed => Ok(0),
            End::Failed { failure, replayed } => {
                self.failure(failure, None, out, talk)?;
                self.tell_replay(*replayed, talk)?;
                Ok(ANSWER_IS_NO)
            }
            End::Unanswered(failure) => {
                self.failure(failure, nobody_there(failure), out, talk)?;
                Ok(COULD_NOT)
            }
            End::Stopped(effect) => {
                writeln!(talk, "panpan: {}", self.stopped(*effect))?;
                Ok(INTERRUPTED)
            }
        }
    }

    /// Shows an item of a subscription.
    pub(super) fn item(self, item: &Value, out: &mut impl Write) -> io::Result<()> {
        self.output(item, None, out)
    }

    fn output(self, value: &Value, id: Option<&Value>, out: &mut impl Write) -> io::Result<()> {
        let envelope = Envelope {
            request_id: id,
            ..Envelope::default()
        };
        match self.dialect {
            Some(dialect) => self.document(&dialect.success(value, envelope), out),
            None => self.document(value, out),
        }
    }

    /// Shows a failure; to people, the sentence instead of its page if there is one.
    fn failure(
        self,
        failure: &Redacted,
        instead: Option<String>,
        out: &mut impl Write,
        talk: &mut impl Write,
    ) -> io::Result<()> {
        let is_for_people = self.is_terminal && !self.json && self.dialect.is_none();
        if !is_for_people {
            let dialect = self.dialect.unwrap_or(Dialect::Call);
            unless_gone(self.document(&dialect.failure(failure, Envelope::default()), out))?;
        }
        if let Some(sentence) = instead {
            return writeln!(talk, "panpan: {}", visible(&sentence));
        }
        if is_for_people {
            return talk.write_all(page(failure, self.key, self.paint).as_bytes());
        }
        let (code, message) = (failure.code(), visible(failure.message()));
        writeln!(talk, "panpan: {code}: {message}")
    }

    /// On several lines for people, on one for programs.
    fn document(self, document: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
        if self.is_terminal {
            let text = serde_json::to_string_pretty(document)?;
            writeln!(out, "{}", visible_json(&text))?;
        } else {
            serde_json::to_writer(&mut *out, document)?;
            writeln!(out)?;
        }
        out.flush()
    }

    fn tell_replay(self, replayed: bool, talk: &mut impl Write) -> io::Result<()> {
        if !replayed {
            return Ok(());
        }
        let key = self.key.unwrap_or_default();
        writeln!(
            talk,
            "panpan: nothing ran: this is the outcome recorded under the key {key}"
        )
    }

    fn stopped(self, effect: Option<Effect>) -> String {
        match (effect, self.key) {
            (Some(Effect::None), _) => "the call was stopped; nothing was done".to_owned(),
            (_, Some(key)) => {
                format!(
                    "the call was stopped; call again with --key {key} to learn what became of it"
                )
            }
            (_, None) => "the call was stopped; it may have taken effect".to_owned(),
        }
    }
}

/// A reader that has seen enough does not change how the call ended.
fn unless_gone(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// What to do where no server listens; the code alone would not tell a person how to start one.
fn nobody_there(failure: &Redacted) -> Option<String> {
    let is_refused = failure.code().as_str() == codes::ERR_CONNECTION_REFUSED.code;
    is_refused.then(|| {
        let message = failure.message();
        format!(
            "{message}: start one with `panpan serve`, name another with --server, or add --local to call one of \
             panpan's own operations in this process"
        )
    })
}

fn paint(choice: ColorChoice) -> Paint {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = || env::var_os("TERM").is_some_and(|term| term == "dumb");
    let is_wanted = || io::stderr().is_terminal() && !is_set("NO_COLOR") && !is_dumb();
    match choice {
        ColorChoice::Always => Paint::Colour,
        ColorChoice::Auto if is_wanted() => Paint::Colour,
        ColorChoice::Auto | ColorChoice::Never => Paint::Plain,
    }
}

#[cfg(test)]
mod tests;
