//! Finds secrets in SQL: values written to a sensitive column or compared with one, and values
//! bound to such a statement. Statements are not parsed: if one column is sensitive, every value of
//! the statement that looks like a secret is removed.

use std::sync::LazyLock;

use regex::Regex;

use super::harmless::is_harmless;
use super::names::{is_sensitive_name, listed};
use super::rules::pattern;
use super::shape::{Shape, shape_of};
use super::spans::Spans;

/// A text without any of these words has no statement.
pub(super) const ANCHORS: &str = "insert~into ^select$ ^update$ merge~into delete~from binding~parameter failing~row duplicate~entry duplicate~key parameters params \
    pgp_sym pragma~key connect~to aes_decrypt aes_encrypt hashbytes md5( crypt( identif with~password encrypted~password login~password";

/// A statement up to its values, so that it does not hide the next one.
static INSERT: LazyLock<Regex> =
    pattern!(r"(?i)\binsert\s+into\s[^(;]{1,200}\(([^()]{1,2000})\)\s*values\s*\(");

/// Words without which a text with quotes is not SQL.
static STATEMENT: LazyLock<Regex> = pattern!(
    r"(?i)\bselect\s|\binsert\s+into\s|\bupdate\s+\S+\s+set\s|\bmerge\s+into\s|\bdelete\s+from\s|failing row contains|duplicate entry|duplicate key value|batch insert"
);

/// Values: quoted, in the brackets of bound parameters, or in a rejected row.
static VALUE: LazyLock<Regex> = pattern!(
    r#"'((?:[^'\\\n]|''|\\.){1,200})'|"([^"\n]{1,200})"|<- \[([^\]\n]{1,200})\]|[(,]\s*([^\s(),'"]{8,200})\s*[,)]"#
);

/// Keys of encryption functions, and inputs of hash functions.
static FUNCTION: LazyLock<Regex> = pattern!(
    r"(?i)\b(?:pgp_sym_(?:de|en)crypt(?:_bytea)?|aes_(?:de|en)crypt|(?:de|en)crypt|crypt|md5|sha[12]?|hashbytes|old_password|password)\s*\((?:[^'()]{0,200}?,)?\s*'((?:[^'\n]|''){1,200})'\s*[,)]"
);

/// A password in a statement about a user.
static USER: LazyLock<Regex> = pattern!(
    r"(?i)\b(?:(?:with|encrypted|login|user|role)\s+password|identif\w*\s+(?:with\s+\S+\s+)?by|pragma\s+key\s*=|user\s+\w+\s+using)\s*['\x22]((?:[^'\x22\r\n]|'')+)['\x22]?"
);

static NAME: LazyLock<Regex> = pattern!(r"[A-Za-z0-9_]+");

/// A value in front of its column: `Duplicate entry 'x' for key 'users.token'`.
static REFUSED: LazyLock<Regex> = pattern!(
    r"(?i)duplicate entry '([^'\n]{1,200})' for key '([^'\n]{1,100})'|constraint '([^'\n]{1,100})'[^\n]{0,200}duplicate key value is \(([^)\n]{1,200})\)|field '([\w.]{1,80})': rejected value \[([^\]\n]{1,200})\]|\bkey \(([\w, ]{1,100})\)=\(([^)\n]{1,200})\)"
);

/// Collects the secrets in the statements of a text.
pub(super) fn find(text: &str, spans: &mut Spans) {
    // Most texts with a word of SQL contain no statement.
    if text.contains(['\'', '"', '(', '[']) {
        find_enclosed(text, spans);
    }
    if STATEMENT.is_match(text) && has_sensitive_column(text) {
        find_values(text, spans);
    }
}

