//! Statuses that services use for something else than HTTP does: a 405 or 422 for a state, a 406 for an empty result, a
//! 410 for a retired version of the API, a feature that is switched off or a position in a list.

use super::ErrorResponse;

/// A shorter message does not say what is wrong.
const WORDS_MIN: usize = 4;

/// Words of a message that means what its status says, by status.
const PROPER: [(u16, &[&str]); 2] = [
    (
        405,
        &[
            "method", "verb", "get", "post", "put", "patch", "delete", "head", "options", "http",
        ],
    ),
    (
        406,
        &[
            "accept",
            "acceptable",
            "content-type",
            "encoding",
            "format",
            "header",
            "language",
            "media",
            "mime",
            "representation",
            "type",
        ],
    ),
];

/// Words for a part of the API, and for its end.
const API: [&str; 4] = ["api", "endpoint", "version", "route"];
const RETIRED: [&str; 8] = [
    "deprecated",
    "discontinued",
    "removed",
    "retired",
    "sunset",
    "shut down",
    "no longer available",
    "no longer supported",
];

/// What marks the position in a list; it expires, and the list can be read from its start.
const POSITIONS: [&str; 8] = [
    "cursor",
    "continuation",
    "continue",
    "page_token",
    "pagetoken",
    "nextpagetoken",
    "resourceversion",
    "synctoken",
];
/// Ways to say that a feature is switched off, in the wording of services.
const SWITCHED_OFF: [&str; 5] = [
    "are disabled",
    "is disabled",
    "has been disabled",
    "is turned off",
    "are turned off",
];
/// States of items in which they refuse a change; values of an input are not called so.
const STATES: &str = "archived canceled cancelled closed completed disabled finished locked merged paid published \
                      refunded shipped suspended voided";
/// Words in front of a state.
const ARTICLES: [&str; 5] = ["a", "an", "the", "this", "that"];

/// Whether a message is about the position in a list.
pub(super) fn is_about_position(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    let has = |it: &&str| message.contains(*it);
    let is_token = ["page token", "sync token", "pagination token"]
        .iter()
        .any(has);
    is_token || POSITIONS.iter().any(has)
}

/// Whether a message is about a feature that is switched off.
pub(super) fn is_switched_off(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    SWITCHED_OFF.iter().any(|it| message.contains(it))
}

/// Whether words say that a state refuses every change: `closed orders cannot be edited`.
fn is_refused_by_state(words: &[&str]) -> bool {
    let mut words = words.iter().skip_while(|it| ARTICLES.contains(it));
    let is_state = words
        .next()
        .is_some_and(|word| STATES.split_ascii_whitespace().any(|it| it == *word));
    let next: Vec<&str> = words.take(5).copied().collect();
    let refuses = |pair: &[&str]| matches!(pair, ["cannot" | "not" | "t", "be"]);
    // `closed_at` is a member of the input.
    let is_member = matches!(next.first(), Some(&("at" | "by" | "date" | "on" | "until")));
    is_state && !is_member && next.windows(2).any(refuses)
}

/// The status that a message means, if it is not about what its status says.
pub(super) fn meant_status(response: &ErrorResponse<'_>, message: &str) -> Option<u16> {
    let status = response.status;
    let message = message.to_ascii_lowercase();
    let is_part = |it: char| it.is_ascii_alphanumeric() || it == '-';
    let words: Vec<&str> = message
        .split(|it| !is_part(it))
        .filter(|it| !it.is_empty())
        .collect();
    if status == 410 {
        return meant_by_gone(&message, &words);
    }
    if matches!(status, 400 | 422) {
        return is_refused_by_state(&words).then_some(412);
    }
    let (_, proper) = PROPER.iter().find(|(it, _)| *it == status)?;
    let is_proper = words.len() < WORDS_MIN || words.iter().any(|it| proper.contains(it));
    let has_allow = response
        .headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("allow"));
    match status {
        _ if is_proper => None,
        405 => (!has_allow).then_some(412),
        _ => Some(400),
    }
}

/// The status that a message with 410 means.
fn meant_by_gone(message: &str, words: &[&str]) -> Option<u16> {
    let is_api = API.iter().any(|it| words.contains(it));
    if is_api && RETIRED.iter().any(|it| message.contains(it)) {
        return Some(501);
    }
    if is_switched_off(message) {
        return Some(412);
    }
    is_about_position(message).then_some(400)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_can_mean_another_status() {
        let allow = [("Allow", "GET")];
        for (status, headers, message, expected) in [
            (405, &[][..], "Pull Request is not mergeable", Some(412)),
            (
                405,
                &[],
                "At least 1 approving review is required by reviewers with write access.",
                Some(412),
            ),
            (405, &allow, "Pull Request is not mergeable", None),
            (405, &[], "Request method 'POST' is not supported", None),
            (405, &[], "DELETE is not possible for this resource", None),
            (405, &[], "Not allowed", None),
            (405, &[], "", None),
            (
                406,
                &[],
                "JSON object requested, multiple (or no) rows returned",
                Some(400),
            ),
            (406, &[], "The requested media type is not available", None),
            (
                406,
                &[],
                "No acceptable representation was found here",
                None,
            ),
            (
                410,
                &[],
                "API v1 was retired on 2024-01-01. Use /v2/orders.",
                Some(501),
            ),
            (410, &[], "This endpoint is no longer available", Some(501)),
            (410, &[], "The order was removed", None),
            (410, &[], "The continue parameter is too old", Some(400)),
            (
                410,
                &[],
                "The cursor has expired. Start again without a cursor.",
                Some(400),
            ),
            (410, &[], "Issues are disabled for this repo", Some(412)),
            (410, &[], "The user was disabled and removed", None),
            (422, &[], "Closed orders cannot be edited", Some(412)),
            (400, &[], "A paid invoice can't be changed", Some(412)),
            (
                422,
                &[],
                "This archived project may not be renamed",
                Some(412),
            ),
            (422, &[], "The price cannot be negative", None),
            (422, &[], "closed_at cannot be in the future", None),
            (422, &[], "Closed is not a status", None),
            (409, &[], "Closed orders cannot be edited", None),
            (400, &[], "Pull Request is not mergeable", None),
        ] {
            let response = ErrorResponse {
                status,
                headers,
                body: "",
                provider: None,
            };
            assert_eq!(
                meant_status(&response, message),
                expected,
                "{status} {message}"
            );
        }
    }
}
