//! Finds the credentials in front of a host (`scheme://user:password@host`), in any encoding of the
//! URL, and those of `-u user:password` on command lines. Query parameters are named values: see
//! `pairs`.

use std::ops::Range;

use super::harmless::{is_harmless, is_placeholder};
use super::names::{is_credible, listed, position};
use super::spans::Spans;

/// Collects the user information of every URL in the text.
pub(super) fn find_user_information(text: &str, spans: &mut Spans) {
    for spelling in SPELLINGS {
        for start in ends_of(text, spelling.slashes) {
            let authority = spelling.authority(&text[start..]);
            let scheme = scheme_before(text, start - spelling.slashes.len());
            if let Some(length) = spelling.secret_length(authority, scheme) {
                spans.push(start..start + length);
            }
        }
    }
}

/// Collects the password of every `-u user:password` on a command line that fetches a URL.
pub(super) fn find_command_users(text: &str, spans: &mut Spans) {
    for line in lines(text) {
        let command = &text[line.clone()];
        let Some(tool) = ["curl", "wget"].iter().find_map(|tool| command.find(tool)) else {
            continue;
        };
        for flag in [
            " -u ",
            " -u",
            " --user ",
            " --user=",
            " --proxy-user ",
            " -U ",
        ] {
            for at in ends_of(&command[tool..], flag) {
                let start = line.start + tool + at;
                if let Some(password) =
                    password_of(text, start).filter(|it| !is_harmless(&text[it.clone()]))
                {
                    spans.push(password);
                }
            }
        }
    }
}

/// How one encoding writes the delimiters of a URL.
struct Spelling {
    slashes: &'static str,
    at: &'static str,
    colon: &'static str,
    /// The delimiters that end the authority.
    ends: &'static [&'static str],
}

const SPELLINGS: &[Spelling] = &[
    Spelling {
        slashes: "://",
        at: "@",
        colon: ":",
        ends: &["/", "?", "#", "\\"],
    },
    Spelling {
        slashes: ":\\/\\/",
        at: "@",
        colon: ":",
        ends: &["\\", "/", "?", "#"],
    },
    Spelling {
        slashes: "%3A%2F%2F",
        at: "%40",
        colon: "%3A",
        ends: &["%2F", "%3F", "%23", "&"],
    },
    Spelling {
        slashes: "%253A%252F%252F",
        at: "%2540",
        colon: "%253A",
        ends: &["%252F", "%253F", "%2523", "%26", "&"],
    },
];

/// The most bytes of a URL that are read.
const AUTHORITY_LIMIT: usize = 2048;

impl Spelling {
    /// Everything that may belong to the authority: up to a blank or a quote.
    fn authority<'a>(&self, rest: &'a str) -> &'a str {
        // The next URL is searched for first: it keeps a text full of URLs linear.
        let rest = &rest[..rest.floor_char_boundary(AUTHORITY_LIMIT)];
        let rest = &rest[..position(rest, self.slashes).unwrap_or(rest.len())];
        &rest[..rest.find(is_blank_or_quote).unwrap_or(rest.len())]
    }

    fn secret_length(&self, rest: &str, scheme: &str) -> Option<usize> {
        let end = find_any(rest, self.ends).unwrap_or(rest.len());
        let authority = &rest[..end];
        let user_information = match rfind(authority, self.at) {
            Some(at) if is_web(scheme) => &authority[..at],
            None if !self.has_open_password(authority) => return None,
            // A password may contain delimiters of an authority; the last `@` decides.
            _ => {
                let query = rest.find('?').unwrap_or(rest.len());
                let at = rfind(&rest[..query], self.at).or_else(|| position(rest, self.at))?;
                &rest[..at]
            }
        };
        let secret = position(user_information, self.colon).is_some()
            || user_information.len() >= SHORTEST_LONE_TOKEN && is_credible(user_information);
        let masked = position(user_information, self.colon).is_some_and(|at| {
            let (user, password) = user_information.split_at(at);
            let password = &password[self.colon.len()..];
            is_placeholder(password) || is_template(user, password)
        });
        let image = rest[user_information.len() + self.at.len()..].starts_with("sha256:");
        (secret && !image && !masked).then_some(user_information.len())
    }

    /// Whether the text after the colon cannot be a port.
    fn has_open_password(&self, authority: &str) -> bool {
        position(authority, self.colon).is_some_and(|at| {
            let port = &authority[at + self.colon.len()..];
            !port.is_empty()
                && !port.bytes().all(|byte| byte.is_ascii_digit())
                && !authority.starts_with('[')
        })
    }
}

