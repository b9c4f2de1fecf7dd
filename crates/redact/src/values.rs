//! Decides where the value after a sensitive name ends: a quoted string, a bracketed structure, a
//! credential after its scheme, a chain of cookies, or one bare word.

use std::ops::Range;

use super::REPLACEMENT;
use super::glyphs::{Glyph, glyph, skip_blanks};
use super::harmless::is_harmless;
use super::names::{is_credible, is_sentence_word, listed, position};

/// The context of a value that affects where it ends.
pub(super) struct Context<'a> {
    pub(super) name: &'a str,
    /// Whether the name is a query parameter, so that `&` and `#` always end the value.
    pub(super) in_query: bool,
    /// Whether the separator was encoded, so that encoded delimiters end the value too.
    pub(super) is_encoded: bool,
    /// Whether the value may be on a later line than its name.
    pub(super) crosses_lines: bool,
    /// The quote right before the name; a header inside it ends at the closing quote.
    pub(super) enclosing: Option<u8>,
    pub(super) form: Form,
}

/// What the value may be besides a string or a word; each form includes the previous ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    /// Nothing else.
    Word,
    /// A scheme with its credential, or a chain of cookies.
    Header,
    /// A bracketed structure.
    Structure,
}

/// The range of a value, and what its form shows.
pub(super) struct Extent {
    pub(super) range: Range<usize>,
    pub(super) quoted: bool,
    /// Whether the form alone shows that it is a secret.
    pub(super) certain: bool,
}

/// The value that starts at `at` or after the blanks there.
pub(super) fn extent(text: &str, at: usize, context: &Context<'_>) -> Option<Extent> {
    let bytes = text.as_bytes();
    let start = skip_blanks(bytes, at, context.crosses_lines);
    let first = glyph(bytes, start)?;
    if first.is_quote() {
        let start = start + first.length;
        let end = closing(bytes, start, first);
        return Some(Extent {
            range: start..end,
            quoted: true,
            certain: false,
        });
    }
    let opens = matches!(first.character, b'{' | b'[') && !text[start..].starts_with(REPLACEMENT);
    if opens && context.form == Form::Structure && !context.in_query {
        return Some(certain(start..structure_end(bytes, start)));
    }
    if let Some(range) = credential(text, start, context) {
        return Some(certain(range));
    }
    if context.form >= Form::Header
        && contains_word(context.name, "authori")
        && let Some(found) = authorization(text, start, context)
    {
        return found.map(certain);
    }
    if context.form >= Form::Header
        && contains_word(context.name, "cookie")
        && let Some(range) = cookies(text, start, context)
    {
        return Some(certain(range));
    }
    let range = start..bare_end(bytes, start, context);
    (!range.is_empty()).then_some(Extent {
        range,
        quoted: false,
        certain: false,
    })
}

fn certain(range: Range<usize>) -> Extent {
    Extent {
        range,
        quoted: false,
        certain: true,
    }
}

/// The end of the string that `open` opened, or the end of a truncated text.
fn closing(bytes: &[u8], start: usize, open: Glyph) -> usize {
    let raw = &bytes[start - open.length..start];
    if !matches!(raw[0], b'\\' | b'"' | b'\'' | b'`') || raw.ends_with(b"2") || raw.ends_with(b"7")
    {
        let same = |window: &[u8]| window.eq_ignore_ascii_case(raw);
        let found = bytes[start..].windows(raw.len()).position(same);
        return found.map_or(bytes.len(), |length| start + length);
    }
    // An escaped quote closes if it has as many backslashes as the opening one. More are a deeper
    // level of escaping; fewer belong to the outer string.
    let level = raw.len() - 1;
    let mut slashes = 0;
    for (at, byte) in bytes.iter().enumerate().skip(start) {
        let doubled = *byte == b'\'' && bytes.get(at + 1) == Some(&b'\'');
        if doubled && at > start || at > start + 1 && *byte == b'\'' && bytes[at - 1] == b'\'' {
            slashes = 0;
            continue;
        }
        if *byte == open.character && (slashes < level || slashes % (2 * raw.len()) == level) {
            return at - slashes.min(level);
        }
        if *byte == b'\n' && open.character != b'"' {
            return at;
        }
        slashes = if *byte == b'\\' { slashes + 1 } else { 0 };
    }
    bytes.len()
}

