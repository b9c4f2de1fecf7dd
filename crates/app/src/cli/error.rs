//! How the program says that it could not do what was asked: a sentence, why, and a hint.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use panpan_runtime::Problems;

use crate::place;
use crate::sources::LoadError;

/// The exit code when the answer is no.
pub(super) const ANSWER_IS_NO: u8 = 1;
/// The exit code for what could not be done.
pub(super) const COULD_NOT: u8 = 2;

/// A sentence with advice, to be wrapped around an error as its context.
#[derive(Debug)]
pub(crate) struct Hinted {
    message: String,
    hint: String,
}

impl Hinted {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
        }
    }
}

impl fmt::Display for Hinted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Hinted {}

/// Why there is nothing to serve, with advice that fits it: about a source, or about the store.
pub(super) fn hinted(message: &str, error: anyhow::Error) -> anyhow::Error {
    let hint = match error.downcast_ref::<LoadError>() {
        Some(error) => error.hint(),
        None if error.is::<Problems>() => {
            "mend what is listed; operations of the same name need other namespaces"
        }
        None => place::HINT,
    };
    error.context(Hinted::new(message, hint))
}

/// Tells about arguments that make no sense, or shows the help that was asked for.
pub(super) fn usage(usage: &clap::Error) -> ExitCode {
    match usage.print() {
        Ok(()) => ExitCode::from(u8::try_from(usage.exit_code()).unwrap_or(COULD_NOT)),
        Err(error) => report(&error.into(), COULD_NOT),
    }
}

/// Tells what went wrong. A reader that has seen enough is nothing wrong.
pub(super) fn report(error: &anyhow::Error, exit_code: u8) -> ExitCode {
    if is_broken_pipe(error) {
        return ExitCode::SUCCESS;
    }
    // When stderr is gone too, the exit code has to do.
    let _ = io::stderr().write_all(told(error).as_bytes());
    ExitCode::from(exit_code)
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == ErrorKind::BrokenPipe)
}

fn told(error: &anyhow::Error) -> String {
    let sentences: Vec<String> = error.chain().map(ToString::to_string).collect();
    let told = format!("panpan: {}\n", sentences.join(": "));
    match error.downcast_ref::<Hinted>() {
        Some(hinted) => format!("{told}\nhint: {}\n", hinted.hint),
        None => told,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_stands_alone_after_a_blank_line() {
        let hinted = Hinted::new("cannot read panpan.toml", "check that the file exists");
        let error = anyhow::Error::from(io::Error::other("no such file")).context(hinted);
        assert_eq!(
            told(&error),
            "panpan: cannot read panpan.toml: no such file\n\nhint: check that the file exists\n"
        );
    }

    #[test]
    fn a_broken_pipe_is_seen_however_deep_it_lies() {
        let broken = anyhow::Error::from(io::Error::from(ErrorKind::BrokenPipe)).context("writing");
        assert!(is_broken_pipe(&broken));
        assert!(!is_broken_pipe(&anyhow::anyhow!("anything else")));
    }
}