/// Whether both parts are placeholder names, as in the template `user:password@host`.
fn is_template(user: &str, password: &str) -> bool {
    const USERS: &str = "user username login usr name";
    const PASSWORDS: &str = "pass password passwd pwd secret token key pw";
    let is_one_case = |it: &str| {
        it.bytes().all(|byte| byte.is_ascii_lowercase())
            || it.bytes().all(|byte| byte.is_ascii_uppercase())
    };
    listed!(USERS, user)
        && listed!(PASSWORDS, password)
        && is_one_case(user)
        && is_one_case(password)
}

/// A user name without a password is a token only from this length on.
const SHORTEST_LONE_TOKEN: usize = 16;

fn is_web(scheme: &str) -> bool {
    listed!("http https ws wss ftp git ssh", scheme)
}

fn scheme_before(text: &str, end: usize) -> &str {
    const LONGEST_SCHEME: usize = 32;
    let bytes = text.as_bytes();
    let mut start = end;
    while start > 0
        && end - start < LONGEST_SCHEME
        && (bytes[start - 1].is_ascii_alphanumeric() || b"+.-".contains(&bytes[start - 1]))
    {
        start -= 1;
    }
    &text[start..end]
}

fn password_of(text: &str, start: usize) -> Option<Range<usize>> {
    let quote = text[start..]
        .chars()
        .next()
        .filter(|first| "'\"".contains(*first));
    let start = start + quote.map_or(0, char::len_utf8);
    let ends =
        |character: char| quote.map_or(character.is_whitespace(), |quote| character == quote);
    let word = text[start..].split(ends).next()?;
    let colon = word.find(':')?;
    let credentials = !word.starts_with('-') && !word[colon..].starts_with("://");
    credentials.then(|| start + colon + 1..start + word.len())
}

fn is_blank_or_quote(character: char) -> bool {
    character.is_whitespace() || "\"'<>`".contains(character)
}

fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    text.split('\n').map(move |line| {
        let range = start..start + line.len();
        start = range.end + 1;
        range
    })
}

/// The end of every occurrence of an ASCII delimiter, ignoring case.
fn ends_of<'a>(text: &'a str, mark: &'a str) -> impl Iterator<Item = usize> + 'a {
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + position(&text[from..], mark)?;
        from = at + mark.len();
        Some(from)
    })
}

fn find_any(text: &str, marks: &[&str]) -> Option<usize> {
    marks.iter().filter_map(|mark| position(text, mark)).min()
}

fn rfind(text: &str, mark: &str) -> Option<usize> {
    text.as_bytes()
        .windows(mark.len())
        .rposition(|window| window.eq_ignore_ascii_case(mark.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        let mut spans = Spans::default();
        find_user_information(text, &mut spans);
        find_command_users(text, &mut spans);
        assert_eq!(spans.cut(text).as_deref(), expected, "{text}");
    }

    #[test]
    fn user_information_is_removed_and_the_host_stays() {
        check(
            "https://bob:pw@host/p?q=1",
            Some("https://[REDACTED]@host/p?q=1"),
        );
        check(
            "redis://:pw@host:6379/0",
            Some("redis://[REDACTED]@host:6379/0"),
        );
        check(
            "postgres://u:p@s/s@host/db",
            Some("postgres://[REDACTED]@host/db"),
        );
        check("https://u:pa/ss@host", Some("https://[REDACTED]@host"));
        check("mysql://app:s3?pw@db", Some("mysql://[REDACTED]@db"));
        check(
            "https:\\/\\/u:p@host\\/x",
            Some("https:\\/\\/[REDACTED]@host\\/x"),
        );
        check(
            "x=https%3a%2f%2fu%3Apw%40host%2Fp",
            Some("x=https%3a%2f%2f[REDACTED]%40host%2Fp"),
        );
        check(
            "https://0123456789abcdef0@sentry.io/1",
            Some("https://[REDACTED]@sentry.io/1"),
        );
        check(
            "http://a:b@h http://c:d@h",
            Some("http://[REDACTED]@h http://[REDACTED]@h"),
        );
    }

    #[test]
    fn urls_without_credentials_survive() {
        let innocents = [
            "https://host:8080/@scope/package",
            "http://localhost:3000/users/bob@example.com",
            "https://medium.com/@user/post?x=a@b.c",
            "ssh://git@github.com/org/repo",
            "postgres://admin@host/db",
            "http://[::1]:80/a@b",
            "see: https://a.b, mail bob@example.com",
            "docker://alpine:3.19@sha256:0123456789abcdef",
            "docker run -u 1000:1000 image",
            "expected postgresql://USER:PASSWORD@HOST:5432/DBNAME",
            "https://user:pass@host is refused",
        ];
        for text in innocents {
            check(text, None);
        }
    }

    #[test]
    fn a_command_line_loses_only_the_password() {
        check(
            "curl -s -u bob:hunter2 https://h",
            Some("curl -s -u bob:[REDACTED] https://h"),
        );
        check(
            "curl --user 'bob:hun ter2' h",
            Some("curl --user 'bob:[REDACTED]' h"),
        );
    }
}
