//! How the program reports an error: what failed, the causes, and a hint.

use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use panpan_runtime::RegistryProblems;

use crate::data_folder;
use crate::files::read_up_to;
use crate::sources::LoadError;
use crate::store::CannotOpen;

/// The exit code of a negative answer.
pub(super) const NEGATIVE: u8 = 1;
/// The exit code of an error.
pub(super) const ERROR: u8 = 2;

/// A message with a hint, used as the context of an error.
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

/// Adds the hint that fits an error of the backend: about a source, or about the store.
pub(super) fn with_hint(message: &str, error: anyhow::Error) -> anyhow::Error {
    let hint = match error.downcast_ref::<LoadError>() {
        Some(error) => error.hint(),
        None if error.is::<RegistryProblems>() => {
            "fix the listed problems; operations with the same name need different namespaces"
        }
        None => match error.downcast_ref::<CannotOpen>() {
            Some(CannotOpen::Postgres(_)) => {
                "the address of the database is that in --store, PANPAN_STORE or `store` in panpan.toml"
            }
            Some(CannotOpen::Sqlite(_)) | None => data_folder::HINT,
        },
    };
    error.context(Hinted::new(message, hint))
}

/// A hint with the nearest names, if there are any.
pub(super) fn did_you_mean(near: &[&str], hint: &str) -> String {
    match near {
        [] => hint.to_owned(),
        near => format!("did you mean {}? {hint}", near.join(", ")),
    }
}

/// The first items, and how many more there are.
pub(super) fn first_of<T: fmt::Display>(
    items: impl IntoIterator<Item = T>,
    limit: usize,
) -> Vec<String> {
    let mut items: Vec<String> = items.into_iter().map(|it| it.to_string()).collect();
    let more = items.len().saturating_sub(limit);
    items.truncate(limit);
    items.extend((more > 0).then(|| format!("and {more} more")));
    items
}

/// Writes the file that a command creates.
pub(super) fn write_file(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| {
        let hint = "choose a file in an existing folder that you may write to";
        Hinted::new(format!("cannot write {}", path.display()), hint)
    })
}

/// Reads a file up to one byte beyond the limit; the hint is about a file that cannot be read.
pub(super) fn read_file(path: &Path, limit: usize, hint: &str) -> anyhow::Result<Vec<u8>> {
    let bytes = File::open(path).and_then(|file| read_up_to(file, limit));
    bytes.with_context(|| Hinted::new(format!("cannot read {}", path.display()), hint))
}

/// Prints what is wrong with the arguments, or the requested help.
pub(super) fn print_usage(usage: &clap::Error) -> ExitCode {
    match usage.print() {
        Ok(()) => ExitCode::from(u8::try_from(usage.exit_code()).unwrap_or(ERROR)),
        Err(error) => report(&error.into(), ERROR),
    }
}

/// Prints an error. A reader that closed the pipe is not an error.
pub(super) fn report(error: &anyhow::Error, exit_code: u8) -> ExitCode {
    if is_broken_pipe(error) {
        return ExitCode::SUCCESS;
    }
    // If stderr is closed too, only the exit code is left.
    let _ = io::stderr().write_all(text(error).as_bytes());
    ExitCode::from(exit_code)
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == ErrorKind::BrokenPipe)
}

fn text(error: &anyhow::Error) -> String {
    let messages: Vec<String> = error.chain().map(ToString::to_string).collect();
    let text = format!("panpan: {}\n", messages.join(": "));
    match error.downcast_ref::<Hinted>() {
        Some(hinted) => format!("{text}\nhint: {}\n", hinted.hint),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_follows_a_blank_line() {
        let hinted = Hinted::new("cannot read panpan.toml", "check that the file exists");
        let error = anyhow::Error::from(io::Error::other("no such file")).context(hinted);
        assert_eq!(
            text(&error),
            "panpan: cannot read panpan.toml: no such file\n\nhint: check that the file exists\n"
        );
    }

    #[test]
    fn a_broken_pipe_is_found_at_any_depth() {
        let broken = anyhow::Error::from(io::Error::from(ErrorKind::BrokenPipe)).context("writing");
        assert!(is_broken_pipe(&broken));
        assert!(!is_broken_pipe(&anyhow::anyhow!("anything else")));
    }
}
