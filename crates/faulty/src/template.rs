//! Words in double braces that become known only when an answer is sent: moments, secrets, what the
//! caller sent.

use jiff::{SignedDuration, Timestamp};

use crate::secrets;

/// How a moment is written, by the word that stands before its distance.
const MOMENTS: [(&str, &str); 6] = [
    ("imf", "%a, %d %b %Y %H:%M:%S GMT"),
    ("rfc850", "%A, %d-%b-%y %H:%M:%S GMT"),
    ("asctime", "%a %b %e %H:%M:%S %Y"),
    ("rfc3339", "%Y-%m-%dT%H:%M:%SZ"),
    ("epoch", "%s"),
    ("epoch_ms", "%s000"),
];

/// What is known when an answer is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings<'a> {
    pub(crate) now: Timestamp,
    /// Names in lower case.
    pub(crate) headers: &'a [(String, String)],
}

impl<'a> Surroundings<'a> {
    /// A header of the request; empty where there was none.
    fn sent(self, name: &str) -> &'a str {
        let found = self.headers.iter().find(|(sent, _)| sent == name);
        found.map_or("", |(_, value)| value)
    }
}

/// Replaces every template of a text. What is no template stays as it is.
pub(crate) fn fill(text: &str, surroundings: Surroundings<'_>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        filled.push_str(before);
        let known = after.split_once("}}").and_then(|(word, after)| {
            let value = value(word, surroundings)?;
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

/// Whether a text holds a moment, which comes nearer while it is on its way.
pub(crate) fn names_a_moment(text: &str) -> bool {
    let mut words = text.split("{{").skip(1);
    words.any(|rest| {
        rest.split_once("}}")
            .is_some_and(|(word, _)| moment(word, Timestamp::UNIX_EPOCH).is_some())
    })
}

fn value(word: &str, surroundings: Surroundings<'_>) -> Option<String> {
    if let Some(name) = word.strip_prefix("secret:") {
        return secrets::text_of(name).map(str::to_owned);
    }
    if let Some(name) = word.strip_prefix("header:") {
        return Some(surroundings.sent(name).to_owned());
    }
    if word == "token" {
        let credential = surroundings.sent("authorization");
        return credential.split(' ').next_back().map(str::to_owned);
    }
    moment(word, surroundings.now)
}

fn moment(word: &str, now: Timestamp) -> Option<String> {
    let (form, seconds) = word.split_once('+')?;
    let (_, format) = MOMENTS.iter().find(|(name, _)| *name == form)?;
    let at = now.checked_add(SignedDuration::from_secs(seconds.parse().ok()?));
    Some(at.ok()?.strftime(format).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let surroundings = Surroundings {
            now: Timestamp::from_second(784_111_657).unwrap(),
            headers: &[("authorization".to_owned(), "Bearer x".to_owned())],
        };
        assert_eq!(fill(text, surroundings), expected);
    }

    #[test]
    fn moments_are_written_in_every_form() {
        check("{{imf+120}}", "Sun, 06 Nov 1994 08:49:37 GMT");
        check("{{rfc850+120}}", "Sunday, 06-Nov-94 08:49:37 GMT");
        check("{{asctime+120}}", "Sun Nov  6 08:49:37 1994");
        check("{{rfc3339+120}}", "1994-11-06T08:49:37Z");
        check("{{epoch+0}}", "784111657");
        check("{{epoch_ms+0}}", "784111657000");
    }

    #[test]
    fn what_the_caller_sent_comes_back_and_what_it_did_not_is_nothing() {
        check("[{{header:authorization}}]", "[Bearer x]");
        check("[{{header:cookie}}]", "[]");
        check("[{{token}}]", "[x]");
    }

    #[test]
    fn a_secret_is_put_in_by_its_name() {
        check("{{secret:credential}}", secrets::CREDENTIAL);
    }

    #[test]
    fn what_is_no_template_stays() {
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
    fn only_moments_are_moments() {
        assert!(names_a_moment("at {{epoch+120}}"));
        assert!(!names_a_moment("{{secret:credential}} {{epoch}} 120"));
    }
}
