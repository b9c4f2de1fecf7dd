//! Recognises failures that say that a call was made before: what it creates exists, or what it does is done.
//!
//! Only the advice depends on it: the code and the effect stay as the service stated them.

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
        let begins = |words: &[&str]| words.iter().any(|it| rest.starts_with(it));
        match rest {
            _ if begins(&EXISTS) => Some(Repetition::Exists),
            _ if begins(&IS_DONE) => Some(Repetition::IsDone),
            _ => None,
        }
    })
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
