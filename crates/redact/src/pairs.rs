//! Finds values by the name in front of them anywhere in a text: `password=x`, `"password": "x"`,
//! `--password x`, `password is x`, `<password>x<`, `?sig=x`, also escaped or percent-encoded.
//! `values` decides where a value ends, `accept` whether it is a secret.

mod accept;

use std::ops::Range;

use super::glyphs::{Glyph, glyph, skip_blanks};
use super::harmless::is_harmless;
use super::names::{is_credible, is_sentence_word, phrase_strength, strength};
use super::passwords::looks_like_secret_name;
use super::prose::is_sentence;
use super::sentences::is_in_address;
use super::shape::is_path as is_file_path;
use super::spans::Spans;
use super::values::{Context, Extent, Form, contains_word, extent};
use super::word_lists::{QUERY_ONLY, Strength};
use super::{layouts, prefilter};
use accept::{
    accepts, contains_remark, continues_as_sentence, is_followed_by_remark, is_name_of_pair,
    is_operation, is_part_of_sentence, is_start_of_remark, is_unrelated_name, is_word,
};

/// A text without any of these stems has no sensitive name or secret query parameter.
pub(super) const STEMS: &str = "\
    password passwd passphrase passcode pass$ pwd ^pw$ ^seed$ privkey passwort kennwort wachtwoord ^senha secret token authoriz authoris bearer \
    credential ^cred$ cookie sessid jsession key$ key%3d psk$ ^dsn$ ^ssn$ cvv cvc credit~card \
    debit~card card~n card~pin ^cc~n ^pin$ pin~code pin~number user~pin otp$ basic~auth \
    http~auth _auth auth~header auth~code access~code backup~code device~code mfa~code \
    authorization~code authorisation~code time~code recovery~code security~code verification~code conn~string \
    connection~string mnemonic~phrase recovery~phrase seed~phrase social~security \
    access~signature code~verifier sig= sig%3d signature= signature%3d hmac= assertion= \
    samlresponse= samlrequest= auth= sid= appid= ticket= code= code%3d";

/// Collects the value after every sensitive name in the text.
pub(super) fn find(text: &str, spans: &mut Spans) {
    let (mut done, mut work) = (0, 0);
    prefilter::each_name_stem(text.as_bytes(), |end| {
        if end <= done {
            return;
        }
        let name = Name::around(text, end - 1, done);
        done = name.range.end;
        if let Some(value) = name.value_before(text) {
            spans.push(value);
        }
        if let Some((value, accepted)) = name.value(text) {
            work += value.len();
            if work > text.len() * OVERLAP_LIMIT {
                done = done.max(value.end);
            }
            if accepted {
                spans.push(value);
            }
        }
    });
}

/// Names inside values are read too, because an open quote could hide the next name. Once all
/// values together are this many times longer than the text, names inside values are skipped.
const OVERLAP_LIMIT: usize = 8;

/// Longer identifiers are cut: a name is read around its stem.
const NAME_LIMIT: usize = 96;

/// An identifier in the text, and the character in front of it.
struct Name {
    range: Range<usize>,
    before: Option<u8>,
    is_flag: bool,
}

/// What joins a name to its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    /// `"name": value`, as in data formats.
    Quoted,
    /// `name=value` or `--name value`: certainly a pair.
    Pair,
    /// `name: value`.
    Colon,
    /// `name is value`.
    Is,
    /// `name value`.
    Adjacent,
}

impl Link {
    fn form(self, strength: Strength) -> Form {
        match (self, strength) {
            (Self::Quoted | Self::Pair, _) | (Self::Colon, Strength::Firm) => Form::Structure,
            (Self::Colon, Strength::Loose) => Form::Header,
            (Self::Is | Self::Adjacent, _) => Form::Word,
        }
    }
}

