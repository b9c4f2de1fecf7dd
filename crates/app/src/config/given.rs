//! One value as somebody gave it, from whatever source, before it is known whether it will do.

use std::collections::BTreeMap;
use std::ffi::OsString;

use panpan_failure::catalogue::nearest;
use panpan_redact::Redactor;

use super::keys::{KEYS, Key, Kind, VARIABLE_PREFIX};
use super::problem::{Place, Problem, Wrong};
use super::{FILE_VARIABLE, place};
use crate::sources::{SECRET_VARIABLE_PREFIX, ServerSource, ServiceSource};

/// The longest value that is repeated whole, in characters.
const SHOWN_CHARACTERS: usize = 60;

/// A value for a key, and where it was given. It cannot be printed: it may hold a password.
pub(super) struct Given {
    pub(super) key: &'static Key,
    pub(super) place: Place,
    pub(super) raw: Raw,
}

/// A value as it was given. Flags and variables know only texts; a file tells kinds apart.
pub(super) enum Raw {
    /// The text of a variable or flag, which may stand for anything.
    Words(String),
    /// The texts of a flag that was given several times.
    Several(Vec<String>),
    /// A string of the file.
    String(String),
    Boolean(bool),
    /// A whole number of the file as it is written; `None` when it is too large or negative.
    Number(String, Option<u64>),
    /// A list of strings of the file.
    List(Vec<String>),
    /// Tables of the file that describe services.
    Services(Vec<ServiceSource>),
    /// Tables of the file that describe MCP servers.
    Servers(Vec<ServerSource>),
    /// Something no key may be.
    Other(&'static str),
}

impl Raw {
    pub(super) fn boolean(&self) -> Option<bool> {
        match self {
            Self::Boolean(value) => Some(*value),
            Self::Words(text) => text.parse().ok(),
            _ => None,
        }
    }

    pub(super) fn number(&self) -> Option<u64> {
        match self {
            Self::Number(_, value) => *value,
            Self::Words(text) => text.parse().ok(),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::String(text) | Self::Words(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn list(&self) -> Option<Vec<String>> {
        match self {
            Self::List(list) | Self::Several(list) => Some(list.clone()),
            Self::Words(text) => Some(text.split(',').map(|it| it.trim().to_owned()).collect()),
            _ => None,
        }
    }

    /// The value as it is repeated to whoever gave it; of a list, what will not do in it.
    pub(super) fn shown(&self, key: &Key) -> String {
        match (self, key.kind) {
            (Self::Words(_) | Self::String(_), _) if key.secret => {
                "a text that is not repeated here, since it may hold a password".to_owned()
            }
            (
                Self::Several(_) | Self::Words(_) | Self::List(_),
                Kind::List { accept, .. } | Kind::Sources { accept, .. },
            ) => {
                let wrong = self.list().unwrap_or_default();
                let wrong = wrong.iter().find(|item| !accept(item));
                quoted(wrong.map_or("", |item| item))
            }
            _ => self.shown_by_kind(),
        }
    }

    /// The value, where nothing is known about the key.
    pub(super) fn shown_by_kind(&self) -> String {
        match self {
            Self::Words(text) | Self::String(text) => quoted(text),
            Self::Boolean(value) => value.to_string(),
            Self::Number(written, _) => written.clone(),
            Self::Several(_) | Self::List(_) | Self::Services(_) | Self::Servers(_) => {
                "a list".to_owned()
            }
            Self::Other(kind) => (*kind).to_owned(),
        }
    }
}

/// A text in quotes, cut where it is long, and without what looks like a secret.
fn quoted(text: &str) -> String {
    let redacted = Redactor::new().text(text).into_owned();
    let mut shown: String = redacted.chars().take(SHOWN_CHARACTERS).collect();
    if shown.len() < redacted.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}

/// What the environment says. A variable without a value is the same as none.
pub(super) fn from_environment(
    environment: &BTreeMap<OsString, OsString>,
) -> Vec<Result<Given, Problem>> {
    let set = environment.iter().filter(|(_, value)| !value.is_empty());
    set.filter_map(|(name, value)| from_variable(name.to_str()?, value))
        .collect()
}

/// `None` for variables that are not ours: other programs use the prefix too, as a cluster does that names
/// a service after this program.
fn from_variable(name: &str, value: &OsString) -> Option<Result<Given, Problem>> {
    let rest = name.strip_prefix(VARIABLE_PREFIX)?;
    let place = Place::Variable(name.to_owned());
    if let Some(key) = KEYS.iter().find(|key| key.variable() == name) {
        let raw = match value.to_str() {
            Some(text) => Raw::Words(text.to_owned()),
            None => Raw::Other("bytes that are no UTF-8"),
        };
        return Some(Ok(Given { key, place, raw }));
    }
    let is_known = [FILE_VARIABLE, place::DATA_VARIABLE].contains(&name);
    if is_known || name.starts_with(SECRET_VARIABLE_PREFIX) {
        return None;
    }
    let known: Vec<String> = KEYS.iter().map(Key::variable).collect();
    let near = nearest(
        rest,
        known.iter().map(|name| &name[VARIABLE_PREFIX.len()..]),
    );
    let near = format!("{VARIABLE_PREFIX}{}", near.first()?);
    let wrong = Wrong::Unknown { near: Some(near) };
    Some(Err(Problem::of(name, place, wrong)))
}
