//! The text form of a token: `panpan_<id>_<secret>`, both in lower-case hexadecimal digits.
//!
//! The id names the token and is not a secret. Of the secret only a hash is stored.

use panpan_contract::hex;
use panpan_redact::Secret;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

const PREFIX: &str = "panpan_";
const ID_DIGITS: usize = 12;
const SECRET_DIGITS: usize = 64;

/// A hash that no secret has.
const NO_HASH: &str = "";

/// A new random token.
pub(super) struct GeneratedToken {
    pub(super) id: String,
    pub(super) text: Secret<String>,
    pub(super) hash: String,
}

impl GeneratedToken {
    pub(super) fn new() -> Result<Self, getrandom::Error> {
        let mut id = [0; ID_DIGITS / 2];
        let mut secret = [0; SECRET_DIGITS / 2];
        getrandom::fill(&mut id)?;
        getrandom::fill(&mut secret)?;
        let (id, secret) = (hex(&id), Secret::new(hex(&secret)));
        Ok(Self {
            text: Secret::new(format!("{PREFIX}{id}_{}", secret.expose())),
            hash: hash(secret.expose()),
            id,
        })
    }
}

/// The parts of a well-formed token.
#[derive(Clone, Copy)]
pub(super) struct ParsedToken<'a> {
    pub(super) id: &'a str,
    secret: &'a str,
}

impl<'a> ParsedToken<'a> {
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
        let is_well_formed = is_hex(id, ID_DIGITS) && is_hex(secret, SECRET_DIGITS);
        is_well_formed.then_some(Self { id, secret })
    }

    /// Whether the secret has this hash, in constant time, also if there is no such token.
    pub(super) fn proves(&self, stored_hash: Option<&str>) -> bool {
        let expected = stored_hash.unwrap_or(NO_HASH).as_bytes();
        hash(self.secret).as_bytes().ct_eq(expected).into()
    }
}

/// The id in the text of a token. Not a secret.
pub(crate) fn id_of(presented: &str) -> Option<&str> {
    ParsedToken::parse(presented).map(|token| token.id)
}

/// Accepts lower-case digits only, so that a token has one spelling.
fn is_hex(text: &str, digits: usize) -> bool {
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == digits && text.bytes().all(is_digit)
}

/// A secret of 256 random bits cannot be guessed, so it needs no slow hash.
fn hash(secret: &str) -> String {
    hex(&Sha256::digest(secret.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_distinct_and_each_proves_only_its_own_hash() {
        let (one, other) = (
            GeneratedToken::new().unwrap(),
            GeneratedToken::new().unwrap(),
        );
        assert_ne!(one.id, other.id);
        let presented = ParsedToken::parse(one.text.expose()).unwrap();
        assert_eq!(presented.id, one.id);
        for (hash, proved) in [
            (Some(one.hash.as_str()), true),
            (Some(&other.hash), false),
            (Some(""), false),
            (Some(&one.hash[..63]), false),
            (None, false),
        ] {
            assert_eq!(presented.proves(hash), proved, "{hash:?}");
        }
    }

    #[test]
    fn only_one_spelling_of_a_token_is_accepted() {
        let (id, secret) = ("0123456789ab", "ab".repeat(32));
        let short = &secret[1..];
        for (text, is_token) in [
            (format!("panpan_{id}_{secret}"), true),
            (format!("panpan_{id}_{short}"), false),
            (format!("panpan_{id}_{secret}a"), false),
            (format!("panpan_{id}a_{short}"), false),
            (format!("panpan_{id}_{}", secret.to_uppercase()), false),
            (format!("PANPAN_{id}_{secret}"), false),
            (format!(" panpan_{id}_{secret}"), false),
            (format!("panpan_{id}_{secret}\n"), false),
            (format!("panpan_{id}{secret}"), false),
            (format!("{id}_{secret}"), false),
            (format!("panpan_{id}_{short}\u{663}"), false),
            ("panpan__".to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(ParsedToken::parse(&text).is_some(), is_token, "{text:?}");
        }
    }
}
