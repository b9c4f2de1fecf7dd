//! What one word looks like by itself: an everyday word, a thing that people and programs name, a password or
//! an opaque token. What stands around it is looked at elsewhere.

use std::sync::LazyLock;

use regex::Regex;

use super::harmless::is_harmless;

/// What a word looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A word of a language, or an identifier made of such words.
    Word,
    /// A number, a date, an address, a version, a path, a placeholder: something with a use of its own.
    KnownFormat,
    /// So many digits and nothing else.
    Digits,
    /// Made up by a person to be secret: digits or marks among letters.
    Password,
    /// An identifier that is the same everywhere, and a token only where it is called one.
    Uuid,
    /// Made by a machine to be unguessable.
    Opaque,
}

/// What is shorter than this is not unguessable.
pub(super) const SHORTEST_OPAQUE: usize = 16;

/// What this word looks like.
pub(super) fn shape_of(word: &str) -> Shape {
    const LONGEST: usize = 4096;
    if word.len() > LONGEST {
        return Shape::Opaque;
    }
    // Most words of most texts.
    if word.len() < SHORTEST_OPAQUE && word.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return Shape::Word;
    }
    if is_digits(word) {
        return Shape::Digits;
    }
    if is_uuid(word) {
        return Shape::Uuid;
    }
    if KNOWN_FORMATS.is_match(word) || is_harmless(word) || is_path(word) {
        return Shape::KnownFormat;
    }
    if is_opaque(word) {
        return Shape::Opaque;
    }
    match is_made_up(word) && !is_identifier(word) {
        true => Shape::Password,
        false => Shape::Word,
    }
}

/// Whether a word is too random for words, and too long for a person.
pub(super) fn is_opaque(word: &str) -> bool {
    let bytes = word.trim_end_matches('=').as_bytes();
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_+/=.~%".contains(byte);
    let letters = bytes
        .iter()
        .filter(|byte| byte.is_ascii_alphabetic())
        .count();
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    let upper = bytes
        .iter()
        .filter(|byte| byte.is_ascii_uppercase())
        .count();
    let is_mixed = digits >= 2 && letters >= 4 || upper >= 4 && letters >= upper + 4;
    bytes.len() >= SHORTEST_OPAQUE
        && bytes.iter().all(is_token)
        && is_mixed
        && worded(bytes) * 2 < bytes.len()
        && longest_part(bytes) >= 6
}

/// Whether a name is made of words for the most part.
pub(super) fn is_worded(name: &str) -> bool {
    let letters = name.bytes().filter(u8::is_ascii_alphabetic).count();
    worded(name.as_bytes()) * 3 >= letters * 2
}

/// How many bytes belong to parts that read like words: some letters of a kind, with vowels among them.
fn worded(bytes: &[u8]) -> usize {
    let mut sum = 0;
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        if bytes[at].is_ascii_uppercase() {
            at += 1;
        }
        while at < bytes.len() && bytes[at].is_ascii_lowercase() {
            at += 1;
        }
        // Capitals alone make a word too.
        if at == start + 1 && bytes[start].is_ascii_uppercase() {
            while at < bytes.len() && bytes[at].is_ascii_uppercase() {
                at += 1;
            }
        }
        if reads_like_a_word(&bytes[start..at]) {
            sum += at - start;
        }
        at = at.max(start + 1);
    }
    sum
}

fn reads_like_a_word(letters: &[u8]) -> bool {
    const SHORTEST: usize = 3;
    let is_vowel = |byte: &u8| b"aeiouyAEIOUY".contains(byte);
    let vowels = letters.iter().filter(|byte| is_vowel(byte)).count();
    let hard = letters.split(|byte| is_vowel(byte)).map(<[u8]>::len).max();
    letters.len() >= SHORTEST && vowels * 6 >= letters.len() && hard.unwrap_or(0) <= 4
}

/// The longest part between the marks that join parts.
fn longest_part(bytes: &[u8]) -> usize {
    let parts = bytes.split(|byte| !byte.is_ascii_alphanumeric());
    parts.map(<[u8]>::len).max().unwrap_or(0)
}

/// Whether digits or marks stand among letters as people put them there.
fn is_made_up(word: &str) -> bool {
    const SHORTEST: usize = 4;
    let letters = word.chars().filter(|it| it.is_alphabetic()).count();
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let marks = word
        .bytes()
        .filter(|byte| b"!@#$%^&*?~".contains(byte))
        .count();
    word.len() >= SHORTEST && letters > 0 && (digits > 0 || marks > 0) || digits > 0 && marks > 0
}

