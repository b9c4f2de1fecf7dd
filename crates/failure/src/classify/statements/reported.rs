//! Detects whether a text reports an effect.
//!
//! Unlike the forms it matches too much rather than too little, because it only revokes statements.

use std::sync::LazyLock;

use regex::Regex;

/// Participles with which services report an effect.
const DONE: &str = "accepted|added|allocated|applied|assigned|begun|billed|booked|cancell?ed|captured|charged|\
                    committed|completed|confirmed|copied|created|credited|debited|deducted|deleted|delivered|\
                    deployed|done|dispatched|emailed|enqueued|executed|filed|forwarded|generated|imported|\
                    inserted|issued|logged in|moved|notified|ordered|paid|performed|persisted|placed|posted|\
                    processed|provisioned|published|purchased|queued|received|recorded|refunded|registered|\
                    removed|renamed|reserved|saved|scheduled|sent|shipped|stored|submitted|succeeded|\
                    transferred|updated|uploaded|withdrawn|written";

/// An effect, with an optional negation before it (`was not created`, `nothing was stored`, `no data was sent`,
/// `before anything was written`), the words of a rate limit (`sent too many requests`) or a person who ended the
/// call (`cancelled by the user`).
static EFFECT: LazyLock<Regex> = LazyLock::new(|| {
    let denial = r"(?:\b(?:not|never|cannot|nothing|before|without|to be)\b|n't|\bno [a-z]+(?: [a-z]+)?|\btoo many [a-z]+)";
    let between = "(?: (?:it|anything|any|changes?|yet|be|been|being|was|were|is|has|have|could))*";
    let pattern = format!(
        r"(?i-u)(?P<denied>{denial}{between} )?\b(?:{DONE})\b(?P<rate> too many\b| by (?:the |a )?(?:user|person|human|operator)\b)?"
    );
    Regex::new(&pattern).expect("a fixed pattern compiles")
});

/// Whether a text reports any effect.
pub(super) fn effect(text: &str) -> bool {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut found = EFFECT.captures_iter(&text);
    found.any(|it| it.name("denied").is_none() && it.name("rate").is_none())
}

/// An effect although the rest failed: `was saved but`, `has been charged; however`.
static PARTIAL_EFFECT: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = format!(
        r"(?i)(?P<denied>\b(?:not|never|nothing|no) (?:[a-z]+ )?)?\b(?:was|were|has been|have been|is|got)(?P<denial> not| never)? (?:successfully |already )?(?:{DONE})\b[^.;!?]{{0,80}}?(?:,? but\b|[.;,] ?however\b|,? although\b)"
    );
    Regex::new(&pattern).expect("a fixed pattern compiles")
});

/// Whether a text reports that one part was done and another failed.
pub(super) fn partial_effect(text: &str) -> bool {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut found = PARTIAL_EFFECT.captures_iter(&text);
    found.any(|it| it.name("denied").is_none() && it.name("denial").is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_effects_are_detected() {
        for text in [
            "Order was saved but the confirmation mail could not be sent",
            "Your card was charged but the order could not be completed",
            "The file has been uploaded. However, indexing failed",
        ] {
            assert!(partial_effect(text), "{text}");
        }
        for text in [
            "The order was not saved, but you can correct it",
            "Nothing was charged, but the card is unknown",
            "The email is already registered",
            "Must be paid before it is shipped",
            "limit was 500 but may not exceed 100",
        ] {
            assert!(!partial_effect(text), "{text}");
        }
    }

    #[test]
    fn effects_are_detected_unless_they_are_negated() {
        for text in [
            "Order 17 was created, the payment failed. Nothing was charged.",
            "Your order was received and is being processed",
            "Your payment was accepted; please wait 1 second",
            "Invoice saved.",
            "We charged your card.",
            "The order was placed – nothing was charged",
            "There is no doubt the order was created",
            "It was not only created",
            "The card was not charged, the order was\nstored",
        ] {
            assert!(effect(text), "{text}");
        }
        for text in [
            "",
            "An export is already running, nothing was changed",
            "The store is read-only for a moment. Nothing was written. Try again in 1 second.",
            "The order could not be created",
            "The card wasn't charged",
            "No data was stored and no new record has been created",
            "It was rejected before anything was written",
            "You have sent too many requests",
            "Too many requests received",
            "The question was cancelled by the user",
            "error while processing the request",
        ] {
            assert!(!effect(text), "{text}");
        }
    }
}