/// The end of the bracket at `start`, skipping strings, or the end of a truncated text.
fn structure_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0usize;
    let mut at = start;
    while let Some(found) = glyph(bytes, at) {
        at += found.length;
        match found.character {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            b'"' => {
                let end = closing(bytes, at, found);
                at = (end + found.length).min(bytes.len());
            }
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

/// Whether the credential of an authentication scheme is the next word.
pub(super) fn is_word_scheme(scheme: &str) -> bool {
    listed!(
        "bearer basic token apikey negotiate ntlm bot splunk",
        scheme
    )
}

/// Whether the credential of an authentication scheme is a list of parameters.
fn is_list_scheme(scheme: &str) -> bool {
    listed!("digest hawk oauth signature mac aws4-hmac-sha256", scheme)
}

/// The credential after the scheme in an authorization header.
fn credential(text: &str, start: usize, context: &Context<'_>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    if context.form == Form::Word || !contains_word(context.name, "auth") {
        return None;
    }
    let length = bytes[start..]
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-')
        .count();
    let scheme = &text[start..start + length];
    let from = skip_blanks(bytes, start + length, false);
    if from == start + length {
        return None;
    }
    if is_list_scheme(scheme) {
        let line = bytes[from..]
            .iter()
            .position(|byte| matches!(byte, b'\n' | b'\r'));
        let end = line.map_or(bytes.len(), |line| from + line);
        // Parameters may contain quotes, so only a credential without parameters ends at the
        // closing quote.
        let string = from..header_end(bytes, from, context);
        let is_list = bytes[string.clone()].contains(&b'=');
        return Some(if is_list { from..end } else { string });
    }
    let end = bare_end(bytes, from, context);
    (is_word_scheme(scheme) && !is_sentence_word(&text[from..end])).then_some(from..end)
}

/// The credential after an unknown scheme in an authorization header: `Some(None)` if it is a
/// sentence, `None` if there is no scheme.
fn authorization(text: &str, start: usize, context: &Context<'_>) -> Option<Option<Range<usize>>> {
    let bytes = text.as_bytes();
    let is_scheme = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'-';
    let length = bytes[start..].iter().take_while(is_scheme).count();
    let from = skip_blanks(bytes, start + length, false);
    if length == 0 || from == start + length || context.in_query {
        return None;
    }
    let end = header_end(bytes, from, context);
    let scheme = &text[start..start + length];
    let rest = text.get(from..end).filter(|rest| !rest.is_empty())?;
    let word = scheme.starts_with(|first: char| first.is_ascii_lowercase());
    let plain = rest.len() <= SENTENCE_LIMIT
        && (word || is_sentence_word(scheme))
        && rest
            .split(|letter: char| letter.is_whitespace() || letter.is_ascii_punctuation())
            .any(is_sentence_word)
        && !rest.split_whitespace().any(is_credible);
    let from = if is_credible(scheme) { start } else { from };
    Some((!plain).then_some(from..end))
}

/// A longer header is not a sentence; reading on would be slow for a line of many headers.
const SENTENCE_LIMIT: usize = 160;

/// The end of a header: the end of its line or of the enclosing string.
fn header_end(bytes: &[u8], mut at: usize, context: &Context<'_>) -> usize {
    while let Some(found) = glyph(bytes, at) {
        let line = matches!(found.character, b'\n' | b'\r');
        let string = context.enclosing == Some(found.character);
        let query = context.is_encoded && (bytes[at].is_ascii_whitespace() || bytes[at] == b'&');
        if line || string || query {
            break;
        }
        at += found.length;
    }
    at.min(bytes.len())
}

/// A chain of cookies, joined by semicolons or commas.
fn cookies(text: &str, start: usize, context: &Context<'_>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    if context.is_encoded {
        // In an encoded header no delimiter is certain, so all of it is removed.
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b"&\"'<>".contains(byte);
        let length = bytes[start..].iter().position(ends);
        return Some(start..length.map_or(bytes.len(), |length| start + length));
    }
    let mut end = cookie_end(bytes, start, context);
    if !text.get(start..end)?.contains('=') {
        return None;
    }
    loop {
        end = date_end(bytes, end);
        if !matches!(bytes.get(end), Some(b';' | b',')) {
            break;
        }
        let next = skip_blanks(bytes, end + 1, false);
        let next_end = cookie_end(bytes, next, context);
        if next_end == next {
            break;
        }
        end = next_end;
    }
    (!is_empty_chain(&text[start..end])).then_some(start..end)
}

