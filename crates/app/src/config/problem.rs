//! What is wrong with a configuration: where, which key, what was expected and what was found.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::place::NoPlace;

/// Everything that is wrong, one line each.
#[derive(Debug, thiserror::Error)]
pub(crate) struct Problems(Vec<Problem>);

/// One thing that is wrong.
#[derive(Debug)]
pub(super) struct Problem {
    place: Place,
    key: String,
    wrong: Wrong,
}

/// Where something was said.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// In the file, counted from 1.
    File {
        path: PathBuf,
        line: usize,
        column: usize,
    },
    /// The file itself.
    WholeFile(PathBuf),
    /// In a variable of the environment.
    Variable(String),
    /// On the command line.
    Flag(&'static str),
    /// Nobody said it.
    Nowhere,
}

/// What is wrong.
#[derive(Debug, thiserror::Error)]
pub(super) enum Wrong {
    #[error("this is not TOML: {0}")]
    Syntax(String),
    #[error("there is no such setting{}", meant(near.as_deref()))]
    Unknown { near: Option<String> },
    #[error("expected {expected}, found {found}")]
    Value { expected: String, found: String },
    #[error("{0}")]
    Table(String),
    #[error("this means nothing without {other}")]
    Alone { other: &'static str },
    #[error("the file cannot be read: {0}")]
    Unreadable(#[source] io::Error),
    #[error("{0}; {hint}", hint = crate::place::HINT)]
    NoStore(#[source] NoPlace),
}

fn meant(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!("; did you mean {near}?"))
}

impl Problem {
    pub(super) fn of(key: impl Into<String>, place: Place, wrong: Wrong) -> Self {
        let key = key.into();
        Self { place, key, wrong }
    }

    /// Whether a value of this key will not do.
    pub(super) fn is_about(&self, key: &str) -> bool {
        self.key == key
    }
}

impl Place {
    /// The folder that paths given here are seen from.
    pub(super) fn folder(&self) -> &Path {
        match self {
            Self::File { path, .. } => path.parent().unwrap_or(Path::new("")),
            _ => Path::new(""),
        }
    }
}

impl Problems {
    /// Fails with the problems, if there are any, in the order in which they were written.
    pub(super) fn none_of(mut problems: Vec<Problem>) -> Result<(), Self> {
        problems.sort_by(|one, other| one.place.cmp(&other.place));
        if problems.is_empty() {
            return Ok(());
        }
        Err(Self(problems))
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the configuration cannot be used")?;
        self.0
            .iter()
            .try_for_each(|problem| write!(formatter, "\n  {problem}"))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, key, wrong } = self;
        match place {
            Place::File { path, line, column } => {
                write!(formatter, "{}:{line}:{column}: ", path.display())?;
                match wrong {
                    Wrong::Syntax(_) => write!(formatter, "{wrong}"),
                    _ => write!(formatter, "{key}: {wrong}"),
                }
            }
            Place::WholeFile(path) => write!(formatter, "{}: {wrong}", path.display()),
            Place::Variable(name) => write!(formatter, "{name}: {wrong}"),
            Place::Flag(name) => write!(formatter, "--{name}: {wrong}"),
            Place::Nowhere => write!(formatter, "{key}: {wrong}"),
        }
    }
}
