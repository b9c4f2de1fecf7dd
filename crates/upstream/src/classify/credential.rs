//! Decides whose credential an internal error is about. A service that cannot sign in to its own database reports that
//! with a 500 too; no credential of the caller helps then.

use panpan_failure::classify::Condition;

use super::stated_code;

/// Phrases about the session of the caller, in lower case.
const OF_CALLER: [&str; 16] = [
    "access token expired",
    "access token has expired",
    "authentication required",
    "jwt expired",
    "jwt is expired",
    "log in again",
    "login required",
    "must be logged in",
    "need to be logged in",
    "not logged in",
    "please log in",
    "please login",
    "please sign in",
    "sign in again",
    "your credentials have expired",
    "your token",
];

/// Whole messages of frameworks whose refusal of a caller was not caught.
const BARE: [&str; 4] = [
    "not authenticated",
    "unauthenticated",
    "unauthorized",
    "unauthorised",
];

/// Whether an internal error that speaks of a credential means that of the caller.
pub(super) fn is_of_caller(codes: &[&str], message: &str) -> bool {
    let message = message.to_lowercase();
    let is_session = message.contains("session")
        && ["expired", "timed out", "no longer valid"]
            .iter()
            .any(|it| message.contains(it));
    let by_code = stated_code::condition(codes) == Some(Condition::SignIn);
    let is_bare = BARE.contains(&message.trim_end_matches(['.', '!']));
    by_code || is_session || is_bare || OF_CALLER.iter().any(|it| message.contains(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_internal_error_is_mostly_about_the_credential_of_the_service() {
        for (codes, message, expected) in [
            (&[][..], "Please log in again.", true),
            (&[], "Your session has expired", true),
            (&[], "Your token has expired", true),
            (&[], "jwt expired", true),
            (&["INVALID_SESSION_ID"], "no", true),
            (&[], "Unauthorized", true),
            (&[], "The mail provider says: Unauthorized", false),
            (
                &[],
                "FATAL: password authentication failed for user \"app\"",
                false,
            ),
            (&[], "Login failed for user 'sa'.", false),
            (
                &[],
                "SMTP error 535: authentication failed for mailer",
                false,
            ),
            (&[], "mail provider: invalid API key", false),
            (&[], "Invalid access token", false),
            (&[], "The session store is full", false),
            (&["internal_error"], "no credentials found", false),
        ] {
            assert_eq!(is_of_caller(codes, message), expected, "{message}");
        }
    }
}