impl Name {
    fn around(text: &str, at: usize, floor: usize) -> Self {
        let bytes = text.as_bytes();
        let floor = floor.max(at.saturating_sub(NAME_LIMIT));
        let mut start = at;
        while start > floor && is_name_byte(bytes[start - 1]) {
            start -= 1;
        }
        let mut end = at;
        while end < bytes.len() && end - at < NAME_LIMIT && is_name_byte(bytes[end]) {
            end += 1;
        }
        let (escape, before) = leading_escape(bytes, start, at);
        start += escape;
        let dashes = bytes[start..at]
            .iter()
            .take_while(|byte| **byte == b'-')
            .count();
        Self {
            range: start + dashes..end,
            before,
            is_flag: dashes > 0 && before.is_none_or(|byte| !byte.is_ascii_alphanumeric()),
        }
    }

    /// The value in front of the name.
    fn value_before(&self, text: &str) -> Option<Range<usize>> {
        let value = layouts::value_before(text.as_bytes(), self.range.start)?;
        self.strength(text).map(|_| value)
    }

    /// The value of the name, and whether it is accepted as a secret.
    fn value(&self, text: &str) -> Option<(Range<usize>, bool)> {
        let bytes = text.as_bytes();
        let strength = self.strength(text)?;
        if let Some(content) = self.element_content(bytes) {
            let accepted = !is_harmless(&text[content.clone()]);
            return Some((content, accepted));
        }
        if let Some(content) = layouts::next_element(bytes, skip_closers(bytes, self.range.end).1) {
            let value = text[content.clone()].trim();
            let is_shaped = strength == Strength::Firm || is_credible(value);
            let is_code = value.contains(" = ") || value.ends_with("()");
            let is_large = value.starts_with(|it: char| it.is_ascii_uppercase());
            let is_text = is_word(value) && is_large && !value.contains(['-', '_', '.']);
            let is_shaped = is_shaped && !is_text && value.contains(char::is_alphanumeric);
            let accepted = is_shaped
                && !is_code
                && !is_harmless(value)
                && !is_sentence(value)
                && !is_sentence_word(value);
            return Some((content, accepted));
        }
        if let Some(argument) = layouts::next_argument(bytes, self.range.clone()) {
            let accepted = !is_harmless(&text[argument.clone()]);
            return Some((argument, accepted));
        }
        let (quoted, after) = skip_closers(bytes, skip_participle(bytes, self.range.end));
        let (link, separator, start) = self.link(bytes, quoted, after)?;
        if link == Link::Colon
            && let Some(block) = layouts::yaml_value(bytes, self.range.start, start)
        {
            let accepted = !is_sentence(&text[block.clone()]) && !is_harmless(&text[block.clone()]);
            return Some((block, accepted));
        }
        if link == Link::Colon
            && !quoted
            && skip_blanks(bytes, start, true) != skip_blanks(bytes, start, false)
        {
            return None;
        }
        let link = match self.query_only(text) {
            Some(Strength::Loose) => Link::Adjacent,
            _ if quoted => Link::Quoted,
            _ => link,
        };
        let context = Context {
            name: &text[self.range.clone()],
            in_query: self.is_in_query(),
            is_encoded: separator.is_some_and(Glyph::is_encoded),
            crosses_lines: quoted,
            enclosing: self.before.filter(|byte| b"\"'`".contains(byte)),
            form: link.form(strength),
        };
        let is_closed = |it: u8| bytes.get(skip_blanks(bytes, start, false)) == Some(&it);
        if !quoted && context.enclosing.is_some_and(is_closed) {
            return None;
        }
        let mut found = extent(text, start, &context)?;
        let begins_sentence = is_harmless(&text[found.range.clone()]);
        if link == Link::Colon
            && contains_word(context.name, "pass")
            && !found.quoted
            && !begins_sentence
        {
            found.range.end = phrase_end(bytes, found.range.end);
        }
        let value = &text[found.range.clone()];
        let is_next_name = !found.quoted && is_name_of_pair(bytes, &found.range);
        let is_metavariable = self.is_flag
            && value
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        let is_declared = ["type ", "class ", "interface ", "enum ", "struct "]
            .iter()
            .any(|it| text[..self.range.start].ends_with(it));
        let is_other_pair = link == Link::Adjacent
            && value
                .split_once('=')
                .is_some_and(|(name, rest)| !rest.is_empty() && is_unrelated_name(name));
        let accepted = !is_next_name
            && !is_other_pair
            && !value.eq_ignore_ascii_case(context.name)
            && !is_metavariable
            && !is_declared
            && (found.quoted || !is_file_path(value))
            && !self.is_in_resource_name(bytes)
            && !self.is_code_location(bytes, &found.range)
            && !self.is_name_of_secret(text, &found)
            && !contains_remark(&text[found.range.clone()], &found)
            && !is_followed_by_remark(text, &found, link)
            && !is_start_of_remark(text, &found, link)
            && (self.is_header(context.name) || !is_part_of_sentence(text, &found, link))
            && !(link == Link::Colon && (self.is_logger(text) || is_operation(context.name)))
            && !(link == Link::Adjacent && !self.is_in_query() && self.ends_address(text))
            && !continues_as_sentence(text, start, &found, link)
            && accepts(
                &text[found.range.clone()],
                &found,
                link,
                strength,
                context.name,
            );
        Some((found.range, accepted))
    }

