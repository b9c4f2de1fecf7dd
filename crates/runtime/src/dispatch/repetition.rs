//! Recognises failures that say that a call was made before: what it creates exists, or what it does is done.
//!
//! Only the advice depends on it: the code and the effect stay as the service stated them. A state that forbids the call
//! is another matter: "has already been shipped and cannot be cancelled" says that nothing was cancelled.

use panpan_failure::Failure;

/// What a failure says about an earlier call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repetition {
    /// The item that the call creates exists.
    Exists,
    /// What the call does is done or in progress.
    IsDone,
}

/// The beginnings of what follows `already`, or `already been`.
const EXISTS: [&str; 9] = [
    "exist",
    "created",
    "placed",
    "registered",
    "taken",
    "in use",
    "own",
    "a member",
    "subscribed",
];
const IS_DONE: [&str; 26] = [
    "applied",
    "approved",
    "archived",
    "booked",
    "cancel",
    "captured",
    "closed",
    "completed",
    "confirmed",
    "deleted",
    "delivered",
    "deployed",
    "in progress",
    "merged",
    "paid",
    "pending",
    "processed",
    "published",
    "queued",
    "refunded",
    "running",
    "scheduled",
    "sent",
    "shipped",
    "started",
    "submitted",
];

/// Texts that say so without `already`.
const TEXTS: [(&str, Repetition); 9] = [
    ("exists already", Repetition::Exists),
    ("duplicate key", Repetition::Exists),
    ("duplicate entry", Repetition::Exists),
    ("unique constraint", Repetition::Exists),
    ("is a duplicate of", Repetition::IsDone),
    ("duplicate transaction", Repetition::IsDone),
    ("duplicate payment", Repetition::IsDone),
    ("duplicate order", Repetition::IsDone),
    ("previously captured", Repetition::IsDone),
];

/// Parts of codes that say so.
const CODES: [(&str, Repetition); 7] = [
    ("ALREADY_EXIST", Repetition::Exists),
    ("ALREADYEXIST", Repetition::Exists),
    ("DUPLICATE_KEY", Repetition::Exists),
    ("ALREADY_OWNED", Repetition::Exists),
    ("DUPLICATE_TRANSACTION", Repetition::IsDone),
    ("DUPLICATE_ORDER", Repetition::IsDone),
    ("DUPLICATE_PAYMENT", Repetition::IsDone),
];

/// Words behind which a text names what cannot be done.
const NEGATIONS: [&str; 13] = [
    "cannot ",
    "can not ",
    "can't ",
    "could not ",
    "couldn't ",
    "can no longer ",
    "may not ",
    "must not ",
    "unable to ",
    "not possible to ",
    "failed to ",
    "not allowed to ",
    "too late to ",
];

/// Verbs whose participle is spelt with other letters.
const IRREGULAR: [(&str, &str); 3] = [("paid", "pay"), ("sent", "send"), ("applied", "apply")];

/// How many letters of a verb tell it from the others, whatever its form.
const STEM_LETTERS: usize = 5;

/// Texts for something that belongs to another caller, so that no earlier call of this caller did it.
const OF_ANOTHER: [&str; 7] = [
    "by another",
    "by a different",
    "by someone else",
    "by other",
    "to another",
    "another customer",
    "another user",
];

/// What a failure says about an earlier call, if anything.
pub(super) fn of(failure: &Failure) -> Option<Repetition> {
    let message = failure.message().to_ascii_lowercase();
    let in_details = failure.details().and_then(|it| it.get("code")?.as_str());
    let in_upstream = failure.upstream().and_then(|it| it.code.as_deref());
    let codes = [in_details, in_upstream].into_iter().flatten();
    after_already(&message)
        .or_else(|| found(&message, &TEXTS))
        .or_else(|| {
            codes
                .map(str::to_ascii_uppercase)
                .find_map(|it| found(&it, &CODES))
        })
}

