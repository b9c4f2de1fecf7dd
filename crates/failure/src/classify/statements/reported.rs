//! Detects whether a text reports an effect.
//!
//! Unlike the forms it matches too much rather than too little, because it only revokes statements.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Participles with which services report an effect.
pub(super) const DONE: &str = "accepted|added|allocated|applied|assigned|begun|billed|booked|cancell?ed|captured|charged|\
                    committed|completed|confirmed|copied|created|credited|debited|deducted|deleted|delivered|\
                    deployed|done|dispatched|emailed|enqueued|executed|filed|forwarded|generated|imported|\
                    inserted|issued|logged in|moved|notified|ordered|paid|performed|persisted|placed|posted|\
                    processed|provisioned|published|purchased|queued|received|recorded|refunded|registered|\
                    removed|renamed|reserved|saved|scheduled|sent|shipped|stored|submitted|succeeded|\
                    transferred|updated|uploaded|withdrawn|written";

/// An effect, with an optional negation before it (`was not created`, `nothing was stored`, `no data was sent`,
/// `before anything was written`), the words of a rate limit (`sent too many requests`), a person who ended the
/// call (`cancelled by the user`) or a time that shows an earlier call (`was created a moment ago`).
///
/// What is still being done, or waits in a queue, is other work, unless it is the caller's own (`your order is being
/// processed`).
static EFFECT: LazyLock<Regex> = LazyLock::new(|| {
    let denial = r"(?:\b(?:not|never|cannot|nothing|before|without|to be)\b|n't|\bno [a-z]+(?: [a-z]+)?|\btoo many [a-z]+)";
    let between = "(?: (?:it|anything|any|changes?|yet|be|been|being|was|were|is|has|have|could))*";
    let own = r"\b(?:your (?:[a-z]+ )?[a-z]+|(?:the|this) (?:booking|charge|order|payment|purchase|request|transaction|transfer))";
    let now = "(?:(?:already|currently|now|still) )?";
    let state = format!(r"\b(?:is|are) {now}(?:being (?:{DONE})|queued|enqueued)\b");
    let other = r" too many\b| by (?:the |a )?(?:user|person|human|operator)\b| (?:a (?:moment|second|minute)|(?:a )?few (?:moments|seconds|minutes)) ago\b| recently\b";
    let pattern = format!(
        r"(?i-u)(?P<denied>{denial}{between} )?(?P<own>{own} )?(?:(?P<state>{state})|\b(?:{DONE})\b(?P<other>{other})?)"
    );
    Regex::new(&pattern).expect("a fixed pattern compiles")
});

/// Whether a text reports any effect.
pub(super) fn effect(text: &str) -> bool {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_report = |found: Captures<'_>| {
        let has = |name| found.name(name).is_some();
        !has("denied") && !has("other") && (!has("state") || has("own"))
    };
    EFFECT.captures_iter(&text).any(is_report)
}

/// Past tense with an auxiliary, as services report finished work; without the words of a limit (`requests were sent
/// too fast`) and without its denials.
static WORK_DONE: LazyLock<Regex> = LazyLock::new(|| {
    let denial = r"(?:\b(?:not|never|nothing)|\b(?:before|without)(?: anything| any [a-z]+| it)?|\bno [a-z]+(?: [a-z]+)?|\btoo many [a-z]+|\b(?:requests|calls|attempts|queries))";
    let done = format!(
        r"\b(?:was|were|(?:has|have|had) been|we(?: have)?) (?:also |already |successfully )?(?:{DONE})\b"
    );
    let pattern =
        format!(r"(?i-u)(?P<denied>{denial} )?{done}(?P<rate> (?:too|per|in the last|within)\b)?");
    Regex::new(&pattern).expect("a fixed pattern compiles")
});

/// Whether a text reports finished work with certainty. The code of a refusal is no proof against that: a batch can
/// stop half-way.
pub(super) fn work_done(text: &str) -> bool {
    is_reported(&WORK_DONE, text)
}

/// Work that can be done in part, unlike a payment or an order, whose partial states are normal.
const PART: &str = "applied|completed|created|deleted|executed|imported|inserted|processed|saved|sent|stored|\
                    submitted|succeeded|updated|uploaded|written";

