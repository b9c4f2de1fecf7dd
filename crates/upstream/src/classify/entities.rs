//! Decodes the character references of XML and HTML.

use std::borrow::Cow;

/// The longest reference that is decoded, in bytes.
const REFERENCE_BYTES_LIMIT: usize = 10;
/// Named references: those of XML, and those of HTML that are common in sentences.
const NAMED: [(&str, &str); 15] = [
    ("amp", "&"),
    ("apos", "'"),
    ("bull", "•"),
    ("gt", ">"),
    ("hellip", "…"),
    ("laquo", "«"),
    ("ldquo", "“"),
    ("lsquo", "‘"),
    ("lt", "<"),
    ("mdash", "—"),
    ("nbsp", " "),
    ("ndash", "–"),
    ("quot", "\""),
    ("raquo", "»"),
    ("rsquo", "’"),
];

/// Replaces each known reference once; others stay.
pub(super) fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return text.into();
    }
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        decoded.push_str(before);
        let end = after.floor_char_boundary(REFERENCE_BYTES_LIMIT);
        let found = after[..end].split_once(';');
        match found.and_then(|(name, _)| Some((name, character(name)?))) {
            Some((name, character)) => {
                decoded.push_str(&character);
                rest = &after[name.len() + 1..];
            }
            None => {
                decoded.push('&');
                rest = after;
            }
        }
    }
    decoded.push_str(rest);
    decoded.into()
}

fn character(name: &str) -> Option<Cow<'static, str>> {
    let Some(number) = name.strip_prefix('#') else {
        let (_, character) = NAMED.iter().find(|(it, _)| *it == name)?;
        return Some((*character).into());
    };
    let number = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    let character = char::from_u32(number.ok()?)?;
    (!character.is_control()).then(|| character.to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reference_is_decoded_once() {
        for (text, expected) in [
            ("a &lt;b&gt; &quot;c&quot;", "a <b> \"c\""),
            ("&#39;&#x27;&apos;", "'''"),
            ("&amp;lt;", "&lt;"),
            ("We&rsquo;re back&nbsp;soon", "We’re back soon"),
            ("a & b; c &unknown; &", "a & b; c &unknown; &"),
            ("&#1; &#99999999; &#xD800;", "&#1; &#99999999; &#xD800;"),
            ("&é;", "&é;"),
            ("plain", "plain"),
        ] {
            assert_eq!(unescaped(text), expected, "{text}");
        }
    }
}