    fn strength(&self, text: &str) -> Option<Strength> {
        let name = &text[self.range.clone()];
        if is_file(name) {
            return None;
        }
        if let Some(strength) = self.query_only(text) {
            return Some(strength);
        }
        if name.eq_ignore_ascii_case("code") {
            let grant = self.is_in_query() && is_grant(text, self.range.start);
            return phrase_strength(self.phrase(text)).or(grant.then_some(Strength::Firm));
        }
        let is_set = text.as_bytes().get(self.range.end) == Some(&b'=');
        let words_inside = name.contains(['_', '-', '.']) || is_camel(name) || is_set;
        phrase_strength(self.phrase(text)).or_else(|| strength(name).filter(|_| words_inside))
    }

    fn query_only(&self, text: &str) -> Option<Strength> {
        let name = &text[self.range.clone()];
        let row = QUERY_ONLY
            .iter()
            .find(|(entry, _)| entry.eq_ignore_ascii_case(name));
        row.map(|(_, strength)| *strength)
            .filter(|_| self.is_in_query())
    }

    fn is_in_query(&self) -> bool {
        matches!(self.before, Some(b'?' | b'&' | b'#' | b';'))
    }

    /// The name with the words before it, which may qualify it (`api key`, `next page token`).
    fn phrase<'a>(&self, text: &'a str) -> &'a str {
        const WORDS_BEFORE: usize = 3;
        let bytes = text.as_bytes();
        let mut start = self.range.start;
        for _ in 0..WORDS_BEFORE {
            let Some(space) = start.checked_sub(1).filter(|at| bytes[*at] == b' ') else {
                break;
            };
            let floor = space.saturating_sub(NAME_LIMIT);
            let mut word = space;
            while word > floor && is_name_byte(bytes[word - 1]) {
                word -= 1;
            }
            if word == space {
                break;
            }
            start = word;
        }
        &text[start..self.range.end]
    }

    fn link(
        &self,
        bytes: &[u8],
        quoted: bool,
        after: usize,
    ) -> Option<(Link, Option<Glyph>, usize)> {
        let at = skip_blanks(bytes, after, quoted);
        let found = glyph(bytes, at)?;
        if self.before == Some(b'(') && bytes[at..].starts_with(b")=(") {
            return Some((Link::Pair, None, at + b")=(".len()));
        }
        if let Some(body) = layouts::part_body(bytes, self.range.start, after) {
            return Some((Link::Pair, None, body));
        }
        match found.character {
            // A comparison is not an assignment.
            b'=' if bytes[at..].starts_with(b"== ") => None,
            b'=' => Some((
                Link::Pair,
                Some(found),
                layouts::skip_type(bytes, skip_marks(bytes, at + found.length)),
            )),
            b':' if is_path(bytes, at + found.length) => None,
            b':' => Some((
                Link::Colon,
                Some(found),
                skip_marks(bytes, at + found.length),
            )),
            b'-' if bytes.get(at + 1) == Some(&b'>') => Some((Link::Pair, None, at + 2)),
            _ if quoted => sibling_value(bytes, at).map(|start| (Link::Pair, None, start)),
            _ if layouts::is_listed_name(bytes, self.range.start) => {
                let at = skip_blanks(bytes, at, true);
                sibling_value(bytes, at).map(|start| (Link::Pair, None, start))
            }
            _ if at == after => None,
            // In a list of flags, two blanks separate a flag from its description.
            _ if self.is_flag => Some((Link::Pair, None, at))
                .filter(|_| found.character != b'-' && !bytes[after..].starts_with(b"  ")),
            _ => Some(
                verb_end(bytes, at).map_or((Link::Adjacent, None, at), |end| (Link::Is, None, end)),
            ),
        }
    }

    /// Whether the name is a file and the value a line in it, or the name itself is a value.
    fn is_code_location(&self, bytes: &[u8], value: &Range<usize>) -> bool {
        let name = &bytes[self.range.clone()];
        let value_bytes = &bytes[value.clone()];
        let is_file = name.contains(&b'.') && value_bytes.first().is_some_and(u8::is_ascii_digit);
        let is_line = value_bytes
            .iter()
            .all(|byte| byte.is_ascii_digit() || *byte == b':');
        let is_default = bytes[..self.range.start].ends_with(b"${");
        let is_mail_id = bytes[value.end..].starts_with(b" - gsmtp");
        is_file && is_line
            || is_mail_id
            || is_default
            || self.before == Some(b'=') && bytes.get(self.range.end) == Some(&b']')
    }

    /// Whether the value is the name of a secret and not the secret.
    fn is_name_of_secret(&self, text: &str, found: &Extent) -> bool {
        let value = &text[found.range.clone()];
        let name = text[..self.range.end].trim_end_matches('s');
        let is_said =
            name.ends_with("ecret") && looks_like_secret_name(value, &text[found.range.end..]);
        let is_managed = self.is_flag
            && value.contains('-')
            && text[..self.range.start].contains("gcloud secrets");
        is_said || is_managed
    }

    /// Whether the name is that of a header, so that the rest is its value.
    fn is_header(&self, name: &str) -> bool {
        name.contains('-') && !self.is_flag && self.before != Some(b'/')
    }

    /// Whether the name is the end of a URL, so that the next word is not its value.
    fn ends_address(&self, text: &str) -> bool {
        text[self.range.end..].starts_with(' ') && is_in_address(&text[..self.range.start])
    }

    /// Whether the name is the logger of a log line: `o.e.auth.TokenFilter   : refused`.
    fn is_logger(&self, text: &str) -> bool {
        let name = &text[self.range.clone()];
        let class = name.rsplit_once('.').map(|(_, class)| class);
        class.is_some_and(|it| it.starts_with(|first: char| first.is_ascii_uppercase()))
            && (text[self.range.end..].starts_with(' ') || name.matches('.').count() > 1)
    }

    /// Whether the name is part of a cloud resource name, which is joined by colons.
    fn is_in_resource_name(&self, bytes: &[u8]) -> bool {
        let floor = self.range.start.saturating_sub(NAME_LIMIT);
        let head = &bytes[floor..self.range.start];
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`(<[=,".contains(byte);
        let start = head.iter().rposition(ends).map_or(0, |at| at + 1);
        self.before == Some(b':') && head[start..].starts_with(b"arn:")
    }

    /// The text of an element with this name.
    fn element_content(&self, bytes: &[u8]) -> Option<Range<usize>> {
        const ATTRIBUTES_LIMIT: usize = 512;
        let prefixed = self.before == Some(b':') && opens_with_prefix(bytes, self.range.start - 1);
        let entity = bytes[..self.range.start].ends_with(b"&lt;");
        if self.before != Some(b'<') && !prefixed && !entity {
            return None;
        }
        let limit = bytes.len().min(self.range.end + ATTRIBUTES_LIMIT);
        let (end, mark) = find_bracket(&bytes[..limit], self.range.end, b"<>")?;
        if mark.character == b'<' || bytes[end - 1] == b'/' {
            return None;
        }
        const OPENING: &[u8] = b"<![CDATA[";
        let start = end + mark.length;
        if bytes[start..].starts_with(OPENING) {
            let start = start + OPENING.len();
            let length = bytes[start..].windows(3).position(|it| it == b"]]>");
            return Some(start..length.map_or(bytes.len(), |length| start + length));
        }
        // Between plain brackets, encoded ones belong to the text.
        let close = match mark.is_encoded() {
            true => find_bracket(bytes, start, b"<").map(|(at, mark)| (at, mark.length)),
            false => {
                let found = bytes[start..].iter().position(|byte| *byte == b'<');
                found.map(|length| (start + length, 1))
            }
        };
        // A name in angle brackets is an element only if it is closed.
        let is_closed = close.is_none_or(|(at, length)| {
            glyph(bytes, at + length).is_some_and(|it| it.character == b'/')
        });
        let is_cut = close.is_none() && !bytes.trim_ascii_start().starts_with(b"<");
        (is_closed && !is_cut).then(|| start..close.map_or(bytes.len(), |(at, _)| at))
    }
}

/// The first of the brackets from `at` on, in any encoding.
fn find_bracket(bytes: &[u8], mut at: usize, brackets: &[u8]) -> Option<(usize, Glyph)> {
    while let Some(found) = glyph(bytes, at) {
        if brackets.contains(&found.character) {
            return Some((at, found));
        }
        at += found.length;
    }
    None
}

/// The end of a passphrase of plain words that fills the line, given the end of its first word.
fn phrase_end(bytes: &[u8], at: usize) -> usize {
    const PHRASE_LIMIT: usize = 96;
    let is_part = |byte: &&u8| byte.is_ascii_alphabetic() || b" -'".contains(*byte);
    let rest = &bytes[at..];
    let length = rest.iter().take(PHRASE_LIMIT).take_while(is_part).count();
    let trailing = rest[..length]
        .iter()
        .rev()
        .take_while(|byte| **byte == b' ')
        .count();
    match rest.get(length) {
        None | Some(b'\n' | b'\r' | b'"' | b'\\' | b']' | b'.') => at + length - trailing,
        _ => at,
    }
}

/// Whether a name is that of a source file.
fn is_file(name: &str) -> bool {
    const ENDINGS: &str =
        "py rb js ts jsx tsx go rs java kt php cs c h cpp ex exs erl swift scala html";
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|it| ENDINGS.split_ascii_whitespace().any(|known| known == it))
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'$')
}

fn is_camel(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes
        .windows(2)
        .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
        || bytes.iter().any(u8::is_ascii_digit)
}

/// The number of bytes at the start of an identifier that belong to the escape in front of it, and
/// the decoded character.
fn leading_escape(bytes: &[u8], start: usize, at: usize) -> (usize, Option<u8>) {
    let Some(previous) = start.checked_sub(1) else {
        return (0, None);
    };
    let escape = glyph(bytes, previous).filter(|found| {
        matches!(bytes[previous], b'%' | b'\\')
            && found.is_encoded()
            && previous + found.length <= at
    });
    escape.map_or((0, Some(bytes[previous])), |found| {
        (found.length - 1, Some(found.character))
    })
}

/// Skips a word between a name and its colon ("api key provided: x").
fn skip_participle(bytes: &[u8], at: usize) -> usize {
    const PARTICIPLES: &[&[u8]] = &[
        b" provided",
        b" supplied",
        b" given",
        b" received",
        b" value",
    ];
    let found = PARTICIPLES.iter().find(|word| {
        let end = at + word.len();
        let same = bytes
            .get(at..end)
            .is_some_and(|have| have.eq_ignore_ascii_case(word));
        same && matches!(bytes.get(end), Some(b':' | b'='))
    });
    at + found.map_or(0, |word| word.len())
}

/// Skips quotes, brackets and emphasis that close a name. Returns whether there was a quote.
fn skip_closers(bytes: &[u8], mut at: usize) -> (bool, usize) {
    let mut quoted = false;
    while let Some(found) = glyph(bytes, at) {
        let closes = found.is_quote() || matches!(found.character, b']' | b'*');
        if !closes {
            break;
        }
        quoted |= found.is_quote();
        at += found.length;
    }
    (quoted, at)
}

/// Skips the rest of a separator: `=>`, `:=`, `==`, and emphasis after it.
fn skip_marks(bytes: &[u8], mut at: usize) -> usize {
    const MARKS_LIMIT: usize = 4;
    for _ in 0..MARKS_LIMIT {
        match glyph(bytes, at) {
            Some(mark) if matches!(mark.character, b'=' | b'>' | b'*') => at += mark.length,
            _ => break,
        }
    }
    at
}

/// Whether a colon continues as `::` or `://`, which join paths and not pairs.
fn is_path(bytes: &[u8], after: usize) -> bool {
    bytes.get(after) == Some(&b':') || bytes[after..].starts_with(b"//")
}

/// The end of `is` or `was` with an optional colon.
fn verb_end(bytes: &[u8], at: usize) -> Option<usize> {
    [&b"is"[..], b"was"].iter().find_map(|verb| {
        let end = at + verb.len();
        let same = bytes.get(at..end)?.eq_ignore_ascii_case(verb);
        match bytes.get(end) {
            Some(b' ') if same => Some(end),
            Some(b':') if same => Some(end + 1),
            _ => None,
        }
    })
}

/// The value in `{"name": "password", "value": "x"}` and `name="password" value="x"`.
fn sibling_value(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at;
    if glyph(bytes, at)?.character == b',' {
        at = skip_blanks(bytes, at + 1, true);
    }
    let open = glyph(bytes, at)?;
    if open.is_quote() {
        at += open.length;
    }
    let end = at + b"value".len();
    if !bytes.get(at..end)?.eq_ignore_ascii_case(b"value") {
        return None;
    }
    let (_, at) = skip_closers(bytes, end);
    let at = skip_blanks(bytes, at, true);
    let separator = glyph(bytes, at)?;
    matches!(separator.character, b'=' | b':').then_some(at + separator.length)
}

fn opens_with_prefix(bytes: &[u8], colon: usize) -> bool {
    const PREFIX_LIMIT: usize = 32;
    let floor = colon.saturating_sub(PREFIX_LIMIT);
    let mut at = colon;
    while at > floor && is_name_byte(bytes[at - 1]) {
        at -= 1;
    }
    at > 0 && bytes[at - 1] == b'<'
}

/// Whether a `code` parameter belongs to an authorization response.
fn is_grant(text: &str, at: usize) -> bool {
    const REACH: usize = 256;
    const MARKS: &[&str] = &["state=", "state%", "grant_type=", "grant_type%"];
    let start = text.floor_char_boundary(at.saturating_sub(REACH));
    let end = text.floor_char_boundary((at + REACH).min(text.len()));
    let before = text[start..at].rsplit(char::is_whitespace).next();
    let after = text[at..end].split(char::is_whitespace).next();
    [before, after]
        .into_iter()
        .flatten()
        .any(|part| MARKS.iter().any(|mark| part.contains(mark)))
}

#[cfg(test)]
mod tests;
