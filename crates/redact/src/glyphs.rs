//! Decodes one character from the encodings that secrets travel in: backslash escapes, percent
//! encoding and HTML entities, each repeated any number of times. Only ASCII is decoded.

/// One decoded character and its length in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Glyph {
    pub(super) character: u8,
    pub(super) length: usize,
}

impl Glyph {
    pub(super) fn is_quote(self) -> bool {
        matches!(self.character, b'"' | b'\'' | b'`')
    }

    pub(super) fn is_encoded(self) -> bool {
        self.length > 1
    }
}

/// Deeper re-encoding is read as plain text.
const REPEAT_LIMIT: usize = 16;

const ENTITIES: &[(&[u8], u8)] = &[
    (b"&quot;", b'"'),
    (b"&#34;", b'"'),
    (b"&#x22;", b'"'),
    (b"&apos;", b'\''),
    (b"&#39;", b'\''),
    (b"&#x27;", b'\''),
    (b"&amp;", b'&'),
    (b"&lt;", b'<'),
    (b"&gt;", b'>'),
    (b"&#61;", b'='),
    (b"&#58;", b':'),
];

/// The character that starts at `at`, or `None` at the end of the text.
pub(super) fn glyph(bytes: &[u8], at: usize) -> Option<Glyph> {
    let first = *bytes.get(at)?;
    let decoded = match first {
        b'\\' => escaped(&bytes[at..]),
        b'%' => percent(&bytes[at..]),
        b'&' => entity(&bytes[at..]),
        _ => None,
    };
    Some(decoded.unwrap_or(Glyph {
        character: first,
        length: 1,
    }))
}

/// The end of the run of blanks that starts at `at`. Line ends are included only if `lines` is set.
pub(super) fn skip_blanks(bytes: &[u8], mut at: usize, lines: bool) -> usize {
    while let Some(found) = glyph(bytes, at) {
        match found.character {
            b' ' | b'\t' => at += found.length,
            b'\n' | b'\r' if lines => at += found.length,
            _ => break,
        }
    }
    at
}

/// Whether an escape ends at `at`: its last character is then not a letter or digit of the text.
pub(super) fn ends_escape(bytes: &[u8], at: usize) -> bool {
    let before = |distance: usize| at.checked_sub(distance).map(|at| bytes[at]);
    before(2) == Some(b'\\') || before(3) == Some(b'%') || before(6) == Some(b'\\')
}

fn escaped(rest: &[u8]) -> Option<Glyph> {
    let slashes = rest
        .iter()
        .take(REPEAT_LIMIT)
        .take_while(|byte| **byte == b'\\')
        .count();
    let (character, extra) = match rest.get(slashes)? {
        quote @ (b'"' | b'\'' | b'`' | b'/') => (*quote, 1),
        b'n' => (b'\n', 1),
        b'r' => (b'\r', 1),
        b't' => (b'\t', 1),
        b'u' if rest.get(slashes + 1..slashes + 3) == Some(b"00") => {
            (hexadecimal(rest, slashes + 3)?, 5)
        }
        _ => return None,
    };
    Some(Glyph {
        character,
        length: slashes + extra,
    })
}

fn percent(rest: &[u8]) -> Option<Glyph> {
    let first = percent_byte(rest)?;
    let mut last = first;
    let mut length = first.length;
    for _ in 0..REPEAT_LIMIT {
        if last.character != b'\\' {
            break;
        }
        last = percent_byte(&rest[length..])?;
        length += last.length;
    }
    let escaped_quote = length > first.length && last.is_quote();
    Some(if escaped_quote {
        Glyph { length, ..last }
    } else {
        first
    })
}

fn percent_byte(rest: &[u8]) -> Option<Glyph> {
    let mut at = 1;
    while at < 2 * REPEAT_LIMIT && rest.get(at..at + 2) == Some(b"25") {
        at += 2;
    }
    let character = hexadecimal(rest, at).filter(|_| rest[0] == b'%')?;
    Some(Glyph {
        character,
        length: at + 2,
    })
}

fn entity(rest: &[u8]) -> Option<Glyph> {
    let (name, character) = ENTITIES.iter().find(|(name, _)| rest.starts_with(name))?;
    Some(Glyph {
        character: *character,
        length: name.len(),
    })
}

fn hexadecimal(rest: &[u8], at: usize) -> Option<u8> {
    let high = char::from(*rest.get(at)?).to_digit(16)?;
    let low = char::from(*rest.get(at + 1)?).to_digit(16)?;
    u8::try_from(high * 16 + low).ok().filter(u8::is_ascii)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_of_a_character_is_decoded() {
        let cases: &[(&str, u8, usize)] = &[
            ("=", b'=', 1),
            ("%3D", b'=', 3),
            ("%253d", b'=', 5),
            (r"\u003d", b'=', 6),
            (r#"\""#, b'"', 2),
            (r#"\\\""#, b'"', 4),
            (r"\/", b'/', 2),
            (r"\n", b'\n', 2),
            ("%22", b'"', 3),
            ("%5C%22", b'"', 6),
            ("%5C%5C%5C%22", b'"', 12),
            ("%3Dx", b'=', 3),
            ("&quot;", b'"', 6),
            ("&amp;", b'&', 5),
            ("&x", b'&', 1),
            ("%zz", b'%', 1),
            ("%", b'%', 1),
            ("\\", b'\\', 1),
        ];
        for (text, character, length) in cases {
            let expected = Glyph {
                character: *character,
                length: *length,
            };
            assert_eq!(glyph(text.as_bytes(), 0), Some(expected), "{text}");
        }
        assert_eq!(glyph(b"", 0), None);
    }

    #[test]
    fn line_ends_are_skipped_only_on_request() {
        assert_eq!(skip_blanks(b" \t\n x", 0, false), 2);
        assert_eq!(skip_blanks(b" %20\n x", 0, true), 6);
    }
}
