//! Recognises responses of services and proxies that certainly did not begin the work, although their status leaves
//! that open.

use super::ErrorResponse;

/// How certain a refusal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// By a status or a code.
    Certain,
    /// By a sentence.
    Said,
}

/// The status of a proxy whose connection the service refused.
const NO_CONNECTION: u16 = 521;
/// The status of an overloaded provider or site. Only a provider of language models says with it that it did not begin.
const OVERLOADED: u16 = 529;

const CODES: [&str; 1] = ["overloaded_error"];

/// What servers of models say before they take a request. Other services also say it about another service, when
/// their own work is done.
const PHRASES: [(&str, &str); 3] = [
    ("model ", " is currently loading"),
    ("the model is ", "currently overloaded"),
    ("the model is overloaded", ""),
];

/// The whole bodies of Envoy, which states its reason as bare text. Inside of another text it is a quotation.
const ENVOY: [&str; 3] = [
    "no healthy upstream",
    "upstream connect error or disconnect/reset before headers. reset reason: connection failure",
    "upstream connect error or disconnect/reset before headers. reset reason: overflow",
];
/// What newer versions of Envoy add.
const ENVOY_ADDITION: &str = ", transport failure reason:";

/// The refusal in a response, if it is one.
pub(super) fn refusal(
    response: &ErrorResponse<'_>,
    codes: &[String],
    message: &str,
) -> Option<Refusal> {
    let status = response.status;
    let message = message.trim().to_ascii_lowercase();
    let is_refused = |code: &String| CODES.contains(&code.as_str());
    let is_provider = status == OVERLOADED && message.trim_end_matches('.') == "overloaded";
    if status == NO_CONNECTION || is_provider || codes.iter().any(is_refused) {
        return Some(Refusal::Certain);
    }
    let is_model = PHRASES
        .iter()
        .any(|(start, rest)| message.starts_with(start) && message.contains(rest));
    (status == 503 && (is_model || is_of_envoy(response.body))).then_some(Refusal::Said)
}

fn is_of_envoy(body: &str) -> bool {
    let body = body.trim().to_ascii_lowercase();
    let mut rests = ENVOY.iter().filter_map(|known| body.strip_prefix(known));
    rests.any(|rest| rest.is_empty() || rest.starts_with(ENVOY_ADDITION))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overloaded_service_did_not_begin_the_work() {
        let reset =
            "upstream connect error or disconnect/reset before headers. reset reason: connection";
        let (failed, ended) = (format!("{reset} failure"), format!("{reset} termination"));
        let explained = format!("{failed}, transport failure reason: delayed connect error: 111");
        let (certain, said) = (Some(Refusal::Certain), Some(Refusal::Said));
        for (status, code, body, expected) in [
            (521, "", "", certain),
            (529, "overloaded_error", "Overloaded", certain),
            (529, "", "Overloaded", certain),
            (500, "overloaded_error", "Overloaded", certain),
            (503, "", "Model bloom is currently loading", said),
            (
                503,
                "",
                "The model is overloaded. Please try again later.",
                said,
            ),
            (503, "", "no healthy upstream", said),
            (503, "", "no healthy upstream\n", said),
            (503, "", &failed, said),
            (503, "", &explained, said),
            (529, "", "", None),
            (529, "", "Site is overloaded", None),
            (503, "", &ended, None),
            (503, "", "payment service: no healthy upstream", None),
            (503, "", "Order stored. no healthy upstream", None),
            (503, "", "no healthy upstream for the mail service", None),
            (503, "", "The mail service is overloaded", None),
            (503, "", "unavailable", None),
            (500, "server_error", "The operator + is overloaded", None),
            (400, "", "The model is overloaded", None),
        ] {
            let response = ErrorResponse {
                status,
                headers: &[],
                body,
                provider: None,
            };
            assert_eq!(
                refusal(&response, &[code.to_owned()], body),
                expected,
                "{status} {body}"
            );
        }
        let body = r#"{"message": "no healthy upstream"}"#;
        let response = ErrorResponse {
            status: 503,
            headers: &[],
            body,
            provider: None,
        };
        assert_eq!(refusal(&response, &[], "no healthy upstream"), None);
    }
}