/// Reports of an effect although the rest failed.
static PARTIAL_EFFECTS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let number = "[1-9][0-9,]*";
    // Words between a number and what happened to those items.
    let between = "(?P<between>(?: [a-z-]+){0,4}?)";
    let patterns = [
        // "was saved but", "has been charged; however"
        format!(
            r"(?P<denied>\b(?:not|never|nothing|no) (?:[a-z]+ )?)?\b(?:was|were|has been|have been|is|got)(?P<denial> not| never)? (?:successfully |already )?(?:{DONE})\b[^.;!?]{{0,80}}?(?:,? but\b|[.;,] ?however\b|,? although\b)"
        ),
        // "2 of 3 items were imported", "after 40 rows were inserted"
        format!(r"\b(?:{number} (?:out )?of (?:the )?[0-9][0-9,]*|after {number}){between} (?:{DONE})\b"),
        // "imported 40 of 100 rows", "sent to 40 of 100 recipients"
        format!(
            r"(?P<denied>(?:\b(?:not|never|be|to)|n't) )?\b(?:{DONE}) (?:to |for )?(?:only )?{number} (?:out )?of [0-9]"
        ),
        format!(r"\b(?:was|were|has been|have been|only) (?:partially|partly) (?:{PART})\b"),
        format!(r"(?P<denied>(?:\b(?:not|never|be|to)|n't) )?\b(?:{PART}) with (?:[a-z0-9]+ )?(?:warnings?|errors?)\b"),
        r"\b(?:payment|charge|card|transaction|amount|order) (?:was|has been|is) (?:successfully )?authori[sz]ed,? (?:but|however)\b"
            .to_owned(),
    ];
    let compiled =
        patterns.map(|it| Regex::new(&format!("(?i){it}")).expect("a fixed pattern compiles"));
    compiled.into()
});

/// Words between a number and a participle that make it no report: `2 of 3 items could not be imported`.
const NO_REPORT: &str =
    "be can cannot could failed may must never no not requests calls attempts should will would";

/// Whether a text reports that one part was done and another failed.
pub(super) fn partial_effect(text: &str) -> bool {
    PARTIAL_EFFECTS.iter().any(|it| is_reported(it, text))
}

/// Whether a pattern occurs without the words that deny it.
fn is_reported(pattern: &Regex, text: &str) -> bool {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_denied = |found: &Captures<'_>| {
        let between = found.name("between").map_or("", |it| it.as_str());
        let mut between = between.split(' ').map(str::to_ascii_lowercase);
        ["denied", "denial", "rate"]
            .iter()
            .any(|it| found.name(it).is_some())
            || between.any(|word| !word.is_empty() && NO_REPORT.split(' ').any(|it| it == word))
    };
    pattern.captures_iter(&text).any(|found| !is_denied(&found))
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
            "2 of 3 items were imported; 1 failed",
            "3 of 5 messages were sent. 2 recipients are invalid.",
            "Rate limit reached after 40 of 100 rows were inserted. Continue with row 41.",
            "The job stopped after 40 rows were written",
            "Message sent to 40 of 100 recipients before the rate limit was reached.",
            "Imported 40 of 100 rows. The table is locked.",
            "Batch was partially processed",
            "Order created with warnings: coupon EXPIRED was not applied",
            "The payment was authorized but capture failed; the hold remains.",
        ] {
            assert!(partial_effect(text), "{text}");
        }
        for text in [
            "The order was not saved, but you can correct it",
            "Nothing was charged, but the card is unknown",
            "The email is already registered",
            "Must be paid before it is shipped",
            "limit was 500 but may not exceed 100",
            "0 of 3 items were imported",
            "2 of 3 items could not be imported",
            "2 of 3 items were not imported",
            "At most 3 of 5 items can be updated",
            "You may send again after 100 requests were processed",
            "It could not be sent to 3 of 5 recipients",
            "A partially refunded order cannot be cancelled",
            "The invoice is partially paid",
            "A page must not be created with errors",
            "You are authorized but the plan does not include exports",
        ] {
            assert!(!partial_effect(text), "{text}");
        }
    }

    #[test]
    fn finished_work_is_reported_in_the_past_tense() {
        for text in [
            "Step 1 was executed. Another deployment is already running.",
            "40 rows have been inserted, then the limit was reached",
            "We charged your card, then the limit was reached",
        ] {
            assert!(work_done(text), "{text}");
        }
        for text in [
            "Too many requests",
            "Too many messages have been sent",
            "Requests were sent too fast",
            "No data was stored",
            "Nothing was written",
            "The limit of queued jobs was reached",
            "Limit: 5 emails can be sent per minute",
            "The message was not sent",
            "The rate limit was exceeded before anything was written",
            "Your message was sent too soon after the last one",
        ] {
            assert!(!work_done(text), "{text}");
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
            "Your order is being processed. Try again in 5 seconds.",
            "The payment is being processed",
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
            "Account is being provisioned. Please retry after 60 seconds.",
            "Resource is being updated by another request.",
            "Job 17 is queued.",
            "The user was created a moment ago and is not visible yet.",
        ] {
            assert!(!effect(text), "{text}");
        }
    }
}
