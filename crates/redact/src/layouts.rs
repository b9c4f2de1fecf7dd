//! Locates values that do not directly follow their name: on the next lines (YAML, multipart
//! forms), next to it in a list of names and values, after a type, or in front of it. Whether a
//! value is secret is decided elsewhere.

use std::ops::Range;

use super::glyphs::{glyph, skip_blanks};
use super::names::listed;

/// The value of a YAML name whose colon ends at `at`: a block, or text alone on the next line.
pub(super) fn yaml_value(bytes: &[u8], name_start: usize, at: usize) -> Option<Range<usize>> {
    let mark = skip_blanks(bytes, at, false);
    let is_block = matches!(bytes.get(mark), Some(b'|' | b'>'));
    let is_header =
        |byte: &&u8| is_block && matches!(**byte, b'|' | b'>' | b'+' | b'-' | b'1'..=b'9');
    let header = bytes[mark..].iter().take(3).take_while(is_header).count();
    let mut line = next_line(bytes, mark + header)?;
    let outer = indent(bytes, line_start(bytes, name_start));
    let (start, mut end) = (line + indent(bytes, line), line);
    while indent(bytes, line) > outer {
        end = line_end(bytes, line);
        match next_line(bytes, end).filter(|_| is_block) {
            Some(next) => line = next,
            None => break,
        }
    }
    let is_text = is_block || !is_nested(&bytes[start.min(end)..end]);
    (start < end && is_text).then_some(start..end)
}

/// The start of the body of a form part whose name closes at `after`.
pub(super) fn part_body(bytes: &[u8], name_start: usize, after: usize) -> Option<usize> {
    let head = &bytes[..name_start];
    let named = head.ends_with(b"name=\"") || head.ends_with(b"name=\\\"");
    let gaps = [&b"\r\n\r\n"[..], b"\n\n", b"\\r\\n\\r\\n", b"\\n\\n"];
    let gap = gaps.iter().find(|gap| bytes[after..].starts_with(gap))?;
    named.then_some(after + gap.len())
}

/// Whether the name is the value of `name:`, so that the member `value` contains its value.
pub(super) fn is_listed_name(bytes: &[u8], name_start: usize) -> bool {
    [&b"name: "[..], b"key: "]
        .iter()
        .any(|key| bytes[..name_start].ends_with(key))
}

/// The value in `value="x" name="password"`, given the start of the name.
pub(super) fn value_before(bytes: &[u8], name_start: usize) -> Option<Range<usize>> {
    const REACH: usize = 256;
    let (key, quote) = [(&b"value=\\\""[..], &b"\\\""[..]), (b"value=\"", b"\"")]
        .into_iter()
        .find(|(_, quote)| bytes[..name_start].ends_with(quote))?;
    let head = bytes[..name_start - quote.len()].strip_suffix(b"name=")?;
    let floor = head.len().saturating_sub(REACH);
    let tag = floor + head[floor..].iter().rposition(|byte| *byte == b'<')?;
    let find = |from: usize, what: &[u8]| {
        let found = head[from..].windows(what.len());
        found.into_iter().position(|window| window == what)
    };
    let start = tag + find(tag, key)? + key.len();
    Some(start..start + find(start, quote)?)
}

