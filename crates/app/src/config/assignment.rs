//! A value for a setting as the file, a variable or a flag gives it, before it is checked.

use std::collections::BTreeMap;
use std::ffi::OsString;

use panpan_failure::catalogue::nearest;
use panpan_redact::Redactor;

use super::FILE_VARIABLE;
use super::problem::{Location, Problem, Reason};
use super::settings::{Kind, SETTINGS, Setting, VARIABLE_PREFIX};
use crate::data_folder;
use crate::sources::{SECRET_VARIABLE_PREFIX, ServerSource, ServiceSource};

/// The maximum length of a value in a message, in characters.
const SHOWN_CHARACTERS: usize = 60;

/// A value for a setting, and where it is. Has no `Debug`, since the value may contain a password.
pub(super) struct Assignment {
    pub(super) setting: &'static Setting,
    pub(super) location: Location,
    pub(super) value: RawValue,
}

/// A value as it is written. Flags and variables are untyped; values in a file have types.
pub(super) enum RawValue {
    /// The text of a variable or flag.
    Untyped(String),
    /// A string of the file.
    String(String),
    Boolean(bool),
    /// A number of the file as it is written, and its value if it is a `u64`.
    Number(String, Option<u64>),
    /// A list of strings of the file, or the texts of a repeated flag.
    List(Vec<String>),
    /// Tables of the file that describe services.
    Services(Vec<ServiceSource>),
    /// Tables of the file that describe MCP servers.
    Servers(Vec<ServerSource>),
    /// A value that no setting accepts.
    Other(&'static str),
}

impl RawValue {
    pub(super) fn boolean(&self) -> Option<bool> {
        match self {
            Self::Boolean(value) => Some(*value),
            Self::Untyped(text) => text.parse().ok(),
            _ => None,
        }
    }

    pub(super) fn number(&self) -> Option<u64> {
        match self {
            Self::Number(_, value) => *value,
            Self::Untyped(text) => text.parse().ok(),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::String(text) | Self::Untyped(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn list(&self) -> Option<Vec<String>> {
        match self {
            Self::List(list) => Some(list.clone()),
            Self::Untyped(text) => Some(text.split(',').map(|it| it.trim().to_owned()).collect()),
            _ => None,
        }
    }

    /// The value in a message about the setting; of a list, the first invalid item.
    pub(super) fn shown(&self, setting: &Setting) -> String {
        match (self, setting.kind) {
            (Self::Untyped(_) | Self::String(_), _) if setting.secret => {
                "a value that is not shown, since it may contain a password".to_owned()
            }
            (Self::Untyped(_) | Self::List(_), Kind::List(_, accept, _)) => {
                let list = self.list().unwrap_or_default();
                let invalid = list.iter().find(|item| !accept(item));
                quoted(invalid.map_or("", |item| item))
            }
            _ => self.shown_by_type(),
        }
    }

    /// The value in a message, without regard to the setting.
    pub(super) fn shown_by_type(&self) -> String {
        match self {
            Self::Untyped(text) | Self::String(text) => quoted(text),
            Self::Boolean(value) => value.to_string(),
            Self::Number(written, _) => written.clone(),
            Self::List(_) | Self::Services(_) | Self::Servers(_) => "a list".to_owned(),
            Self::Other(kind) => (*kind).to_owned(),
        }
    }
}

/// A text in quotes, shortened and redacted.
fn quoted(text: &str) -> String {
    let redacted = Redactor::new().text(text).into_owned();
    let mut shown: String = redacted.chars().take(SHOWN_CHARACTERS).collect();
    if shown.len() < redacted.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}

/// The values in the environment. An empty variable counts as unset.
pub(super) fn from_environment(
    environment: &BTreeMap<OsString, OsString>,
) -> Vec<Result<Assignment, Problem>> {
    let set = environment.iter().filter(|(_, value)| !value.is_empty());
    set.filter_map(|(name, value)| from_variable(name.to_str()?, value))
        .collect()
}

/// `None` for variables that are not panpan's: Kubernetes, for example, uses the same prefix for a service named
/// panpan.
fn from_variable(name: &str, value: &OsString) -> Option<Result<Assignment, Problem>> {
    let rest = name.strip_prefix(VARIABLE_PREFIX)?;
    let location = Location::Variable(name.to_owned());
    if let Some(setting) = SETTINGS.iter().find(|it| it.variable() == name) {
        let value = match value.to_str() {
            Some(text) => RawValue::Untyped(text.to_owned()),
            None => RawValue::Other("bytes that are not UTF-8"),
        };
        return Some(Ok(Assignment {
            setting,
            location,
            value,
        }));
    }
    let is_known = [FILE_VARIABLE, data_folder::DATA_VARIABLE].contains(&name);
    if is_known || name.starts_with(SECRET_VARIABLE_PREFIX) {
        return None;
    }
    let known: Vec<String> = SETTINGS.iter().map(Setting::variable).collect();
    let near = nearest(
        rest,
        known.iter().map(|name| &name[VARIABLE_PREFIX.len()..]),
    );
    let near = format!("{VARIABLE_PREFIX}{}", near.first()?);
    let reason = Reason::Unknown { near: Some(near) };
    Some(Err(Problem::of(name, location, reason)))
}
