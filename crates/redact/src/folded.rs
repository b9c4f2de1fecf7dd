//! Decodes a text into the bytes that it means: percent encoding, entities, backslash escapes and
//! escapes of pointers decoded, white space and backslashes left out. Every byte keeps its place in
//! the text. What is searched for is decided elsewhere.

use std::ops::Range;

/// Deeper re-encoding is read as plain text.
const REPEAT_LIMIT: usize = 16;

/// The digits of the longest code point that an escape or an entity may have.
const DIGITS_LIMIT: usize = 8;

/// Entities by name; those of one character that programs write.
const ENTITIES: &[(&str, char)] = &[
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("sol", '/'),
    ("plus", '+'),
    ("equals", '='),
    ("lowbar", '_'),
    ("commat", '@'),
    ("colon", ':'),
    ("semi", ';'),
    ("num", '#'),
    ("dollar", '$'),
    ("percnt", '%'),
    ("excl", '!'),
    ("ast", '*'),
    ("nbsp", ' '),
];

/// A byte of the decoded text, and where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) byte: u8,
    pub(super) written: Range<usize>,
}

/// The decoded bytes of a text, in linear time and without memory.
pub(super) struct Folded<'a> {
    text: &'a [u8],
    at: usize,
    /// The rest of a character of several bytes.
    pending: Decoded,
    written: Range<usize>,
}

/// The bytes of one decoded character.
#[derive(Clone, Copy, Default)]
struct Decoded {
    bytes: [u8; 4],
    next: usize,
    length: usize,
}

impl Decoded {
    const fn byte(byte: u8) -> Self {
        Self {
            bytes: [byte, 0, 0, 0],
            next: 0,
            length: 1,
        }
    }

    fn character(character: char) -> Self {
        let mut bytes = [0; 4];
        let length = character.encode_utf8(&mut bytes).len();
        let next = 0;
        Self {
            bytes,
            next,
            length,
        }
    }
}

pub(super) fn folded(text: &str) -> Folded<'_> {
    Folded {
        text: text.as_bytes(),
        at: 0,
        pending: Decoded::default(),
        written: 0..0,
    }
}

impl Iterator for Folded<'_> {
    type Item = Place;

    #[inline]
    fn next(&mut self) -> Option<Place> {
        loop {
            if self.pending.next < self.pending.length {
                let byte = self.pending.bytes[self.pending.next];
                self.pending.next += 1;
                let written = self.written.clone();
                return Some(Place { byte, written });
            }
            let start = self.at;
            let byte = *self.text.get(start)?;
            if !is_special(byte) {
                self.at += 1;
                let written = start..self.at;
                return Some(Place { byte, written });
            }
            let (decoded, length) = special(&self.text[start..]);
            self.at += length;
            self.written = start..self.at;
            self.pending = decoded.filter(is_visible).unwrap_or_default();
        }
    }
}

/// Whether a byte may stand for something else, or for nothing.
const fn is_special(byte: u8) -> bool {
    matches!(byte, b'%' | b'\\' | b'&' | b'~' | b'=' | 0xC2 | 0xE2) || byte.is_ascii_whitespace()
}

fn is_visible(decoded: &Decoded) -> bool {
    let byte = decoded.bytes[0];
    decoded.length > 1 || !byte.is_ascii_whitespace() && byte != b'\\'
}

/// What such a byte and those behind it stand for, and how many bytes that takes.
fn special(rest: &[u8]) -> (Option<Decoded>, usize) {
    let found = match rest[0] {
        b'%' => percent(rest),
        b'\\' => escape(rest),
        b'&' => entity(rest),
        b'~' => match rest.get(1) {
            Some(b'1') => Some((Some(Decoded::byte(b'/')), 2)),
            Some(b'0') => Some((Some(Decoded::byte(b'~')), 2)),
            _ => None,
        },
        b'=' => quoted_printable(rest),
        0xC2 | 0xE2 => invisible(rest),
        _ => None,
    };
    found.unwrap_or_else(|| (Some(Decoded::byte(rest[0])), 1))
}

fn percent(rest: &[u8]) -> Option<(Option<Decoded>, usize)> {
    let repeated = repeats(&rest[1..], b"25");
    let at = 1 + repeated * 2;
    let (value, digits) = hexadecimal(&rest[at..], 2);
    let byte = u8::try_from(value).ok().filter(|_| digits == 2);
    match byte {
        Some(byte) => Some((Some(Decoded::byte(byte)), at + 2)),
        // A percent sign that is written as an escape.
        None => (repeated > 0).then(|| (Some(Decoded::byte(b'%')), at)),
    }
}

fn escape(rest: &[u8]) -> Option<(Option<Decoded>, usize)> {
    let slashes = repeats(rest, b"\\");
    let behind = &rest[slashes..];
    let (value, length) = match behind.first() {
        Some(b'n' | b'r' | b't') => return Some((None, slashes + 1)),
        Some(b'x') => code_point(&behind[1..], 2),
        Some(b'u') => code_point(&behind[1..], 4),
        Some(b'U') => code_point(&behind[1..], 8),
        _ => (None, 0),
    };
    match value {
        Some(_) => Some((value, slashes + 1 + length)),
        None => Some((None, slashes)),
    }
}