/// Whether a chain has only attributes and empty cookies.
fn is_empty_chain(chain: &str) -> bool {
    const ATTRIBUTES: &str =
        "domain expires httponly max-age partitioned path priority samesite secure";
    chain.split(';').all(|cookie| {
        let (name, value) = cookie.trim().split_once('=').unwrap_or((cookie.trim(), ""));
        listed!(ATTRIBUTES, name) || is_harmless(value)
    })
}

/// The end of the date in `Expires=Wed, 21 Oct 2026 07:28:00 GMT`, from its first blank on.
fn date_end(bytes: &[u8], at: usize) -> usize {
    const DATE_LENGTH: usize = 22;
    let end = (at + DATE_LENGTH).min(bytes.len());
    let zone = bytes[at..end]
        .windows(3)
        .position(|window| window == b"GMT");
    zone.map_or(at, |length| at + length + 3)
}

fn cookie_end(bytes: &[u8], start: usize, context: &Context<'_>) -> usize {
    let semicolon = bytes[start..]
        .iter()
        .position(|byte| matches!(byte, b';' | b',') || byte.is_ascii_whitespace())
        .map_or(bytes.len(), |length| start + length);
    bare_end(&bytes[..semicolon], start, context)
}

/// The end of a value without quotes.
fn bare_end(bytes: &[u8], start: usize, context: &Context<'_>) -> usize {
    let mut at = start;
    while at < bytes.len() && !bytes[at].is_ascii_whitespace() {
        if bytes[at..].starts_with(REPLACEMENT.as_bytes()) {
            at += REPLACEMENT.len();
            continue;
        }
        let found = mark(bytes, at, context);
        if ends_value(bytes, at, found, context) {
            break;
        }
        at += found.length;
    }
    let at = at.min(bytes.len());
    let ended = bytes.get(at).is_none_or(u8::is_ascii_whitespace);
    let dots = bytes[start..at]
        .iter()
        .rev()
        .take_while(|byte| **byte == b'.')
        .count();
    if ended && dots < at - start {
        at - dots
    } else {
        at
    }
}

/// Decodes a delimiter only if the whole pair is encoded; a backslash always escapes a quote.
fn mark(bytes: &[u8], at: usize, context: &Context<'_>) -> Glyph {
    let plain = Glyph {
        character: bytes[at],
        length: 1,
    };
    let found = glyph(bytes, at).unwrap_or(plain);
    let escaped_quote = bytes[at] == b'\\' && found.is_quote();
    if context.is_encoded || escaped_quote || !found.is_encoded() || bytes[at] == b'&' {
        found
    } else {
        plain
    }
}

fn ends_value(bytes: &[u8], at: usize, found: Glyph, context: &Context<'_>) -> bool {
    let after = at + found.length;
    let next = bytes.get(after).copied();
    match found.character {
        b'&' | b'#' if context.in_query => true,
        b'&' | b'#' | b'"' | b'\'' | b' ' | b'\n' | b'\r' if found.is_encoded() => true,
        b'&' | b',' | b';' | b'|' => {
            next.is_none_or(|byte| byte.is_ascii_whitespace() || b"\"'\\{}[]()<>".contains(&byte))
                || starts_pair(bytes, after)
        }
        b'"' | b'\'' | b'`' | b')' | b']' | b'}' | b'>' | b'<' => {
            next.is_none_or(|byte| !byte.is_ascii_alphanumeric()) || starts_pair(bytes, after)
        }
        _ => false,
    }
}

/// Whether another `name=` or `name:` starts here.
fn starts_pair(bytes: &[u8], at: usize) -> bool {
    const NAME_LIMIT: usize = 48;
    let rest = &bytes[at.min(bytes.len())..];
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-. []\"'".contains(*byte);
    let length = rest.iter().take(NAME_LIMIT).take_while(is_part).count();
    length > 0 && matches!(rest.get(length), Some(b'=' | b':' | b'%'))
}

/// Whether a name contains the word, in any case.
pub(super) fn contains_word(name: &str, word: &str) -> bool {
    position(name, word).is_some()
}