fn after_already(message: &str) -> Option<Repetition> {
    message.split(" already ").skip(1).find_map(|rest| {
        let rest = rest.strip_prefix("been ").unwrap_or(rest);
        let begins =
            |words: &[&'static str]| words.iter().find(|it| rest.starts_with(**it)).copied();
        let is_of_another = OF_ANOTHER.iter().any(|it| rest.contains(it));
        match (begins(&EXISTS), begins(&IS_DONE)) {
            _ if is_of_another => None,
            (Some(_), _) => Some(Repetition::Exists),
            (None, Some(done)) => (!forbids_another(message, done)).then_some(Repetition::IsDone),
            (None, None) => None,
        }
    })
}

/// Whether a text names something else that cannot be done, because this is done.
fn forbids_another(message: &str, done: &str) -> bool {
    let irregular = IRREGULAR.iter().find(|(participle, _)| done == *participle);
    let verbs = [Some(done), irregular.map(|(_, verb)| *verb)];
    let stems = verbs
        .into_iter()
        .flatten()
        .map(|it| it.get(..STEM_LETTERS).unwrap_or(it));
    let stems: Vec<&str> = stems.collect();
    let forbidden = NEGATIONS
        .iter()
        .flat_map(|negation| message.split(negation).skip(1));
    let mut verbs = forbidden.filter_map(|rest| {
        let mut words = rest.split(|it: char| !it.is_ascii_alphanumeric());
        words.find(|it| !["", "be", "been", "have"].contains(it))
    });
    verbs.any(|verb| !stems.iter().any(|stem| verb.starts_with(stem)))
}

fn found(text: &str, table: &[(&str, Repetition)]) -> Option<Repetition> {
    let row = table.iter().find(|(part, _)| text.contains(part));
    row.map(|(_, repetition)| *repetition)
}

#[cfg(test)]
mod tests {
    use panpan_failure::codes;

    use super::*;

    #[test]
    fn earlier_calls_are_recognised_in_messages() {
        for (message, expected) in [
            ("Order already exists: o-1", Some(Repetition::Exists)),
            (
                "a task with this id exists already",
                Some(Repetition::Exists),
            ),
            ("E11000 duplicate key error", Some(Repetition::Exists)),
            ("Email has already been taken", Some(Repetition::Exists)),
            ("Invoice INV-9 is already paid", Some(Repetition::IsDone)),
            (
                "Charge ch_1 has already been refunded",
                Some(Repetition::IsDone),
            ),
            (
                "A deployment is already running (id dep-76)",
                Some(Repetition::IsDone),
            ),
            (
                "Invitation has already been sent to ann",
                Some(Repetition::IsDone),
            ),
            // The same cannot be done twice.
            (
                "Cannot cancel order ord_1: it is already cancelled",
                Some(Repetition::IsDone),
            ),
            (
                "The charge has already been captured and cannot be captured again",
                Some(Repetition::IsDone),
            ),
            ("Unable to pay: already paid", Some(Repetition::IsDone)),
            (
                "Cannot create the order: it already exists",
                Some(Repetition::Exists),
            ),
            // The state forbids something else.
            (
                "Order ord_1 has already been shipped and cannot be cancelled.",
                None,
            ),
            (
                "The order cannot be cancelled because the payment was already captured",
                None,
            ),
            (
                "Already sent, so it can no longer be edited; is already sent",
                None,
            ),
            // Another caller has it.
            (
                "The delivery slot has already been taken by another customer",
                None,
            ),
            ("The name is already in use by a different account", None),
            ("the value is already too large", None),
            ("Duplicate members in the body", None),
            ("title is required", None),
            ("already", None),
        ] {
            let failure = Failure::new(codes::TOOL_FAILED).with_message(message);
            assert_eq!(of(&failure), expected, "{message}");
        }
    }

    #[test]
    fn earlier_calls_are_recognised_in_codes() {
        for (code, expected) in [
            ("DUPLICATE_TRANSACTION", Some(Repetition::IsDone)),
            ("resource_already_exists", Some(Repetition::Exists)),
            ("DUPLICATE_HEADER", None),
            ("READY", None),
        ] {
            let failure = Failure::new(codes::TOOL_FAILED).with_detail("code", code);
            assert_eq!(of(&failure), expected, "{code}");
        }
    }
}
