//! Detects whether a text reports that the work of this very call was done although the call failed: `Order created, but
//! the mail could not be sent`.
//!
//! Stricter than `reported`, because it says that an effect happened: a participle counts only at the end of its
//! clause. What describes earlier work goes on (`was created by ann`, `the invoice created on Monday`).

use std::sync::LazyLock;

use regex::Regex;

use super::reported::DONE;

/// Participles of work that no state is named after, unlike `closed`, `shipped` or `registered`.
const MADE: &str = "accepted|booked|captured|charged|created|credited|debited|enqueued|executed|imported|inserted|\
                    persisted|placed|processed|queued|recorded|saved|sent|stored|uploaded|written";

/// Those of them that begin a text without an auxiliary: `Order created`. `Data sent` is mostly about the input.
const HEADLINES: &str = "accepted|booked|captured|charged|created|credited|debited|enqueued|imported|inserted|\
                         persisted|placed|queued|recorded|saved|stored|uploaded|written";

/// Words in front of a participle in the same clause with which it reports nothing about this call.
const OTHERWISE: &str = "\
    a already an another any bad be been being before by can cannot corrupt could duplicate each earlier empty every \
    has have how if incorrect invalid is large last malformed many may might missing multiple must never \
    neither no none not nothing only other previous previously should than that to too unexpected unknown unless \
    unsupported until value values was were what when which who whose without would wrong";

/// Of these, the words that an auxiliary may have in front of it: `a charge was recorded`.
const BEFORE_AUXILIARY: &str = "a an another value values each every";

/// A clause that ends in a participle, and what was done before it.
static CLAUSES: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let adverb = "(?:also |successfully |just )?";
    let end = r"(?: successfully)?(?:$|[.,;!–—)]| ?(?:-|–|—) | (?:but|although|though|however|and|while|yet)\b)";
    let failed = r"[.,;]? [^.;!?]{0,60}\b(?:failed|fails|failure|declined|could not|couldn't|cannot be sent)\b";
    let subject = r"(?:^|[.;!?,:(] ?)(?P<before>(?:[#\w-]+ ){1,4})";
    let clause = r"(?:^|[.;!?,:(])(?P<before>[^.;!?,:(]{1,300} )";
    let patterns = [
        format!(r"{clause}(?P<auxiliary>was|were|has been|have been|got) {adverb}(?:{MADE}){end}"),
        format!(r"(?P<before>\b)(?P<auxiliary>we|we have|we've) {adverb}(?:{MADE})\b"),
        format!(r"{subject}{adverb}(?:{HEADLINES}){end}"),
        format!(r"{subject}{adverb}(?:{DONE}),? (?:but|however|although)\b"),
        format!(r"{subject}{adverb}(?:{DONE}){failed}"),
    ];
    let compiled =
        patterns.map(|it| Regex::new(&format!("(?i){it}")).expect("a fixed pattern compiles"));
    compiled.into()
});

/// Whether a text reports that this call did its work before it failed.
pub(super) fn before_failure(text: &str) -> bool {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_found = |pattern: &Regex| {
        let mut found = pattern.captures_iter(&text);
        found.any(|it| {
            let before = it.name("before").map_or("", |it| it.as_str());
            is_about_this_call(before, it.name("auxiliary").is_some())
        })
    };
    CLAUSES.iter().any(is_found)
}

fn is_about_this_call(before: &str, has_auxiliary: bool) -> bool {
    let is_in = |words: &str, word: &str| words.split_ascii_whitespace().any(|it| it == word);
    let before = before.to_lowercase().replace('’', "'");
    let mut words = before.split_whitespace();
    words.all(|word| {
        let is_allowed = has_auxiliary && is_in(BEFORE_AUXILIARY, word);
        is_allowed || !(is_in(OTHERWISE, word) || word.ends_with("n't"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_of_this_call_is_reported() {
        for text in [
            "Order created, but the email is invalid.",
            "Order created; notification rate limit exceeded.",
            "Order placed, payment declined",
            "Order saved; the customer does not exist.",
            "Order 17 accepted; stock could not be reserved",
            "The order was placed. The coupon is unknown.",
            "Your order was placed, the coupon EXPIRED is not valid",
            "The order was created, its stock is locked",
            "The order was created and waits for approval",
            "Contact A-17 has been created. The welcome mail was refused.",
            "We charged your card; the address is incomplete",
            "The coupon is not valid, the order was created.",
            "Email sent, SMS failed",
            "File uploaded, but its index is full",
            "Order cancelled; the refund failed",
            "Invoice was successfully stored but the index is full",
            "Invoice created successfully. Its PDF is too large.",
        ] {
            assert!(before_failure(text), "{text}");
        }
    }

    #[test]
    fn other_work_is_not_the_work_of_this_call() {
        for text in [
            "",
            "The customer must be created first",
            "Order could not be created",
            "Order could not be created, but you can correct it",
            "the invoice created on Monday is closed",
            "The order was already cancelled",
            "Order already created",
            "The email is not saved",
            "email is not saved",
            "Order was not created",
            "No order was created.",
            "Nothing was stored.",
            "Neither invoice nor order was created.",
            "The item was created by another user",
            "The account was placed on hold",
            "If the order was created, call support",
            "An invoice that was sent cannot be edited",
            "The order was shipped and cannot be changed",
            "Order shipped, it cannot be changed",
            "Email is already registered",
            "Name reserved, choose another one",
            "No file uploaded.",
            "Invalid data submitted.",
            "Empty file uploaded.",
            "Unknown field sent, expected name",
            "Too many requests sent.",
            "Only PDF files accepted.",
            "Cards accepted: Visa, Mastercard",
            "The document was updated by ann since you read it",
            "Order cancelled.",
            "created_at must be a date",
            "The order cannot be saved",
            "The file wasn't saved.",
            "Pull request was closed.",
            "A record with this id was created before",
        ] {
            assert!(!before_failure(text), "{text}");
        }
    }
}
