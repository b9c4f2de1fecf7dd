//! Statuses that services use for something else than HTTP does: a 405 for a state, a 406 for an empty result, a 410
//! for a retired version of the API.

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
        let is_api = API.iter().any(|it| words.contains(it));
        return (is_api && RETIRED.iter().any(|it| message.contains(it))).then_some(501);
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
            (410, &[], "The continue parameter is too old", None),
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
