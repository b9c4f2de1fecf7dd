//! Templates in double braces that are replaced when a response is sent: times, secrets and request headers.

use jiff::{SignedDuration, Timestamp};

use crate::secrets;

/// The formats of times, by name.
const TIME_FORMATS: [(&str, &str); 6] = [
    ("imf", "%a, %d %b %Y %H:%M:%S GMT"),
    ("rfc850", "%A, %d-%b-%y %H:%M:%S GMT"),
    ("asctime", "%a %b %e %H:%M:%S %Y"),
    ("rfc3339", "%Y-%m-%dT%H:%M:%SZ"),
    ("epoch", "%s"),
    ("epoch_ms", "%s000"),
];

/// The values that templates can refer to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TemplateContext<'a> {
    pub(crate) now: Timestamp,
    /// Names in lower case.
    pub(crate) headers: &'a [(String, String)],
}

impl<'a> TemplateContext<'a> {
    /// A header of the request, or an empty text.
    fn sent(self, name: &str) -> &'a str {
        let found = self.headers.iter().find(|(sent, _)| sent == name);
        found.map_or("", |(_, value)| value)
    }
}

/// Replaces every template in a text; other text is unchanged.
pub(crate) fn fill(text: &str, context: TemplateContext<'_>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        filled.push_str(before);
        let known = after.split_once("}}").and_then(|(word, after)| {
            let value = value(word, context)?;
            Some((value, after))
        });
        match known {
            Some((value, after)) => {
                filled.push_str(&value);
                rest = after;
            }
            None => {
                filled.push_str("{{");
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    filled
}

/// Whether a text contains a time, whose distance shrinks while the response is sent.
pub(crate) fn contains_time(text: &str) -> bool {
    let mut words = text.split("{{").skip(1);
    words.any(|rest| {
        rest.split_once("}}")
            .is_some_and(|(word, _)| time(word, Timestamp::UNIX_EPOCH).is_some())
    })
}

fn value(word: &str, context: TemplateContext<'_>) -> Option<String> {
    if let Some(name) = word.strip_prefix("secret:") {
        return secrets::text_of(name).map(str::to_owned);
    }
    if let Some(name) = word.strip_prefix("header:") {
        return Some(context.sent(name).to_owned());
    }
    if word == "token" {
        let credential = context.sent("authorization");
        return credential.split(' ').next_back().map(str::to_owned);
    }
    time(word, context.now)
}

fn time(word: &str, now: Timestamp) -> Option<String> {
    let (form, seconds) = word.split_once('+')?;
    let (_, format) = TIME_FORMATS.iter().find(|(name, _)| *name == form)?;
    let at = now.checked_add(SignedDuration::from_secs(seconds.parse().ok()?));
    Some(at.ok()?.strftime(format).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let context = TemplateContext {
            now: Timestamp::from_second(784_111_657).unwrap(),
            headers: &[("authorization".to_owned(), "Bearer x".to_owned())],
        };
        assert_eq!(fill(text, context), expected);
    }

    #[test]
    fn times_are_written_in_every_format() {
        check("{{imf+120}}", "Sun, 06 Nov 1994 08:49:37 GMT");
        check("{{rfc850+120}}", "Sunday, 06-Nov-94 08:49:37 GMT");
        check("{{asctime+120}}", "Sun Nov  6 08:49:37 1994");
        check("{{rfc3339+120}}", "1994-11-06T08:49:37Z");
        check("{{epoch+0}}", "784111657");
        check("{{epoch_ms+0}}", "784111657000");
    }

    #[test]
    fn request_headers_are_repeated_and_missing_headers_are_empty() {
        check("[{{header:authorization}}]", "[Bearer x]");
        check("[{{header:cookie}}]", "[]");
        check("[{{token}}]", "[x]");
    }

    #[test]
    fn a_secret_is_inserted_by_name() {
        check("{{secret:credential}}", secrets::CREDENTIAL);
    }

    #[test]
    fn other_text_is_unchanged() {
        for text in [
            "",
            "{}",
            "{{",
            "}}",
            "{{unknown}}",
            "{{imf+x}}",
            "{{secret:no}}",
            "a {{ b",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn only_times_count_as_times() {
        assert!(contains_time("at {{epoch+120}}"));
        assert!(!contains_time("{{secret:credential}} {{epoch}} 120"));
    }
}
