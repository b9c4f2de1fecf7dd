//! Invitations: to repeat a call that failed for no stated reason, and to sign in at an address.
//!
//! Unlike the forms, they are read from the whole text, because any other sentence can ask for something else.

use std::sync::LazyLock;

use regex::Regex;

/// A failure without a reason that the caller could remove, and then nothing but the invitation.
static BARE: LazyLock<Regex> = LazyLock::new(|| {
    let adjective = "unexpected|internal|unknown|unspecified|temporary|transient|intermittent|passing|generic|server|\
                     service|backend|upstream|system|network|database|api|provider|gateway";
    let server = "server|service|backend|upstream|system|database|api|provider|gateway|index|engine|model|platform";
    let reason = format!(
        r"(?:(?:oops|sorry|uh oh|hmm)[,.!:]? ?)?(?:(?:we are |i'm |i am )?sorry[,.!:]? ?)?(?:(?:but )?something (?:has |just )?(?:went|gone|goes) wrong(?: on our (?:end|side))?|(?:(?:an?|some|the) )?(?:(?:{adjective})(?: |-side )){{1,2}}(?:error|failure|problem|issue|exception|fault|hiccup|glitch)(?: (?:has )?occurred)?(?: while [a-z ]{{1,40}})?|an error (?:has )?occurred|(?:the )?(?:[a-z]+ )?(?:{server}) (?:has )?(?:returned|gave|sent|encountered|experienced|had|hit) (?:an?|no) [a-z ]{{1,40}}|(?:a )?conflict occurred while [a-z]{{1,20}}|(?:the )?(?:request|operation|call|transaction) (?:failed|could not be completed|was aborted)(?: (?:at this time|right now|temporarily|due to (?:an? )?(?:{adjective}) (?:error|problem|issue)))?)"
    );
    let repeat = r"(?:please |kindly |you (?:can|may) |then )?(?:re-?try|try again|(?:re-?try|repeat) (?:the|your|this) (?:request|call|operation|transaction)|try (?:the|your|this) (?:request|call|operation) again)(?: once more| once)?";
    let announced = r"(?:(?:[a-z]*error|failed|failure)(?: [a-z ]{1,40})?(?: '[^']{1,60}')?: )?";
    let pattern = format!(
        r"(?i)^{announced}{reason}(?: ?[.,;:!–—-]+ ?|,? and | )(?:{repeat}|\(?retry-?able\)?)[.!)]*$"
    );
    Regex::new(&pattern).expect("a fixed pattern compiles")
});

/// A request to sign in at an address.
static SIGN_IN_AT: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r#"(?i)(?:^|[.!:;,(–—-] ?|\b(?:please|must|should|can|need to|have to|by|and|then) )(?:(?:re-?)?authenticate|authori[sz]e|log ?in|sign ?in|grant access|connect your|consent|visit(?:ing)?|open(?:ing)?|go(?:ing)? to)\b[^\n]{0,80}?(?P<url>https?://[^\s"'`<>()\[\]{}]+)"#;
    Regex::new(pattern).expect("a fixed pattern compiles")
});

/// Longest text that is only an invitation, in bytes.
const BARE_BYTES_LIMIT: usize = 300;

/// Whether a text reports a failure without a reason and only invites to repeat the call.
pub(super) fn is_bare(text: &str) -> bool {
    text.len() <= BARE_BYTES_LIMIT && {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        BARE.is_match(&text)
    }
}

/// The address at which a text asks a person to sign in.
pub(super) fn sign_in_url(text: &str) -> Option<String> {
    let captures = SIGN_IN_AT.captures(text)?;
    Some(
        captures["url"]
            .trim_end_matches(['.', ',', ';', ':', '!', '?'])
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_failure_without_a_reason_is_a_bare_invitation() {
        for text in [
            "Something went wrong. Please try again.",
            "Oops! Something went wrong on our end, please retry",
            "Temporary failure, please retry",
            "Error: An unexpected error occurred. Try again.",
            "Error executing tool 'get': internal server error, please retry the request",
            "The search backend returned an incomplete answer. Please try again.",
            "Upstream error (retryable)",
            "Conflict occurred while saving. Please try again.",
            "A network problem occurred while loading the page; please try again",
        ] {
            assert!(is_bare(text), "{text}");
        }
        for text in [
            "Try again",
            "Name taken. Please try again.",
            "Title is too long. Try again with at most 80 characters.",
            "Something went wrong. Try again with fewer words.",
            "This deletes 14 files. Retry with confirm=true to proceed.",
            "Daily sending limit reached. Try again tomorrow.",
            "Something went wrong. Try again at most 3 times.",
            "An error occurred: invalid email. Please try again.",
            "The card was declined. Please try again.",
            "Invalid password, please try again",
            "Something went wrong. Check the id. Please try again.",
            "Something went wrong. Do not try again.",
            "An unexpected error occurred. If the problem persists, contact support.",
            "",
        ] {
            assert!(!is_bare(text), "{text}");
        }
    }

    #[test]
    fn the_address_of_a_sign_in_is_found() {
        for (text, expected) in [
            (
                "Please authenticate by visiting https://a.b/c?d=e&f=g.",
                Some("https://a.b/c?d=e&f=g"),
            ),
            (
                "Sign in required. Open (https://a.b/c) in a browser",
                Some("https://a.b/c"),
            ),
            (
                "Connect your account at https://a.b/c",
                Some("https://a.b/c"),
            ),
            ("GET https://a.b/c: 401 Unauthorized", None),
            (
                "Failed to authenticate with https://a.b/token: invalid_grant",
                None,
            ),
            ("Could not open https://a.b/c: Unauthorized", None),
            ("Unauthorized", None),
        ] {
            assert_eq!(sign_in_url(text).as_deref(), expected, "{text}");
        }
    }
}