/// Whether a word is what programs call something: words joined by marks or capitals, numbered at most.
fn is_identifier(word: &str) -> bool {
    let joined = word.contains(['_', '-', '.', ':']);
    let parts = word
        .split(['_', '-', '.', ':', '(', ')', '[', ']', '*'])
        .filter(|it| !it.is_empty());
    let is_part = |part: &str| {
        let word = part.trim_end_matches(|it: char| it.is_ascii_digit());
        let digits = part.len() - word.len();
        let is_named =
            digits <= 2 && word.len() >= 2 && word.bytes().all(|it| it.is_ascii_lowercase());
        part.chars().all(char::is_alphabetic) || part.len() <= 4 && is_digits(part) || is_named
    };
    joined && parts.clone().count() > 1 && parts.clone().all(is_part) && {
        let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
        let worded: usize = parts.map(|it| worded(it.as_bytes())).sum();
        worded * 2 >= letters || !word.is_ascii()
    }
}

pub(super) fn is_path(word: &str) -> bool {
    let parts = word.split('/').filter(|it| !it.is_empty());
    let worded = |part: &&str| {
        let bytes = part.as_bytes();
        worded(bytes) * 2 >= bytes.len() || part.len() <= 3 || part.len() <= 4 && is_digits(part)
    };
    let count = parts.clone().count();
    let fitting = parts.filter(worded).count();
    let is_rooted = ["/", "./", "../", "~/"]
        .iter()
        .any(|it| word.starts_with(it));
    let is_short = |part: &str| part.len() < 20;
    word.contains('/')
        && (is_rooted && (fitting * 2 >= count || word.split('/').all(is_short))
            || count >= 2 && fitting == count && !word.contains(['+', '=']))
}

