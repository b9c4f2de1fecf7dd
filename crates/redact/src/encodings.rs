//! The encodings of a secret: escaped, percent-encoded, base64 and hexadecimal, and the parts that
//! are secret on their own. A service may repeat a secret in any of them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};
use serde_json::Value;

use super::literals::is_distinctive;

/// Shorter encodings could be something else.
const SHORTEST_ENCODED: usize = 7;

/// The escaped form of a character, or `None` if it stays as it is.
type Escape = fn(char) -> Option<String>;

/// The escapes that services use.
const ESCAPES: [Escape; 13] = [
    // URLs: RFC 3986, RFC 3986 in lower case, and forms.
    |it| percent(it, "-._~", false),
    |it| percent(it, "-._~", true),
    |it| one(it, ' ', "+").or_else(|| percent(it, "-._*", false)),
    // JSON: minimal, with the slashes of PHP, and with HTML characters as `\u` escapes.
    json,
    |it| one(it, '/', r"\/").or_else(|| json(it)),
    |it| {
        if "<>&'".contains(it) || !it.is_ascii() {
            Some(unicode(it))
        } else {
            json(it)
        }
    },
    // HTML and XML: named entities as Go, Python and JavaScript write them, and numeric ones.
    |it| named(it, "&apos;", "&quot;"),
    |it| named(it, "&#39;", "&quot;"),
    |it| named(it, "&#39;", "&#34;"),
    |it| one(it, '/', "&#x2F;").or_else(|| named(it, "&#x27;", "&quot;")),
    |it| (!it.is_ascii_alphanumeric()).then(|| format!("&#{};", u32::from(it))),
    // Source code: in single and in double quotes.
    |it| source(it, '\''),
    |it| source(it, '"'),
];

/// Every encoding of a secret, including an escape of an escape.
pub(super) fn encodings(secret: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::from([secret.to_owned()]);
    for escape in ESCAPES {
        let once = escaped(secret, escape);
        all.insert(escaped(&once, json));
        all.insert(escaped(&once, |it| percent(it, "-._~", false)));
        all.insert(once);
    }
    all.extend(encoded(secret));
    all
}

/// The parts of a secret that are secret on their own: the credential after a scheme, the password
/// of `user:password`, and the values of `name=value` pairs.
pub(super) fn parts(secret: &str) -> Vec<String> {
    let mut parts = Vec::new();
    if let Some((scheme, example)) = secret.split_once(' ') {
        parts.push(example.to_owned());
        let decoded = BASE64_STANDARD.decode(example.trim());
        let pair = decoded.ok().and_then(|it| String::from_utf8(it).ok());
        if scheme.eq_ignore_ascii_case("basic") {
            parts.extend(pair.iter().flat_map(|pair| self::parts(pair)));
        }
    }
    if let Some((_, password)) = secret.split_once(':') {
        parts.push(password.to_owned());
    }
    let pairs = secret.split([';', ',', '&']);
    let values = pairs.filter_map(|pair| pair.split_once('='));
    parts.extend(values.map(|(_, value)| value.trim_matches('"').to_owned()));
    parts.retain(|part| is_distinctive(part));
    parts
}