/// A code point of so many digits, or of any number in braces.
fn code_point(rest: &[u8], exactly: usize) -> (Option<Decoded>, usize) {
    let in_braces = rest.first() == Some(&b'{');
    let (value, digits, length) = if in_braces {
        let (value, digits) = hexadecimal(&rest[1..], DIGITS_LIMIT);
        let is_closed = rest.get(1 + digits) == Some(&b'}');
        (value, if is_closed { digits } else { 0 }, digits + 2)
    } else {
        let (value, digits) = hexadecimal(rest, exactly);
        (value, if digits == exactly { digits } else { 0 }, digits)
    };
    let character = char::from_u32(value).filter(|_| digits > 0);
    (character.map(Decoded::character), length)
}

fn entity(rest: &[u8]) -> Option<(Option<Decoded>, usize)> {
    let ampersands = repeats(&rest[1..], b"amp;");
    let at = 1 + ampersands * 4;
    let inner = &rest[at..];
    let found = match inner {
        [b'#', b'x' | b'X', digits @ ..] => {
            let (value, length) = hexadecimal(digits, DIGITS_LIMIT);
            numeric(value, digits, length).map(|it| (it, length + 3))
        }
        [b'#', digits @ ..] => {
            let is_digit = |it: &&u8| it.is_ascii_digit();
            let count = digits.iter().take(DIGITS_LIMIT).take_while(is_digit);
            let (value, length) = count.fold((0u32, 0), |(value, length), digit| {
                (value * 10 + u32::from(digit - b'0'), length + 1)
            });
            numeric(value, digits, length).map(|it| (it, length + 2))
        }
        _ => ENTITIES.iter().find_map(|(name, character)| {
            let behind = inner.strip_prefix(name.as_bytes())?;
            (behind.first() == Some(&b';')).then(|| (*character, name.len() + 1))
        }),
    };
    match found {
        Some((character, length)) => Some((Some(Decoded::character(character)), at + length)),
        None => (ampersands > 0).then(|| (Some(Decoded::byte(b'&')), at)),
    }
}

fn numeric(value: u32, digits: &[u8], length: usize) -> Option<char> {
    let is_closed = length > 0 && digits.get(length) == Some(&b';');
    char::from_u32(value).filter(|_| is_closed)
}

/// A soft line break of a mail, and the escape of its sign.
fn quoted_printable(rest: &[u8]) -> Option<(Option<Decoded>, usize)> {
    match rest {
        [b'=', b'\r', b'\n', ..] => Some((None, 3)),
        [b'=', b'\n', ..] => Some((None, 2)),
        [b'=', b'3', b'D', ..] => Some((Some(Decoded::byte(b'=')), 3)),
        _ => None,
    }
}

/// Soft hyphens, blanks that do not break, and spaces without width.
fn invisible(rest: &[u8]) -> Option<(Option<Decoded>, usize)> {
    match rest {
        [0xC2, 0xA0 | 0xAD, ..] => Some((None, 2)),
        [0xE2, 0x80, 0x8B..=0x8D | 0xA8 | 0xA9, ..] | [0xE2, 0x81, 0xA0, ..] => Some((None, 3)),
        _ => None,
    }
}

/// How often `part` is repeated at the beginning.
fn repeats(rest: &[u8], part: &[u8]) -> usize {
    let parts = rest.chunks_exact(part.len()).take(REPEAT_LIMIT);
    parts.take_while(|it| *it == part).count()
}

/// The number at the beginning, and the count of its digits, at most so many.
fn hexadecimal(rest: &[u8], most: usize) -> (u32, usize) {
    let digits = rest.iter().take(most.min(DIGITS_LIMIT));
    digits
        .map_while(|byte| char::from(*byte).to_digit(16))
        .fold((0, 0), |(value, count), digit| {
            (value << 4 | digit, count + 1)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str) -> String {
        let bytes = folded(text).map(|it| it.byte).collect();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn every_encoding_is_decoded() {
        for (text, expected) in [
            ("a%2Fb%2fc%252Fd%C3%A9", "a/b/c/dé"),
            (r"a\u002Bb\\u002bc\x2bd\u{2b}e\U0000002Bf", "a+b+c+d+e+f"),
            ("a&#43;b&#x2B;c&plus;d&amp;#43;e&amp;amp;f", "a+b+c+d+e&f"),
            ("a~1b~0c", "a/b~c"),
            ("a b\nc\r\n\td\\ne\\\nf\u{ad}g\u{200b}h", "abcdefgh"),
            ("a=\r\nb=\nc=3Dd", "abc=d"),
            (r"a\\b\/c\u00e9", "ab/cé"),
        ] {
            assert_eq!(decoded(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_encoding_stays() {
        for text in [
            "100%", "%zz", "50%2", "a&b", "&x;", "&#;", "&#xZ;", "~2", "~", "a=b", "=3d", "é→",
        ] {
            assert_eq!(decoded(text), text);
        }
        assert_eq!(decoded(r"\u00"), "u00");
        assert_eq!(decoded(r"\u{110000}\ud800"), "u{110000}ud800");
    }

    #[test]
    fn every_byte_keeps_its_place() {
        let text = "x%2F \\u00e9y";
        let places: Vec<_> = folded(text).map(|it| it.written).collect();
        assert_eq!(places, [0..1, 1..4, 5..11, 5..11, 11..12]);
    }
}