/// Collects the secrets between quotes or brackets.
fn find_enclosed(text: &str, spans: &mut Spans) {
    find_inserted(text, spans);
    for pattern in [&*FUNCTION, &*USER] {
        for found in pattern.captures_iter(text).filter_map(|it| it.get(1)) {
            if !is_harmless(found.as_str()) {
                spans.push(found.range());
            }
        }
    }
    for found in REFUSED.captures_iter(text) {
        let pairs = [(1, 2), (4, 3), (6, 5), (8, 7)].into_iter();
        for (value, column) in
            pairs.filter_map(|(value, column)| Some((found.get(value)?, found.get(column)?)))
        {
            if names_secret(column.as_str()) {
                spans.push(value.range());
            }
        }
    }
}

fn find_values(text: &str, spans: &mut Spans) {
    for found in VALUE.captures_iter(text) {
        let value = (1..=4).find_map(|group| found.get(group));
        // A value next to its column is judged by the column.
        let has_column = |start: usize| {
            let head = &text[..start];
            head.ends_with(")=(") || head.ends_with("uplicate entry '")
        };
        let is_pair = |it: &str| found.get(4).is_some() && it.contains(['=', ':']);
        let value = value.filter(|it| !has_column(it.start()) && !is_pair(it.as_str()));
        if let Some(value) = value.filter(|it| is_secret(it.as_str())) {
            spans.push(value.range());
        }
    }
}

fn is_secret(value: &str) -> bool {
    match shape_of(value) {
        Shape::Password | Shape::Opaque => {
            !value.contains(char::is_whitespace) && !value.contains(['"', '\''])
        }
        Shape::Digits => (4..=8).contains(&value.len()),
        Shape::Uuid => true,
        Shape::Word | Shape::KnownFormat => false,
    }
}

/// Whether a statement has a column or a table that contains secrets.
fn has_sensitive_column(text: &str) -> bool {
    const LOOKED_AT: usize = 16 * 1024;
    let text = &text[..text.floor_char_boundary(LOOKED_AT)];
    // A word of a sentence is surrounded by blanks, a column by punctuation or a table name.
    let is_punctuation = |it: char| "=,()`\"'[]<>:;".contains(it);
    NAME.find_iter(text).any(|name| {
        let (head, behind) = (&text[..name.start()], &text[name.end()..]);
        let is_column = || {
            name.as_str().contains('_')
                || behind.trim_start().starts_with(is_punctuation)
                || head.trim_end().ends_with(is_punctuation)
                || head.ends_with('.')
        };
        names_secret(name.as_str()) && is_column()
    })
}

fn names_secret(name: &str) -> bool {
    const TABLES: &str = "access_tokens api_keys api_tokens auth_tokens credentials oauth_tokens otp_codes otps passwords refresh_tokens secrets session_key tokens";
    let is_long = name.len() > 4;
    let part = |it: &str| is_sensitive_name(it) && !it.eq_ignore_ascii_case("secret_name");
    listed!(TABLES, name)
        || is_long
            && name.split(['.', '_']).count() > 0
            && (part(name) || name.rsplit('.').next().is_some_and(part))
        || ["_token", "_api_key", "sessiontoken", "_password", "_secret"]
            .iter()
            .any(|it| name.to_ascii_lowercase().ends_with(it))
}

/// Collects the quoted values of every statement that fills a sensitive column, up to a semicolon:
/// a quoted value may look like the next statement.
fn find_inserted(text: &str, spans: &mut Spans) {
    let mut done = 0;
    for statement in INSERT.captures_iter(text) {
        let start = statement.get_match().end();
        let sensitive = |column: &str| is_sensitive_name(column.trim());
        if start >= done && statement[1].split(',').any(sensitive) {
            let end = text[start..].find(';').map_or(text.len(), |at| start + at);
            quoted(&text[start..end], start, spans);
            done = end;
        }
    }
}

/// Collects the text between single quotes; an open quote reaches to the end.
fn quoted(values: &str, offset: usize, spans: &mut Spans) {
    let mut open = None;
    for (at, _) in values.match_indices('\'') {
        match open.take() {
            None => open = Some(at + 1),
            Some(start) => spans.push(offset + start..offset + at),
        }
    }
    if let Some(start) = open {
        spans.push(offset + start..offset + values.len());
    }
}
