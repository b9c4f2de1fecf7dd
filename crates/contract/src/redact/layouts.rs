//! Values that stand apart from their name: on the next lines (YAML, multipart forms), beside it in
//! a list of names and values, behind a type, or in front of it. Only places; what is secret is
//! decided elsewhere.

use std::ops::Range;

use super::glyphs::{glyph, skip_blanks};

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

/// Where the body of a form part starts, when the part's name closes at `after`.
pub(super) fn part_body(bytes: &[u8], name_start: usize, after: usize) -> Option<usize> {
    let head = &bytes[..name_start];
    let named = head.ends_with(b"name=\"") || head.ends_with(b"name=\\\"");
    let gaps = [&b"\r\n\r\n"[..], b"\n\n", b"\\r\\n\\r\\n", b"\\n\\n"];
    let gap = gaps.iter().find(|gap| bytes[after..].starts_with(gap))?;
    named.then_some(after + gap.len())
}

/// Whether the name is itself the value of `name:`, so that its value is called `value`.
pub(super) fn is_listed_name(bytes: &[u8], name_start: usize) -> bool {
    [&b"name: "[..], b"key: "]
        .iter()
        .any(|key| bytes[..name_start].ends_with(key))
}

/// The value in `value="x" name="password"`, given where the name starts.
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

/// Where the value starts behind a type in front of it (`string(7) "x"`).
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

/// Whether a line opens a mapping or a list instead of holding text.
fn is_nested(line: &[u8]) -> bool {
    let mapping = line.windows(2).any(|pair| pair == b": ") || line.ends_with(b":");
    mapping || line.starts_with(b"- ") || line.starts_with(b"#")
}

/// Where the line behind this place starts, if nothing but blanks stands before its end.
fn next_line(bytes: &[u8], at: usize) -> Option<usize> {
    let at = skip_blanks(bytes, at, false);
    let first = glyph(bytes, at)?;
    let at = at + usize::from(first.character == b'\r') * first.length;
    let newline = glyph(bytes, at).filter(|found| found.character == b'\n')?;
    Some(at + newline.length)
}

/// Lines longer than this are read from there on.
const LINE_LIMIT: usize = 512;

fn line_start(bytes: &[u8], at: usize) -> usize {
    let floor = at.saturating_sub(LINE_LIMIT);
    let newline = bytes[floor..at].iter().rposition(|byte| *byte == b'\n');
    newline.map_or(floor, |length| floor + length + 1)
}

/// Where the line that holds this place ends, however its end is written.
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
