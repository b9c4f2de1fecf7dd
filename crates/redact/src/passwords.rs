//! Shapes of secrets that people choose or type: passwords, codes in groups, passphrases. Whether a
//! text mentions them as secrets is decided in `mentions`.

use std::sync::LazyLock;

use regex::Regex;

use super::harmless::is_harmless;
use super::lexicon::{self, is_unspaced};
use super::names::{WordSet, listed};
use super::prose::is_everyday_word;
use super::rules::pattern;
use super::shape::{Shape, shape_of};

/// Whether symbols, digits and letters are mixed as only passwords do.
pub(super) fn is_strong(value: &str) -> bool {
    let has = |class: fn(u8) -> bool| value.bytes().filter(|byte| class(*byte)).count();
    let is_entity = || {
        ["&amp;", "&#", "%2", "%3"]
            .iter()
            .any(|it| value.contains(it))
    };
    value.len() >= 7
        && has(|byte| b"!#$%^&*?@".contains(&byte)) >= 1
        && has(|byte| byte.is_ascii_digit()) >= 1
        && has(|byte| byte.is_ascii_alphabetic()) >= 2
        && !value.starts_with(['#', '$', '@', '&'])
        && !value.contains([
            '=', '/', '<', '>', '(', ')', '{', '}', '[', ']', '|', '\\', ',',
        ])
        && !is_entity()
        && !is_colour(value)
        && !NAME.is_match(value)
}

/// Names with a symbol: addresses, issues, cells, inner classes, globs, percentages and version
/// ranges.
static NAME: LazyLock<Regex> = pattern!(
    r"^(?:[\w.+-]+@+[\w.:-]+|\w+!\$?[A-Z]{1,3}\$?\d+|[A-Za-z]{1,7}#\d+|\w[\w.]*(?:\$\w+)+|[\w.-]+[*?]|\d+%.*|[\w.-]*[*^~][\d.]+)$"
);

/// Whether a word ends with a CSS colour.
pub(super) fn is_colour(value: &str) -> bool {
    let colour = value.rsplit_once('#').map(|(_, it)| it);
    colour.is_some_and(|it| {
        matches!(it.len(), 3 | 6 | 8) && it.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Whether a value is the name of a secret and not the secret: `secret "db-prod" not found`. A
/// value that is wrong or refused is a secret.
pub(super) fn looks_like_secret_name(value: &str, behind: &str) -> bool {
    const REFUSED: &str = "incorrect invalid wrong refused rejected denied mismatch";
    let is_part =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_./".contains(&byte);
    let mut behind = behind
        .split(|it: char| !it.is_alphanumeric())
        .filter(|it| !it.is_empty());
    value.contains(['-', '_', '/'])
        && value.bytes().all(is_part)
        && shape_of(value) != Shape::Opaque
        && !behind.by_ref().take(3).any(|it| listed!(REFUSED, it))
}

/// Whether a value is short enough for a code that people type.
pub(super) fn is_short_code(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    (4..=40).contains(&value.len())
        && digits >= 2
        && value
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

pub(super) fn is_year(value: &str) -> bool {
    value.len() == 4 && (value.starts_with("19") || value.starts_with("20"))
}

/// Whether a word has symbols or capitals inside, unlike a word of a sentence.
pub(super) fn has_unusual_spelling(value: &str) -> bool {
    let inside = value.trim_matches(|it: char| !it.is_alphanumeric());
    let has_mark = inside.contains(['.', '_', '-']) && !inside.contains('/');
    let has_capital =
        inside.chars().skip(1).any(char::is_uppercase) && inside.chars().any(char::is_lowercase);
    let is_constant = !inside.bytes().any(|byte| byte.is_ascii_lowercase());
    inside.len() >= 6 && !is_constant && (has_mark || has_capital) && !is_harmless(value)
}

/// Whether a word could be an account or host name: lower case and a number.
pub(super) fn can_be_user_name(value: &str) -> bool {
    let name = value.trim_end_matches(|it: char| it.is_ascii_digit());
    value.len() - name.len() <= 4
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || b"-_.".contains(&byte))
}

/// Whether joined words end with a number, as in made-up passwords: `maple-tree-42`.
pub(super) fn is_numbered(value: &str) -> bool {
    let is_large = |it: char| it.is_uppercase() || !it.is_ascii();
    value.starts_with(char::is_alphabetic)
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && (value.contains(is_large) || value.ends_with(|it: char| it.is_ascii_digit()))
}

/// Whether a value starts with a count: `12h`, `8-digit`.
pub(super) fn starts_with_count(value: &str) -> bool {
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && digits <= 3
}

/// Whether a code is written in groups: `532 860`, `36-79-44`.
pub(super) fn is_spaced_code(value: &str) -> bool {
    let groups = value.split([' ', '-']);
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    (4..=9).contains(&digits)
        && groups.clone().count() >= 2
        && groups
            .into_iter()
            .all(|it| (2..=4).contains(&it.len()) && it.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a code consists of groups of letters: `klvcl-usqib-qmsjm`.
pub(super) fn is_letter_code(value: &str) -> bool {
    let groups = value.split('-');
    let length = groups.clone().next().map_or(0, str::len);
    groups.clone().count() >= 3
        && (3..=8).contains(&length)
        && groups
            .into_iter()
            .all(|it| it.len() == length && it.bytes().all(|byte| byte.is_ascii_alphabetic()))
}

/// Whether a word mixes a script without spaces with Latin letters or digits, as passwords do.
pub(super) fn is_mixed_script(value: &str) -> bool {
    value.contains(|it: char| is_unspaced(it))
        && value.bytes().filter(u8::is_ascii_alphanumeric).count() >= 1
}

/// Function words of other languages.
static JOINTS: WordSet = WordSet::new(
    "au aux ce de des du doit est et la le les ne ou pas peut un une être das dem den der die ein eine hat ist kann mit muss nicht sein und werden wird zu al debe el en es \
    lo los no por puede se ser su una y da deve di essere il non per può che com não een het is kan met moet niet van worden att det inte måste och som er ikke må og skal \
    być do jest może musi na nie za být je musí",
);

/// Whether enough words of a text are function words to make it running text.
pub(super) fn is_running_text(text: &str) -> bool {
    let words = text.split_whitespace();
    let is_small = |it: &&str| is_everyday_word(it) || JOINTS.contains(it);
    words.clone().filter(is_small).count() * 3 > words.count()
}

/// Whether several quoted words can be a passphrase: lower case, and not running text.
pub(super) fn is_phrase(value: &str) -> bool {
    let is_small =
        |byte: u8| byte.is_ascii_lowercase() || b"-'".contains(&byte) || byte.is_ascii_whitespace();
    value.split_whitespace().nth(1).is_some()
        && value.bytes().all(is_small)
        && !is_running_text(value)
}

/// Whether a quoted word can be a password: not a word of sentences about passwords.
pub(super) fn can_be_password(value: &str) -> bool {
    const NAMES: &str = "body email field form header input json login name new old path query request root string user \
        username confirm confirmation current repeat hash salt plain basic bearer digest";
    value.chars().count() >= 4
        && !value.contains(['_', '.', '/', '<', '>', '{', '}'])
        && !is_everyday_word(value)
        && !listed!(NAMES, value)
        && lexicon::mentions(value).next().is_none()
}
