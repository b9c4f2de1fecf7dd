//! Recognises responses of services and proxies that certainly did not begin the work, although their status leaves
//! that open.

/// How certain a refusal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// By a status or a code.
    Certain,
    /// By a sentence.
    Said,
}

/// Statuses of proxies and providers: the service refused the connection (521), is overloaded (529).
const STATUSES: [u16; 2] = [521, 529];

const CODES: [&str; 1] = ["overloaded_error"];

/// Phrases of services and proxies that could not take the request.
const PHRASES: [&str; 6] = [
    "is currently loading",
    "is currently overloaded",
    "is overloaded",
    "no healthy upstream",
    "reset reason: connection failure",
    "reset reason: overflow",
];

/// The refusal in a response, if it is one.
pub(super) fn refusal(status: u16, codes: &[String], message: &str) -> Option<Refusal> {
    let is_refused = |code: &String| CODES.contains(&code.as_str());
    if STATUSES.contains(&status) || codes.iter().any(is_refused) {
        return Some(Refusal::Certain);
    }
    let message = message.to_ascii_lowercase();
    let is_said = status == 503 && PHRASES.iter().any(|it| message.contains(it));
    is_said.then_some(Refusal::Said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overloaded_service_did_not_begin_the_work() {
        for (status, code, message, expected) in [
            (529, "", "", Some(Refusal::Certain)),
            (
                500,
                "overloaded_error",
                "Overloaded",
                Some(Refusal::Certain),
            ),
            (
                503,
                "",
                "Model bloom is currently loading",
                Some(Refusal::Said),
            ),
            (
                503,
                "",
                "The model is overloaded. Please try again later.",
                Some(Refusal::Said),
            ),
            (503, "", "no healthy upstream", Some(Refusal::Said)),
            (
                503,
                "",
                "upstream connect error. reset reason: connection failure",
                Some(Refusal::Said),
            ),
            (
                503,
                "",
                "upstream connect error. reset reason: connection termination",
                None,
            ),
            (503, "", "unavailable", None),
            (500, "server_error", "The operator + is overloaded", None),
            (400, "", "The model is overloaded", None),
        ] {
            assert_eq!(
                refusal(status, &[code.to_owned()], message),
                expected,
                "{status} {message}"
            );
        }
    }
}
