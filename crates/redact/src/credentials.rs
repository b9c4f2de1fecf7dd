//! Checks for patterns that plain words would also match: the word after `Bearer` or `Basic`, and
//! keys with a short prefix. Nothing here searches a text.

use super::harmless::{is_harmless, is_placeholder};
use super::names::{is_credible, is_sentence_word, listed};

/// Accepts every match of the pattern.
pub(super) fn any(_: &str) -> bool {
    true
}

/// Accepts a key block with a body, and not a header that a sentence mentions.
pub(super) fn has_key_body(block: &str) -> bool {
    const SHORTEST: usize = 6;
    let body = block.split_once("KEY").map_or(block, |(_, body)| body);
    body.bytes().filter(u8::is_ascii_alphanumeric).count() >= SHORTEST
}

/// Accepts a password that is not masked already.
pub(super) fn is_unmasked(password: &str) -> bool {
    !is_placeholder(password)
}

/// Accepts a value that looks like a secret and not like a placeholder.
pub(super) fn is_visible_secret(value: &str) -> bool {
    is_credible(value) && !is_harmless(value)
}

/// Accepts a key that cannot be a hyphenated word.
pub(super) fn is_random(key: &str) -> bool {
    let digits = key.bytes().filter(u8::is_ascii_digit).count();
    let upper = key.bytes().filter(u8::is_ascii_uppercase).count();
    let lower = key.bytes().filter(u8::is_ascii_lowercase).count();
    digits >= 2 || upper >= 2 && lower >= 2
}

/// Accepts the word after `Bearer` if it is a token and not the next word of a sentence.
pub(super) fn is_bearer_token(token: &str) -> bool {
    !listed!("oauth1 oauth2 rfc6750 rfc7523", token)
        && !is_sentence_word(token)
        && is_credible(token.trim_end_matches(['.', '=']))
}

/// Accepts the word after `Basic` if it decodes to `user:password`.
pub(super) fn is_basic_pair(encoded: &str) -> bool {
    let Some(decoded) = decode_base64(encoded) else {
        return false;
    };
    let user = decoded.iter().take_while(|byte| **byte != b':');
    let user_length = user.clone().count();
    user_length < decoded.len() && user.into_iter().all(|byte| (b' '..=b'~').contains(byte))
}

/// Decodes either base64 alphabet, with or without padding; a truncated end is ignored.
pub(super) fn decode_base64(encoded: &str) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(encoded.len() * 3 / 4);
    let (mut buffer, mut bits) = (0u32, 0u32);
    for byte in encoded.trim_end_matches('=').bytes() {
        buffer = buffer << 6 | u32::from(sextet(byte)?);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            decoded.push(u8::try_from(buffer >> bits & 0xff).ok()?);
        }
        buffer &= (1 << bits) - 1;
    }
    Some(decoded)
}

fn sextet(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_encoded_pair_is_a_basic_credential() {
        for encoded in [
            "dXNlcjpwYXNz",
            "YTpi",
            "OnB3",
            "dXNlcjpwYXNzdw==",
            "dXNlcjo",
        ] {
            assert!(is_basic_pair(encoded), "{encoded}");
        }
        for word in [
            "authentication",
            "auth",
            "training",
            "plan",
            "dXNlcg==",
            "a.b",
        ] {
            assert!(!is_basic_pair(word), "{word}");
        }
    }

    #[test]
    fn only_a_token_is_a_bearer_credential() {
        for token in [
            "abc123",
            "mF_9.B5f-4.1JqM",
            "QWxhZGRpbjpvcGVu",
            "abcdefghijklmnopqrstuvwxyz",
        ] {
            assert!(is_bearer_token(token), "{token}");
        }
        for word in [
            "token",
            "of",
            "authentication",
            "Authentication",
            "OAuth2",
            "expired.",
            "401",
        ] {
            assert!(!is_bearer_token(word), "{word}");
        }
    }

    #[test]
    fn a_hyphenated_word_is_not_random() {
        assert!(is_random("sk-proj-a1b2c3"));
        assert!(!is_random("sk-folding-cube-spinner"));
    }
}
