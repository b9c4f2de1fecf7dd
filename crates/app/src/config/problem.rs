//! Problems of a configuration: the location, the setting, and the reason.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::data_folder::NoDataFolder;

/// All problems of a configuration, one per line.
#[derive(Debug, thiserror::Error)]
pub(crate) struct Problems(Vec<Problem>);

/// One problem.
#[derive(Debug)]
pub(super) struct Problem {
    location: Location,
    setting: String,
    reason: Reason,
}

/// Where a value is set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Location {
    /// In the file; line and column start at 1.
    File {
        path: PathBuf,
        line: usize,
        column: usize,
    },
    /// The file itself.
    WholeFile(PathBuf),
    /// In an environment variable.
    Variable(String),
    /// On the command line.
    Flag(&'static str),
    /// It is not set.
    Unset,
}

/// Why a value is invalid.
#[derive(Debug, thiserror::Error)]
pub(super) enum Reason {
    #[error("invalid TOML: {0}")]
    Syntax(String),
    #[error("unknown setting{}", suggestion(near.as_deref()))]
    Unknown { near: Option<String> },
    #[error("expected {expected}, found {found}")]
    Value { expected: String, found: String },
    #[error("{0}")]
    Table(String),
    #[error("requires {other} as well")]
    Requires { other: &'static str },
    #[error("cannot read the file: {0}")]
    Unreadable(#[source] io::Error),
    #[error("{0}; {hint}", hint = crate::data_folder::HINT)]
    NoStore(#[source] NoDataFolder),
}

fn suggestion(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!("; did you mean {near}?"))
}

impl Problem {
    pub(super) fn of(setting: impl Into<String>, location: Location, reason: Reason) -> Self {
        let setting = setting.into();
        Self {
            location,
            setting,
            reason,
        }
    }

    /// Whether the problem is about this setting.
    pub(super) fn is_about(&self, setting: &str) -> bool {
        self.setting == setting
    }
}

impl Location {
    /// The folder that paths in this location are relative to.
    pub(super) fn folder(&self) -> &Path {
        match self {
            Self::File { path, .. } => path.parent().unwrap_or(Path::new("")),
            _ => Path::new(""),
        }
    }
}

impl Problems {
    /// Fails with the problems, if there are any, sorted by location.
    pub(super) fn none_of(mut problems: Vec<Problem>) -> Result<(), Self> {
        problems.sort_by(|one, other| one.location.cmp(&other.location));
        if problems.is_empty() {
            return Ok(());
        }
        Err(Self(problems))
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("invalid configuration")?;
        self.0
            .iter()
            .try_for_each(|problem| write!(formatter, "\n  {problem}"))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            location,
            setting,
            reason,
        } = self;
        match location {
            Location::File { path, line, column } => {
                write!(formatter, "{}:{line}:{column}: ", path.display())?;
                match reason {
                    Reason::Syntax(_) => write!(formatter, "{reason}"),
                    _ => write!(formatter, "{setting}: {reason}"),
                }
            }
            Location::WholeFile(path) => write!(formatter, "{}: {reason}", path.display()),
            Location::Variable(name) => write!(formatter, "{name}: {reason}"),
            Location::Flag(name) => write!(formatter, "--{name}: {reason}"),
            Location::Unset => write!(formatter, "{setting}: {reason}"),
        }
    }
}
