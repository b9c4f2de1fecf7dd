//! Idempotency keys: their syntax, their scope, and the fingerprint of a call.

use std::fmt;

use panpan_contract::operation::OperationName;
use panpan_contract::{canonical_json, hex};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::ports::{Fingerprint, Scope};

/// The maximum length of a key.
pub const KEY_LENGTH_LIMIT: usize = 255;

/// An idempotency key: it names one intended effect, and is the same for all repeats of the call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdempotencyKey(String);

/// Why a text is not a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// It is empty.
    #[error("the idempotency key is empty; omit it, or give it a value")]
    Empty,
    /// It is too long.
    #[error("the idempotency key has {0} characters; at most {KEY_LENGTH_LIMIT} are allowed")]
    Length(usize),
    /// It contains a space or a character that is not visible ASCII.
    #[error("the idempotency key may contain only visible ASCII characters, without spaces")]
    Character,
}

impl IdempotencyKey {
    /// Checks a key. Surrounding double quotes are removed: the header is quoted by the standard, and many
    /// clients leave the quotes out.
    pub fn new(text: &str) -> Result<Self, KeyError> {
        let bare = text
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
            .unwrap_or(text);
        let length = bare.chars().count();
        match length {
            0 => Err(KeyError::Empty),
            _ if length > KEY_LENGTH_LIMIT => Err(KeyError::Length(length)),
            _ if !bare.bytes().all(|byte| byte.is_ascii_graphic()) => Err(KeyError::Character),
            _ => Ok(Self(bare.to_owned())),
        }
    }

    /// The syntax of a key, for error messages.
    pub fn form() -> String {
        format!("1 to {KEY_LENGTH_LIMIT} visible ASCII characters, without spaces")
    }

    /// The key without quotes.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

impl Scope {
    /// The scope of a key of this caller and operation.
    pub fn of(caller: Option<&str>, operation: &OperationName, key: &IdempotencyKey) -> Self {
        let mut digest = Sha256::new();
        // Lengths separate the parts; the tag separates no caller from a caller with an empty name.
        for part in [caller, Some(operation.as_str()), Some(key.as_str())] {
            let bytes = part.unwrap_or_default().as_bytes();
            digest.update([u8::from(part.is_some())]);
            digest.update((bytes.len() as u64).to_be_bytes());
            digest.update(bytes);
        }
        Self(digest.finalize().into())
    }

    /// The scope after the key was reopened: the upstream has to treat the next run as a new effect.
    pub fn of_generation(self, generation: u32) -> Self {
        if generation <= 1 {
            return self;
        }
        let digest = Sha256::new_with_prefix(self.0);
        Self(
            digest
                .chain_update(generation.to_be_bytes())
                .finalize()
                .into(),
        )
    }

    /// The key to send to the upstream, the same for all attempts.
    pub fn downstream_key(&self) -> String {
        hex(&Sha256::digest(self.0)[..16])
    }
}

impl Fingerprint {
    /// The fingerprint of an operation and its input, independent of the order of members.
    pub fn of(operation: &OperationName, input: &Value) -> Self {
        let mut digest = Sha256::new();
        digest.update(operation.as_str());
        digest.update([0]);
        digest.update(canonical_json(input));
        Self(digest.finalize().into())
    }

    /// A seed that is the same for the same call.
    pub fn retry_seed(&self) -> i64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        i64::from_be_bytes([a, b, c, d, e, f, g, h])
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn quotes_are_removed_and_invisible_characters_are_refused() {
        let longest = "k".repeat(KEY_LENGTH_LIMIT);
        let too_long = "k".repeat(KEY_LENGTH_LIMIT + 1);
        for (text, key) in [
            ("order-1", Ok("order-1")),
            ("\"order-1\"", Ok("order-1")),
            ("a\"b", Ok("a\"b")),
            ("\"", Ok("\"")),
            ("", Err(KeyError::Empty)),
            ("\"\"", Err(KeyError::Empty)),
            ("a b", Err(KeyError::Character)),
            ("a\n", Err(KeyError::Character)),
            ("\u{e9}", Err(KeyError::Character)),
            (&longest, Ok(&*longest)),
            (&too_long, Err(KeyError::Length(256))),
        ] {
            let found = IdempotencyKey::new(text);
            assert_eq!(
                found.as_ref().map(IdempotencyKey::as_str),
                key.as_ref().copied(),
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_scope_depends_on_caller_operation_and_key() {
        let name = |text: &str| text.parse::<OperationName>().unwrap();
        let key = |text: &str| IdempotencyKey::new(text).unwrap();
        let scopes = [
            Scope::of(Some("ann"), &name("a/b"), &key("k")),
            Scope::of(Some("bob"), &name("a/b"), &key("k")),
            Scope::of(None, &name("a/b"), &key("k")),
            Scope::of(Some(""), &name("a/b"), &key("k")),
            Scope::of(Some("ann"), &name("a/c"), &key("k")),
            Scope::of(Some("ann"), &name("a/b"), &key("l")),
        ];
        for (index, scope) in scopes.iter().enumerate() {
            assert!(!scopes[..index].contains(scope), "{index}");
        }
        assert_eq!(scopes[0].downstream_key().len(), 32);
        assert_ne!(scopes[0].downstream_key(), scopes[1].downstream_key());
    }

    #[test]
    fn a_fingerprint_ignores_the_order_of_members() {
        let name: OperationName = "a/b".parse().unwrap();
        let of = |input| Fingerprint::of(&name, &input);
        assert_eq!(of(json!({"a": 1, "b": 2})), of(json!({"b": 2, "a": 1})));
        assert_ne!(of(json!({"a": 1})), of(json!({"a": "1"})));
        let other: OperationName = "a/c".parse().unwrap();
        assert_ne!(of(json!({})), Fingerprint::of(&other, &json!({})));
    }
}
