//! What a token looks like: `panpan_<id>_<secret>`, both in lower-case hexadecimal digits.
//!
//! The id is how people name the token, and no secret; the secret is never kept, only its hash.

use panpan_contract::hex;
use panpan_redact::Secret;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

const PREFIX: &str = "panpan_";
const ID_DIGITS: usize = 12;
const SECRET_DIGITS: usize = 64;

/// The hash of nothing: there is no secret that proves it.
const NO_HASH: &str = "";

/// A token that was just drawn.
pub(super) struct Drawn {
    pub(super) id: String,
    pub(super) text: Secret<String>,
    pub(super) hash: String,
}

impl Drawn {
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

/// A text that is written like a token.
#[derive(Clone, Copy)]
pub(super) struct Presented<'a> {
    pub(super) id: &'a str,
    secret: &'a str,
}

impl<'a> Presented<'a> {
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
        let is_well_formed = is_hex(id, ID_DIGITS) && is_hex(secret, SECRET_DIGITS);
        is_well_formed.then_some(Self { id, secret })
    }

    /// Whether it holds the secret of this hash. Takes as long for every secret, and where there is no
    /// such token as where there is.
    pub(super) fn proves(&self, kept_hash: Option<&str>) -> bool {
        let expected = kept_hash.unwrap_or(NO_HASH).as_bytes();
        hash(self.secret).as_bytes().ct_eq(expected).into()
    }
}

/// The id of a token that was presented. No secret.
pub(crate) fn id_of(presented: &str) -> Option<&str> {
    Presented::read(presented).map(|token| token.id)
}

/// One way to write each digit, so that no other text is the same token.
fn is_hex(text: &str, digits: usize) -> bool {
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == digits && text.bytes().all(is_digit)
}

/// A secret of 256 random bits needs no slow hash: there is nothing to guess.
fn hash(secret: &str) -> String {
    hex(&Sha256::digest(secret.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_tokens_are_alike_and_each_proves_only_its_own_hash() {
        let (one, other) = (Drawn::new().unwrap(), Drawn::new().unwrap());
        assert_ne!(one.id, other.id);
        let presented = Presented::read(one.text.expose()).unwrap();
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
    fn only_one_way_to_write_a_token_is_read() {
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
            assert_eq!(Presented::read(&text).is_some(), is_token, "{text:?}");
        }
    }
}
