//! Decides whether the value behind a sensitive name is a secret, or belongs to a sentence, a list or
//! another pair. Where the value starts and ends is already known.

use std::ops::Range;

use super::{Link, is_name_byte};
use crate::glyphs::skip_blanks;
use crate::harmless::is_harmless;
use crate::names::{is_credible, is_sentence_word, listed, phrase_strength};
use crate::prose::{is_everyday_word, is_punctuation, is_sentence, reveals};
use crate::shape::{Shape, is_worded, shape_of};
use crate::values::{Extent, contains_word};
use crate::word_lists::Strength;
use crate::{layouts, prefilter, tree};

/// Whether a bracketed value is a list of remarks or a schema, read without its escapes.
pub(super) fn contains_remark(value: &str, found: &Extent) -> bool {
    if !found.certain || !value.starts_with(['[', '{']) {
        return false;
    }
    let is_record = value.starts_with('{') || value.starts_with("[{");
    match serde_json::from_str(&value.replace('\\', "").replace('\'', "\"")) {
        Ok(value) => tree::describes_secret(&value, tree::Scope::root()),
        // Not JSON: its names are examined on their own.
        Err(_) => is_record && value.contains(['=', ',', ':']) && !reveals(value),
    }
}

/// Whether the rest of the line is a sentence about the secret ("rotated 2 days ago").
pub(super) fn is_followed_by_remark(text: &str, found: &Extent, link: Link) -> bool {
    let start = found.range.start;
    let reach = (start + REMARK_REACH).min(text.len());
    let end = layouts::line_end(&text.as_bytes()[..reach], start);
    let linked = matches!(link, Link::Colon | Link::Is);
    linked && !found.quoted && is_sentence(&text[start..text.floor_char_boundary(end)])
}

/// Whether a word starts a remark: "Path `password` is required", "mindestens 5 Zeichen".
pub(super) fn is_start_of_remark(text: &str, found: &Extent, link: Link) -> bool {
    const LOOKED_AT: usize = 4;
    let value = &text[found.range.clone()];
    let is_word = value.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_of_field = text[..found.range.start].rsplit(' ').nth(2) == Some("invalid");
    if is_of_field && is_word && link == Link::Colon && !found.quoted {
        return true;
    }
    if found.quoted || !is_word || !matches!(link, Link::Colon | Link::Quoted) {
        return false;
    }
    let reach = text.floor_char_boundary((found.range.start + REMARK_REACH).min(text.len()));
    let rest = &text[found.range.start + value.len().min(reach - found.range.start)..reach];
    let rest = rest.split(['\n', ';']).next().unwrap_or_default();
    let mut behind = rest.split_whitespace().take(LOOKED_AT);
    let is_large = value.starts_with(|it: char| it.is_ascii_uppercase())
        && value[1..].bytes().all(|byte| byte.is_ascii_lowercase());
    let counts = behind
        .clone()
        .next()
        .is_some_and(|it| it.len() <= 3 && it.bytes().all(|byte| byte.is_ascii_digit()));
    let is_short = behind.clone().count() == 1 && behind.clone().all(|it| {
        listed!(
            "required required. needed needed. failed failed. denied denied. rejected rejected.",
            it,
        )
    });
    counts || is_large && (is_short || behind.clone().count() >= 2 && behind.any(is_everyday_word))
}

/// Whether a plain word after a quoted name continues as a sentence about the field.
pub(super) fn continues_as_sentence(text: &str, start: usize, found: &Extent, link: Link) -> bool {
    let value = &text[found.range.clone()];
    let is_word = |word: &str| {
        word.chars()
            .all(|it| it.is_alphabetic() || it == '\'' || it == '-')
    };
    let behind = &text[found.range.end..];
    let next = behind.trim_start_matches(' ');
    let next = next.split([' ', '\n', '.', ',']).next().unwrap_or_default();
    // After a scheme, such as Bearer, any word is a value.
    let is_first = text[start.min(found.range.start)..found.range.start]
        .trim()
        .is_empty();
    link == Link::Quoted
        && is_first
        && !found.quoted
        && is_word(value)
        && behind.starts_with(' ')
        && next.chars().count() > 1
        && is_word(next)
}

/// Whether a plain word belongs to a sentence about the secret: after "is", or followed by other
/// words.
pub(super) fn is_part_of_sentence(text: &str, found: &Extent, link: Link) -> bool {
    let value = &text[found.range.clone()];
    // The next part of an error chain.
    if !found.quoted && value.ends_with(':') && link != Link::Pair {
        return true;
    }
    if found.certain || !is_word(value) {
        return false;
    }
    let behind = text[found.range.end..].trim_start_matches(['"', '\'', '`', '\\']);
    let is_last = behind.len() < text.len() - found.range.end && !found.quoted
        || behind.is_empty()
        || behind.starts_with(['\n', '\r', ',', ';', ')', ']', '}', '<', '|', '.']);
    let is_large = value.starts_with(|it: char| it.is_ascii_uppercase());
    let is_remark = value.contains(' ') && is_large || is_adjective(value);
    match link {
        Link::Is => !found.quoted,
        Link::Colon => !is_last || is_remark && !found.quoted,
        Link::Quoted => !found.quoted && !is_last,
        Link::Pair | Link::Adjacent => false,
    }
}

/// Whether a name is that of an operation: `GetSecretValue`.
pub(super) fn is_operation(name: &str) -> bool {
    let verb = ["Get", "List", "Describe", "Create", "Delete"]
        .iter()
        .find_map(|it| name.strip_prefix(it));
    verb.is_some_and(|rest| rest.starts_with(|it: char| it.is_ascii_uppercase()))
}

