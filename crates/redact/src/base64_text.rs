//! Finds base64 that decodes to JSON or a URL with a secret inside. The whole run is removed.

use std::sync::LazyLock;

use regex::Regex;

use super::credentials::decode_base64;
use super::literals::Literals;
use super::rules::pattern;
use super::spans::Spans;
use super::text;

/// The first characters of such a run: the encoding of `{"`, of `{` with white space, and of URL
/// schemes.
pub(super) const ANCHORS: &str = "^eyJ ^ewog ^ewoJ ^eyAi ^cG9zdGdyZXM6 ^cG9zdGdyZXNxbD ^bXlzcWw6 ^cmVkaXM6 ^cmVkaXNzO ^bW9uZ29kY ^YW1xcD ^YW1xcH ^aHR0cHM6Ly ^aHR0cDovL";

static RUN: LazyLock<Regex> = pattern!(
    r"(?:eyJ|ewog|ewoJ|eyAi|cG9zdGdyZXM6|cG9zdGdyZXNxbD|bXlzcWw6|cmVkaXM6|cmVkaXNzO|bW9uZ29kY|YW1xc[DH]|aHR0cHM6Ly|aHR0cDovL)[A-Za-z0-9+/_-]{12,}={0,2}"
);

/// Collects the encoded runs that contain a secret.
pub(super) fn find(text: &str, spans: &mut Spans) {
    for run in RUN.find_iter(text) {
        let decoded = decode_base64(run.as_str()).and_then(|it| String::from_utf8(it).ok());
        if decoded.is_some_and(|it| text::redact(&Literals::default(), &it, 1) != it) {
            spans.push(run.range());
        }
    }
}
