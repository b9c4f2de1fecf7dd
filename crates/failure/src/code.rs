//! A code that is well formed by construction.

use std::borrow::Cow;
use std::fmt;

pub use panpan_catalogue::CodeError;
use panpan_catalogue::{Entry, check_code, code_from_name};

/// A failure code: upper-case letters, digits and underscores, 3 to 63 of them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String")]
pub struct Code(Cow<'static, str>);

impl Code {
    /// Checks the text.
    pub fn new(text: impl Into<Cow<'static, str>>) -> Result<Self, CodeError> {
        let text = text.into();
        check_code(&text)?;
        Ok(Self(text))
    }

    /// The code, or the text if it is not one.
    pub(crate) fn new_or_text(text: String) -> Result<Self, String> {
        match check_code(&text) {
            Ok(()) => Ok(Self(text.into())),
            Err(_) => Err(text),
        }
    }

    /// Converts a third-party name: `rateLimited`, `rate-limited` and `rate limited` all become
    /// `RATE_LIMITED`. `None` if the result is not well formed.
    pub fn normalised(text: &str) -> Option<Self> {
        Self::new(code_from_name(text)).ok()
    }

    /// The code as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&'static Entry> for Code {
    fn from(row: &'static Entry) -> Self {
        Self(Cow::Borrowed(row.code))
    }
}

impl TryFrom<String> for Code {
    type Error = CodeError;

    fn try_from(text: String) -> Result<Self, CodeError> {
        Self::new(text)
    }
}

impl From<Code> for String {
    fn from(code: Code) -> String {
        code.0.into_owned()
    }
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn third_party_names_become_codes() {
        for (text, code) in [
            ("rate_limit_exceeded", Some("RATE_LIMIT_EXCEEDED")),
            ("rateLimited", Some("RATE_LIMITED")),
            ("HTTPError404", Some("HTTP_ERROR404")),
            ("invalid-request", Some("INVALID_REQUEST")),
            ("  Not Found. ", Some("NOT_FOUND")),
            ("42", None),
            ("", None),
            ("é", None),
            ("a", None),
        ] {
            assert_eq!(
                Code::normalised(text).as_ref().map(Code::as_str),
                code,
                "{text:?}"
            );
        }
    }
}