pub(super) fn in_hexadecimal(secret: &str) -> String {
    secret.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// In hexadecimal and in base64.
pub(super) fn encoded(secret: &str) -> impl Iterator<Item = String> {
    let hexadecimal = in_hexadecimal(secret);
    [hexadecimal.to_ascii_uppercase(), hexadecimal]
        .into_iter()
        .filter(|it| it.len() >= SHORTEST_ENCODED)
        .chain(in_base64(secret))
}

/// In base64 at any offset of the encoded data: the characters that contain only bits of the secret.
pub(super) fn in_base64(secret: &str) -> impl Iterator<Item = String> {
    let at_each_offset = (0..3).flat_map(|before| {
        let mut bytes = vec![0; before];
        bytes.extend_from_slice(secret.as_bytes());
        let (first, last) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
        let engines = [BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD];
        engines.map(|engine| {
            let text = engine.encode(&bytes);
            text.get(first..last).unwrap_or_default().to_owned()
        })
    });
    at_each_offset.filter(|it| it.len() >= SHORTEST_ENCODED)
}

fn escaped(text: &str, escape: Escape) -> String {
    text.chars()
        .fold(String::with_capacity(text.len()), |mut all, character| {
            match escape(character) {
                Some(written) => all.push_str(&written),
                None => all.push(character),
            }
            all
        })
}

fn one(character: char, escaped: char, written: &str) -> Option<String> {
    (character == escaped).then(|| written.to_owned())
}

fn percent(character: char, plain: &str, in_lower_case: bool) -> Option<String> {
    if character.is_ascii_alphanumeric() || plain.contains(character) {
        return None;
    }
    let mut bytes = [0; 4];
    let mut written = String::new();
    for byte in character.encode_utf8(&mut bytes).bytes() {
        let _ = match in_lower_case {
            true => write!(written, "%{byte:02x}"),
            false => write!(written, "%{byte:02X}"),
        };
    }
    Some(written)
}

fn json(character: char) -> Option<String> {
    let quoted = Value::from(character.to_string()).to_string();
    let written = &quoted[1..quoted.len() - 1];
    (written.len() > character.len_utf8()).then(|| written.to_owned())
}

fn unicode(character: char) -> String {
    let mut units = [0; 2];
    let units = character.encode_utf16(&mut units).iter();
    units.map(|unit| format!("\\u{unit:04x}")).collect()
}

fn named(character: char, apostrophe: &str, quote: &str) -> Option<String> {
    let name = match character {
        '&' => "&amp;",
        '<' => "&lt;",
        '>' => "&gt;",
        '\'' => apostrophe,
        '"' => quote,
        _ => return None,
    };
    Some(name.to_owned())
}

fn source(character: char, quote: char) -> Option<String> {
    let letter = match character {
        '\n' => 'n',
        '\t' => 't',
        '\r' => 'r',
        _ if character == quote || character == '\\' => character,
        _ => return None,
    };
    Some(format!("\\{letter}"))
}

#[cfg(test)]
mod tests {
    use super::super::Redactor;

    const SECRET: &str = "p@ss/w0rd<&>\"'+é \\x";

    /// The text after the secret is removed.
    fn left(secret: &str, text: &str) -> String {
        let mut redactor = Redactor::new();
        redactor.learn_literal(secret);
        redactor.text(text).into_owned()
    }

    #[test]
    fn a_secret_is_removed_in_every_encoding() {
        for text in [
            r#"p@ss/w0rd<&>"'+é \x"#,
            "p%40ss%2Fw0rd%3C%26%3E%22%27%2B%C3%A9%20%5Cx",
            "p%40ss%2fw0rd%3c%26%3e%22%27%2b%c3%a9%20%5cx",
            "p%40ss%2Fw0rd%3C%26%3E%22%27%2B%C3%A9+%5Cx",
            "p%2540ss%252Fw0rd%253C%2526%253E%2522%2527%252B%25C3%25A9%2520%255Cx",
            r#"p@ss/w0rd<&>\"'+é \\x"#,
            r#"p@ss\/w0rd<&>\"'+é \\x"#,
            r#"p@ss/w0rd\u003c\u0026\u003e\"\u0027+\u00e9 \\x"#,
            r#"p@ss/w0rd<&>\\\"'+é \\\\x"#,
            r"p@ss/w0rd&lt;&amp;&gt;&quot;&apos;+é \x",
            r"p@ss/w0rd&lt;&amp;&gt;&quot;&#39;+é \x",
            r"p@ss/w0rd&lt;&amp;&gt;&#34;&#39;+é \x",
            r"p@ss&#x2F;w0rd&lt;&amp;&gt;&quot;&#x27;+é \x",
            r"p&#64;ss&#47;w0rd&#60;&#38;&#62;&#34;&#39;&#43;&#233;&#32;&#92;x",
            r#"p@ss/w0rd<&>"\'+é \\x"#,
        ] {
            let left = left(SECRET, &format!("{{{text}}}"));
            assert_eq!(left, "{[REDACTED]}", "{text}");
        }
    }

    #[test]
    fn a_secret_is_removed_in_hexadecimal_and_at_any_offset_in_base64() {
        use base64::Engine as _;
        let secret = "sk-7Qm2vXp9Lw4t";
        let hexadecimal = super::in_hexadecimal(secret);
        assert_eq!(left(secret, &format!("<{hexadecimal}>")), "<[REDACTED]>");
        for before in ["", "a", "ab", "abc", "user:", "octo-org:"] {
            for behind in ["", "z", "zy", "zyx"] {
                let whole = format!("{before}{secret}{behind}");
                let engines = [
                    base64::prelude::BASE64_STANDARD,
                    base64::prelude::BASE64_URL_SAFE,
                ];
                for engine in engines {
                    let left = left(secret, &engine.encode(&whole));
                    // A few characters remain that also contain bits of the surrounding text.
                    assert!(left.contains("[REDACTED]"), "{whole}: {left}");
                    assert!(left.len() <= "[REDACTED]".len() + 20, "{whole}: {left}");
                }
            }
        }
    }

    #[test]
    fn the_parts_of_a_secret_are_removed_and_names_stay() {
        for (secret, text, expected) in [
            (
                "octo-org:Xk29-vvT1",
                "octo-org sent Xk29-vvT1x",
                "octo-org sent [REDACTED]x",
            ),
            (
                "Bearer tok3n-Zebra-9",
                "bad token tok3n-Zebra-9",
                "bad token [REDACTED]",
            ),
            (
                "Basic b2N0by1vcmc6WGsyOS12dlQx",
                "no such password: Xk29-vvT1",
                "no such password: [REDACTED]",
            ),
            (
                "session=aB3dE6gH9; theme=dark",
                "the session aB3dE6gH9 has ended",
                "the session [REDACTED] has ended",
            ),
            (
                "octo-org:password",
                "the password of octo-org is wrong",
                "the password of octo-org is wrong",
            ),
        ] {
            assert_eq!(left(secret, text), expected);
        }
    }

    #[test]
    fn similar_text_stays() {
        for text in [
            "p@ss/w0rd is not the whole of it",
            "the digest is 70407373ff and 6b2d and c2stN1E",
            "&lt;&amp;&gt;&quot;&#39; are entities",
            "%40%2F%3C are escapes",
            "aGVsbG8gd29ybGQsIHRoaXMgaXMgaW5ub2NlbnQ=",
        ] {
            assert_eq!(left(SECRET, text), text);
        }
    }
}
