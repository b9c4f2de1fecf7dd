//! The name of an operation: `namespace/operation`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The longest name, in bytes.
pub const NAME_LENGTH_LIMIT: usize = 200;

/// A name of at least two segments, each of letters, digits, `_`, `-` and `.`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct OperationName(String);

/// Why a text is not the name of an operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It has no namespace.
    #[error("operation name {0:?} has no namespace; write namespace/operation")]
    Namespace(String),
    /// A segment is empty or has an invalid character.
    #[error(
        "operation name {0:?} has an empty segment or an invalid character; use only letters, digits, _, - and . \
         between the slashes"
    )]
    Segment(String),
    /// It is too long.
    #[error(
        "the operation name has {0} bytes, the limit is {NAME_LENGTH_LIMIT}; write a shorter name"
    )]
    Length(usize),
}

impl OperationName {
    /// Parses a name; a leading slash is dropped.
    pub fn new(text: &str) -> Result<Self, NameError> {
        let name = text.strip_prefix('/').unwrap_or(text);
        if name.len() > NAME_LENGTH_LIMIT {
            return Err(NameError::Length(name.len()));
        }
        if !name.contains('/') {
            return Err(NameError::Namespace(text.to_owned()));
        }
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        let is_segment = |segment: &str| !segment.is_empty() && segment.bytes().all(is_word);
        if !name.split('/').all(is_segment) {
            return Err(NameError::Segment(text.to_owned()));
        }
        Ok(Self(name.to_owned()))
    }

    /// The name without a leading slash.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first segment.
    pub fn namespace(&self) -> &str {
        self.0.split('/').next().unwrap_or_default()
    }
}

impl fmt::Display for OperationName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

impl FromStr for OperationName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::new(text)
    }
}

impl TryFrom<String> for OperationName {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        Self::new(&text)
    }
}

impl From<OperationName> for String {
    fn from(name: OperationName) -> String {
        name.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_namespace_and_lose_a_leading_slash() {
        for (text, name) in [
            ("fs/readFile", Some("fs/readFile")),
            ("/fs/readFile", Some("fs/readFile")),
            ("a/b/c.d-e_f", Some("a/b/c.d-e_f")),
            ("readFile", None),
            ("", None),
            ("/", None),
            ("fs/", None),
            ("//x", None),
            ("fs/read file", None),
            ("fs/é", None),
        ] {
            assert_eq!(
                OperationName::new(text)
                    .ok()
                    .as_ref()
                    .map(OperationName::as_str),
                name,
                "{text:?}"
            );
        }
        assert!(OperationName::new(&format!("a/{}", "b".repeat(NAME_LENGTH_LIMIT - 2))).is_ok());
        assert!(OperationName::new(&format!("a/{}", "b".repeat(NAME_LENGTH_LIMIT - 1))).is_err());
    }
}