pub(super) fn accepts(
    value: &str,
    found: &Extent,
    link: Link,
    strength: Strength,
    name: &str,
) -> bool {
    if is_harmless(value) || found.quoted && is_sentence(value) {
        return false;
    }
    match (link, strength) {
        _ if found.certain => true,
        (Link::Pair, _) if is_sentence_word(value) && !found.quoted => false,
        (Link::Pair, _) => found.quoted || !is_counter_or_kind(name, value),
        (Link::Colon | Link::Quoted, _) if !found.quoted && is_file_location(value) => false,
        (Link::Colon | Link::Quoted, _)
            if !found.quoted
                && listed!(
                    "password passwd token secret api_key apikey key pin otp credentials secrets tokens keys passwords",
                    value,
                ) =>
        {
            false
        }
        (Link::Quoted, _) => {
            (found.quoted
                || !is_sentence_word(value)
                    && (value.len() >= 3 || value.bytes().all(|byte| byte.is_ascii_digit())))
                && !is_punctuation(value)
        }
        (Link::Colon, Strength::Firm)
            if name.ends_with('s') && value.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            false
        }
        (Link::Colon, Strength::Firm) => {
            !is_sentence_word(value) && (is_card_code(name) || !is_small_number(value))
        }
        (Link::Is, Strength::Firm) => {
            found.quoted
                || !is_everyday_word(value) && !is_adjective(value) && !is_small_number(value)
        }
        (Link::Colon | Link::Is, Strength::Loose) => is_credible(value),
        (Link::Adjacent, _) => {
            let is_code = value.starts_with('(') || value.contains("://");
            is_credible(value) && !is_code && (found.quoted || needs_no_separator(value, name))
        }
    }
}

/// Whether the value is the name of the next pair.
pub(super) fn is_name_of_pair(bytes: &[u8], value: &Range<usize>) -> bool {
    let at = skip_blanks(bytes, value.end, false);
    let is_name = bytes[value.clone()]
        .iter()
        .all(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    is_name && at > value.end && bytes.get(at) == Some(&b'=') && bytes.get(at + 1) == Some(&b' ')
}

/// Whether a text is a name unrelated to secrets.
pub(super) fn is_unrelated_name(text: &str) -> bool {
    const LONGEST: usize = 24;
    (1..=LONGEST).contains(&text.len())
        && text.bytes().all(is_name_byte)
        && !prefilter::may_be_sensitive_name(text.as_bytes())
}

/// Whether a value is a plain word, or a name made of plain words.
pub(super) fn is_word(value: &str) -> bool {
    shape_of(value) == Shape::Word && is_worded(value)
}

/// How many bytes are searched for a remark.
const REMARK_REACH: usize = 160;

/// Whether a word has the ending of an adjective or participle.
fn is_adjective(value: &str) -> bool {
    const ENDINGS: [&str; 19] = [
        "ed", "ete", "ect", "ly", "ing", "able", "ible", "ic", "al", "ous", "ive", "ful", "less",
        "ent", "ant", "ary", "ory", "shown", "own",
    ];
    let value = value.trim_end_matches(|it: char| it.is_ascii_punctuation());
    value.bytes().all(|byte| byte.is_ascii_lowercase())
        && ENDINGS.iter().any(|it| value.ends_with(it))
}

/// Whether a value is a count: few digits, or digits with separators.
fn is_small_number(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let is_number = value
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b".,".contains(&byte));
    is_number && (digits <= 3 || digits < value.len())
}

fn is_card_code(name: &str) -> bool {
    contains_word(name, "cvv") || contains_word(name, "cvc")
}

/// Whether a pair is a counter (`pass=12`) or a token of a grammar (`token=IDENT`).
fn is_counter_or_kind(name: &str, value: &str) -> bool {
    const LONGEST_KIND: usize = 12;
    let all = |class: fn(&u8) -> bool| value.bytes().all(|byte| class(&byte));
    let count = name.eq_ignore_ascii_case("pass") && all(u8::is_ascii_digit);
    let count = count || name == "seed" && value.len() <= 10 && all(u8::is_ascii_digit);
    let word = listed!("token secret key api_key apikey", value);
    let kind =
        word || name == "token" && value.len() <= LONGEST_KIND && all(u8::is_ascii_uppercase);
    count || kind
}

/// Whether a credible value is a secret without a separator after its name.
fn needs_no_separator(value: &str, name: &str) -> bool {
    const LONE_TOKEN: usize = 16;
    const ALGORITHMS: &str = "sha md5 pbkdf argon hmac utf oauth base64 aes rfc bcrypt";
    let digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let starts = |algorithm: &str| {
        let start = value.get(..algorithm.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(algorithm))
    };
    let algorithm = ALGORITHMS.split_ascii_whitespace().any(starts);
    let is_password =
        phrase_strength(name).is_some() && name.to_ascii_lowercase().contains("passw");
    let path = value.starts_with("projects/");
    digit && !algorithm && !path && (value.len() >= LONE_TOKEN || is_password)
}

/// Whether a value is a location in a file: `main.c:112:18:`.
fn is_file_location(value: &str) -> bool {
    let mut parts = value.split(':');
    let file = parts.next().unwrap_or_default();
    let line = parts.next().unwrap_or_default();
    file.contains('.') && !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit())
}
