//! The corpus: responses of services with planted secrets, and innocent responses.
//!
//! A line has patterns instead of secrets, so that no scanner reports the files as a leak; they are filled in here,
//! always with the same characters. `corpus/README.md` describes the format.

use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use encoding_rs::Encoding;
use serde::Deserialize;
use serde_json::Value;

/// One response of a service.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) status: u16,
    /// The secrets that an agent must not read; none for an innocent.
    pub(crate) secrets: Vec<String>,
    /// The response as text.
    pub(crate) text: String,
    /// The response as it is sent.
    pub(crate) bytes: Vec<u8>,
    pub(crate) content_type: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: String,
    kind: String,
    #[serde(default)]
    secrets: Vec<String>,
    body: Value,
    charset: Option<String>,
    written: Option<Written>,
    #[serde(default = "bad_request")]
    status: u16,
}

/// How a secret is encoded in the body.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Written {
    Base64,
    Hex,
    Html,
    Json,
    Percent,
}

impl Written {
    fn of(self, secret: &str) -> String {
        match self {
            Written::Base64 => BASE64_STANDARD.encode(secret),
            Written::Hex => secret.bytes().map(|byte| format!("{byte:02x}")).collect(),
            Written::Html => {
                let entity = |letter: char| match letter {
                    '&' => "&amp;".to_owned(),
                    '<' => "&lt;".to_owned(),
                    '>' => "&gt;".to_owned(),
                    '"' => "&quot;".to_owned(),
                    '\'' => "&#39;".to_owned(),
                    other => other.to_string(),
                };
                secret.chars().map(entity).collect()
            }
            Written::Json => Value::from(secret).to_string().trim_matches('"').to_owned(),
            Written::Percent => {
                let escaped = |byte: u8| match byte {
                    b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                        char::from(byte).to_string()
                    }
                    other => format!("%{other:02X}"),
                };
                secret.bytes().map(escaped).collect()
            }
        }
    }
}

fn bad_request() -> u16 {
    400
}

/// The cases of a file of the corpus.
pub(crate) fn read(name: &str) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/redaction/corpus");
    let path = folder.join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.is_empty());
    let case = |(at, line): (usize, &str)| {
        let line: Line = serde_json::from_str(line)
            .unwrap_or_else(|error| panic!("{name}, line {}: {error}", at + 1));
        line.case()
    };
    lines.map(case).collect()
}

impl Line {
    fn case(self) -> Case {
        let mut random = Random::of(&self.id);
        let patterns = self.secrets.iter();
        let secrets: Vec<String> = patterns.map(|it| random.fill(it)).collect();
        let secrets: Vec<String> = match self.written {
            Some(written) => secrets.iter().map(|it| written.of(it)).collect(),
            None => secrets,
        };
        let (text, kind) = match self.body {
            Value::String(text) => (filled(&text, &secrets), "text/plain"),
            mut body => {
                fill(&mut body, &secrets);
                (body.to_string(), "application/json")
            }
        };
        let charset = self.charset.as_deref().unwrap_or("utf-8");
        Case {
            bytes: encoded(&text, charset),
            content_type: format!("{kind}; charset={charset}"),
            id: self.id,
            kind: self.kind,
            status: self.status,
            secrets,
            text,
        }
    }
}

fn fill(value: &mut Value, secrets: &[String]) {
    match value {
        Value::String(text) => *text = filled(text, secrets),
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, secrets)),
        Value::Object(members) => {
            let taken = std::mem::take(members).into_iter();
            *members = taken
                .map(|(name, mut member)| {
                    fill(&mut member, secrets);
                    (filled(&name, secrets), member)
                })
                .collect();
        }
        _ => {}
    }
}

fn filled(text: &str, secrets: &[String]) -> String {
    let fill =
        |text: String, (at, secret): (usize, &String)| text.replace(&format!("<<{at}>>"), secret);
    secrets.iter().enumerate().fold(text.to_owned(), fill)
}

fn encoded(text: &str, charset: &str) -> Vec<u8> {
    match charset {
        "utf-16le" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        "utf-16be" => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        _ => {
            let encoding = Encoding::for_label(charset.as_bytes());
            let encoding = encoding.unwrap_or_else(|| panic!("{charset} is not a charset"));
            encoding.encode(text).0.into_owned()
        }
    }
}

/// A deterministic source of characters.
struct Random(u64);

impl Random {
    fn of(id: &str) -> Self {
        let mix = |seed: u64, byte: u8| (seed ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        Self(id.bytes().fold(0xcbf2_9ce4_8422_2325, mix) | 1)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % limit
    }

    /// A value for the pattern, which consists of literal characters and of classes with a count.
    fn fill(&mut self, pattern: &str) -> String {
        let mut value = String::new();
        let mut rest = pattern;
        while let Some(first) = rest.chars().next() {
            rest = &rest[first.len_utf8()..];
            match first {
                '\\' => {
                    let next = rest
                        .chars()
                        .next()
                        .expect("a backslash is followed by a character");
                    value.push(next);
                    rest = &rest[next.len_utf8()..];
                }
                '[' => {
                    let (class, behind) = rest.split_once(']').expect("a class is closed");
                    let (count, behind) = count(behind);
                    let class = characters(class);
                    value.extend((0..count).map(|_| class[self.below(class.len())]));
                    rest = behind;
                }
                other => value.push(other),
            }
        }
        value
    }
}

fn count(rest: &str) -> (usize, &str) {
    let braced = rest.strip_prefix('{').and_then(|it| it.split_once('}'));
    let counted = braced.and_then(|(count, behind)| Some((count.parse().ok()?, behind)));
    counted.unwrap_or((1, rest))
}

fn characters(class: &str) -> Vec<char> {
    let written: Vec<char> = class.chars().collect();
    let (mut all, mut at) = (Vec::new(), 0);
    while at < written.len() {
        match written.get(at + 1..at + 3) {
            Some(['-', last]) => {
                all.extend(written[at]..=*last);
                at += 3;
            }
            _ => {
                all.push(written[at]);
                at += 1;
            }
        }
    }
    all
}