/// The text of the element after the one that contains the name: `<td>password</td><td>x</td>`.
pub(super) fn next_element(bytes: &[u8], name_end: usize) -> Option<Range<usize>> {
    const TAGS: usize = 6;
    const REACH: usize = 300;
    let limit = bytes.len().min(name_end + REACH);
    let mut at = skip_blanks(bytes, name_end, true);
    if bytes.get(at) == Some(&b':') {
        at = skip_blanks(bytes, at + 1, true);
    }
    // The name may be an attribute of the element that contains the value.
    let is_attribute = bytes.get(at) == Some(&b'>') && bytes[..name_end].ends_with(b"\"");
    if is_attribute {
        at = skip_blanks(bytes, at + 1, true);
    }
    let is_named = is_attribute && {
        let attribute = &bytes[name_end.saturating_sub(REACH)..name_end - 1];
        let opening = attribute.iter().rposition(|byte| *byte == b'"');
        opening.is_some_and(|at| attribute[..at].ends_with(b" name="))
    };
    let is_opened = is_attribute && (is_named || bytes.get(at) == Some(&b'<'));
    if !is_opened && !bytes[at..].starts_with(b"</") {
        return None;
    }
    for _ in 0..TAGS {
        // Quotes around an element are not part of its text.
        if matches!(bytes.get(at), Some(b'"' | b'\'')) && bytes.get(at + 1) == Some(&b'<') {
            at += 1;
        }
        if bytes.get(at) != Some(&b'<') {
            break;
        }
        // Headings are above their values, and values do not contain headings.
        let tag = &bytes[at + 1..limit.max(at + 1)];
        if [
            &b"th"[..],
            b"h1",
            b"h2",
            b"h3",
            b"label",
            b"input",
            b"p>",
            b"p ",
        ]
        .iter()
        .any(|it| tag.starts_with(it))
        {
            return None;
        }
        let name = tag
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric())
            .count();
        const VALUES: &str = "td dd pre code span div b strong em i tt string value data text val content bdi samp kbd li a";
        let is_value = std::str::from_utf8(&tag[..name])
            .is_ok_and(|it| listed!(VALUES, it) || it.to_ascii_lowercase().ends_with("value"));
        if !is_value && tag.first() != Some(&b'/') && !tag.starts_with(b"![CDATA[") {
            return None;
        }
        let end = bytes[at..limit.max(at)]
            .iter()
            .position(|byte| *byte == b'>')?;
        at = skip_blanks(bytes, at + end + 1, true);
    }
    let length = bytes[at..].iter().position(|byte| *byte == b'<')?;
    let is_closed = !is_named || bytes[at + length..].starts_with(b"</");
    (length > 0 && is_closed).then(|| at..at + bytes[at..at + length].trim_ascii_end().len())
}

/// The argument after the one that is the name: `define('DB_PASSWORD', 'x')`.
pub(super) fn next_argument(bytes: &[u8], name: Range<usize>) -> Option<Range<usize>> {
    let quote = *name
        .start
        .checked_sub(1)
        .and_then(|at| bytes.get(at))
        .filter(|it| b"\"'".contains(*it))?;
    let head = bytes[..name.start - 1].trim_ascii_end();
    let opens = head.ends_with(b"(")
        && head.len() > 1
        && head[..head.len() - 1]
            .last()
            .is_some_and(u8::is_ascii_alphanumeric);
    let rest = bytes[name.end..]
        .strip_prefix(&[quote])
        .filter(|_| opens || head.ends_with(b"id("))?;
    let mut at = skip_blanks(bytes, bytes.len() - rest.len(), true);
    if bytes.get(at) == Some(&b')') {
        at += 1;
    }
    if bytes.get(at) != Some(&b',') {
        return None;
    }
    let at = skip_blanks(bytes, at + 1, true);
    let open = *bytes.get(at).filter(|it| b"\"'".contains(*it))?;
    let length = bytes[at + 1..].iter().position(|byte| *byte == open)?;
    Some(at + 1..at + 1 + length)
}

/// The start of the value after a type (`string(7) "x"`).
pub(super) fn skip_type(bytes: &[u8], at: usize) -> usize {
    let start = skip_blanks(bytes, at, true);
    let Some(rest) = bytes[start..].strip_prefix(b"string(") else {
        return at;
    };
    let digits = rest
        .iter()
        .take(20)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if digits > 0 && rest.get(digits) == Some(&b')') {
        bytes.len() - rest.len() + digits + 1
    } else {
        at
    }
}

/// Whether a line opens a mapping or a list instead of being text.
fn is_nested(line: &[u8]) -> bool {
    let mapping = line.windows(2).any(|pair| pair == b": ") || line.ends_with(b":");
    mapping || line.starts_with(b"- ") || line.starts_with(b"#")
}

/// The start of the next line, if only blanks precede the line end.
fn next_line(bytes: &[u8], at: usize) -> Option<usize> {
    let at = skip_blanks(bytes, at, false);
    let first = glyph(bytes, at)?;
    let at = at + usize::from(first.character == b'\r') * first.length;
    let newline = glyph(bytes, at).filter(|found| found.character == b'\n')?;
    Some(at + newline.length)
}

/// The start of a longer line is not searched for.
const LINE_LIMIT: usize = 512;

fn line_start(bytes: &[u8], at: usize) -> usize {
    let floor = at.saturating_sub(LINE_LIMIT);
    let newline = bytes[floor..at].iter().rposition(|byte| *byte == b'\n');
    newline.map_or(floor, |length| floor + length + 1)
}

/// The end of the line, however the line end is encoded.
pub(super) fn line_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) = glyph(bytes, at) {
        if matches!(found.character, b'\n' | b'\r') {
            break;
        }
        at += found.length;
    }
    at.min(bytes.len())
}

fn indent(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().take_while(|byte| **byte == b' ').count()
}
