//! Decodes a body to text by its charset.
//!
//! Redaction works on text: it would miss a secret in bytes of an undecoded charset that a reader could still decode.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// The body as text; invalid sequences are replaced.
pub(crate) fn text<'a>(body: &'a [u8], content_type: Option<&str>) -> Cow<'a, str> {
    encoding(body, content_type).decode(body).0
}

/// The body as text; `None` if it is not valid text.
pub(crate) fn strict_text<'a>(body: &'a [u8], content_type: Option<&str>) -> Option<Cow<'a, str>> {
    let (text, _, has_errors) = encoding(body, content_type).decode(body);
    (!has_errors).then_some(text)
}

/// The encoding of a body: by its byte order mark, else by the charset of its content type, else UTF-16 if it looks
/// like that, else UTF-8.
fn encoding(body: &[u8], content_type: Option<&str>) -> &'static Encoding {
    if let Some((marked, _)) = Encoding::for_bom(body) {
        return marked;
    }
    let named = content_type.and_then(charset).filter(|it| *it != UTF_8);
    named.or_else(|| utf16(body)).unwrap_or(UTF_8)
}

/// The charset parameter of a content type.
fn charset(content_type: &str) -> Option<&'static Encoding> {
    let mut parameters = content_type.split(';').skip(1);
    parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        let label = value.trim().trim_matches(['"', '\'']);
        Encoding::for_label(label.as_bytes()).filter(|_| is_charset)
    })
}

/// The byte order of UTF-16 text without a byte order mark, by the positions of its zero bytes.
fn utf16(body: &[u8]) -> Option<&'static Encoding> {
    const SAMPLE_BYTES: usize = 256;
    let start = &body[..body.len().min(SAMPLE_BYTES) & !1];
    let zeros = |parity: usize| {
        start
            .iter()
            .skip(parity)
            .step_by(2)
            .filter(|it| **it == 0)
            .count()
    };
    let (first, second) = (zeros(0), zeros(1));
    let is_most = |count: usize| count * 2 > start.len() / 2;
    match (is_most(first), is_most(second)) {
        (true, false) => Some(UTF_16BE),
        (false, true) => Some(UTF_16LE),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_decoded_by_its_charset() {
        let utf16 = |text: &str, to: fn(u16) -> [u8; 2]| -> Vec<u8> {
            text.encode_utf16().flat_map(to).collect()
        };
        for (body, content_type, expected) in [
            (b"plain".to_vec(), None, "plain"),
            ("é".into(), Some("text/plain; charset=utf-8"), "é"),
            (b"\xEF\xBB\xBFmarked".to_vec(), None, "marked"),
            (
                b"caf\xE9".to_vec(),
                Some("text/plain; charset=\"ISO-8859-1\""),
                "café",
            ),
            (
                b"\xCF\xE0\xF0\xEE\xEB\xFC".to_vec(),
                Some("text/html;CHARSET=windows-1251"),
                "Пароль",
            ),
            (utf16("no: hunter2", u16::to_le_bytes), None, "no: hunter2"),
            (
                utf16("no: hunter2", u16::to_be_bytes),
                Some("text/plain"),
                "no: hunter2",
            ),
            (utf16("\u{feff}пароль", u16::to_be_bytes), None, "пароль"),
            (
                utf16("暗証番号", u16::to_le_bytes),
                Some("text/plain; charset=utf-16le"),
                "暗証番号",
            ),
        ] {
            assert_eq!(text(&body, content_type), expected);
        }
    }

    #[test]
    fn binary_content_is_not_text() {
        for body in [&b"\xff\xd8\xff\xe0 image"[..], b"\x80\x81"] {
            assert_eq!(strict_text(body, None), None);
        }
        assert_eq!(text(b"a\x80b", None), "a\u{fffd}b");
        assert_eq!(
            text(b"a\x80b", Some("text/plain; charset=martian")),
            "a\u{fffd}b"
        );
    }
}