fn is_digits(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

pub(super) fn is_uuid(word: &str) -> bool {
    const DASHES: [usize; 4] = [8, 13, 18, 23];
    let is_fitting = |(at, byte): (usize, &u8)| match DASHES.contains(&at) {
        true => *byte == b'-',
        false => byte.is_ascii_hexdigit(),
    };
    word.len() == 36 && word.as_bytes().iter().enumerate().all(is_fitting)
}

/// Things that have digits or marks in them and are no secret.
static KNOWN_FORMATS: LazyLock<Regex> = LazyLock::new(|| {
    const FORMS: &[&str] = &[
        // Numbers with a unit, a sign or an order, and ranges of them.
        r"[-+~<>=≤≥]{0,2}[\d.,_]+(?:-[\d.,]+)?[-_]?(?:st|nd|rd|th|%|x|[a-zA-Z]{1,3}|bits?|bytes?|chars?|characters|days?|hours?|mins?|minutes?|secs?|seconds?|digits?|tokens?|times|years?|€|£|\$)?",
        r"[$€£¥₹]\s?\d[\d.,]*",
        // Dates and times.
        r"\d{4}-\d{1,2}-\d{1,2}(?:[T ].*)?",
        r"\d{1,2}[./]\d{1,2}[./]\d{2,4}",
        r"\d{1,2}[:h.]\d{2}(?:[:.]\d+)*(?:Z|[ap]m)?",
        r"P(?:\d+[YMWD])*(?:T(?:\d+[HMS])+)?",
        // Versions, addresses of machines and people.
        r"[vV]?\d+(?:\.\d+)+(?:[-+._][\w.+-]*)?",
        r"[vV]\d+",
        r"(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?(?:/\d+)?",
        r"(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}",
        r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
        r"(?i)[a-z][a-z0-9+.:-]*://.*",
        r"-.*",
        r"[@#]?\w+=[^=].*",
        r"(?i)(?:arn|urn|did|spiffe):.*",
        r"(?:[\w*-]+\.)+[a-zA-Z]{2,10}(?::\d+)?",
        r"[\w./@-]+\.[a-z]{1,4}:\d+(?::\d+)?",
        r"[\w-]+(?:\.[\w-]+)+/[\w./-]+:[\w.-]+",
        r"[a-z]+[-_]20\d{6}(?:[._-]\d+)*",
        r"[A-Za-z_]+(?:(?:\.|::|#)[A-Za-z_$<]+\d{0,2}>?)+",
        r"AAAA[A-E]3Nz.*|AAAAE2Vj.*|MI[GI][A-Za-z0-9]MA0GCS.*|MFkwEwYH.*|MCowBQYDK.*",
        r"[\w.-]+\[\w*\]?:?",
        r"0x[0-9A-Fa-f]{1,16}",
        r"%\w+",
        r"[$€£]?\d+(?:[.,]\d+)*[$€£]?",
        r"%[A-Z_]+-\d-\w+:?",
        r"\$\w+(?::\w+)?",
        r"[A-Z][a-z]{2,8}\d{1,3}[A-Z][a-z]{3,12}[A-Za-z]{0,12}",
        r"[A-Z]{2,}-[0-9A-F]{6,}",
        r"[A-Za-z]\d{3}|[a-z]\.\d{1,4}|x5t#S256|[a-z.-]+@[a-z]+(?:-\w+)+",
        r"[a-z][a-z0-9-]*(?:\.[a-z][a-z0-9-]*)+",
        r"\d+[–—-]\d+",
        r"error:[0-9A-F]{6,8}:.*|debug\d|[A-Z]{2,}#\S+",
        // Names of pods, and the ids of a large mail service.
        r"(?:[a-z0-9-]+/)?[a-z][a-z0-9-]*-[0-9a-f]{8,10}-[a-z0-9]{5}",
        r"[0-9a-f]{8,}-[0-9a-f]+[a-z]{2,3}\d{5,}[a-z0-9]*\.\d{1,3}",
        // A number behind a word of one letter, as some scripts join them.
        r"[^\x00-\x7F]{1,2}-\d{1,4}",
        // Algorithms, formats and protocols.
        r"(?i)(?:sha|md|aes|des|rsa|hs|rs|es|ps|ed|utf|iso|rfc|pbkdf|argon|bcrypt|scrypt|oauth|oidc|saml|base|http|https|tls|ssl|ssh|x|pkcs|ipv|ip|mp|h|curve|secp|u|i|f|int|uint|float|s|ec|k|p|web|win|es|java|python|node|openssl|mysql|postgres|redis|log)[-_./]?\d[\d.]*(?:[-_/][\w.]+)*",
        r"(?i)\d+(?:fa|ds|d|g)",
        r"(?i)(?:sha|md|blake|xxh)\d*[-:=/].*",
        r"(?i)base64(?:url)?",
        r"[A-Z]{1,5}[-_]?\d{1,6}",
        // Functions, types and regular expressions.
        r"[\w.:]+\(.*\)",
        r"[\^\[\\(].*[\]$*+)?}].*",
        r".*\\[dwsDWS].*",
        r".*\{\d+,?\d*\}.*",
    ];
    let forms = FORMS
        .iter()
        .map(|form| format!("(?:{form})"))
        .collect::<Vec<_>>();
    Regex::new(&format!("^(?s:{})$", forms.join("|"))).expect("a fixed pattern compiles")
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_by_their_looks() {
        let table: &[(Shape, &str)] = &[
            (
                Shape::Word,
                "compartment passwordHash order_line IDENT_FOO my-project-42 swordfish users_token_key2 svc-paie2",
            ),
            (
                Shape::KnownFormat,
                "2026-01-05T10:00:00Z 10:02 8-digit 30s v1.2.3 10.0.0.1 bob@example.com api.example.com \
                https://a.b/c sha256 HS256 OAuth2 utf-8 12% <your-api-key> ${DB_PASSWORD} **** /v1/users/42 \
                projects/123/secrets/db-pass/versions/latest [A-Z]{8,} main.rs:42:7 3rd \
                src/Login.test.tsx:37:28 registry.example.net/shop/web2:1.18 build-20241105.4",
            ),
            (Shape::Digits, "4821 482913 1"),
            (
                Shape::Password,
                "hunter2 Sommer2024! tr0ub4dor&3 P@ssw0rd pa$$w0rd 12ab!",
            ),
            (Shape::Uuid, "3fa85f64-5717-4562-b3fc-2c963f66afa6"),
            (
                Shape::Opaque,
                "9f8e7d6c5b4a39281706f5e4d3c2b1a0 k3v9q0x1z8w7p2m4 Zx81kQpW0vTnB7rLd2Mf \
                AbCdEfGhIjKlMnOpQrStUv1Wx2 dGhpc2lzbm90YXdvcmQ=",
            ),
        ];
        for (expected, words) in table {
            for word in words.split_ascii_whitespace() {
                assert_eq!(shape_of(word), *expected, "{word}");
            }
        }
    }
}
