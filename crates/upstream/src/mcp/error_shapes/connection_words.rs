//! Failed connections in the words of clients and databases, where they are the whole statement of a text.

use panpan_failure::catalogue::Entry;
use panpan_failure::{Effect, Failure, Inferred, codes};

use super::clauses::clauses;
use crate::mcp::tool_error::bounded;

/// Whole statements in lower case, without the full stop.
const STATEMENTS: [(&str, &Entry); 5] = [
    (
        "all connection attempts failed",
        codes::ERR_CONNECTION_REFUSED,
    ),
    ("connection error", codes::ERR_SOCKET_ERROR),
    ("server disconnected", codes::ERR_SOCKET_ERROR),
    (
        "server disconnected without sending a response",
        codes::ERR_SOCKET_ERROR,
    ),
    ("sorry, too many clients already", codes::ERR_TRY_LATER),
];

/// The beginning of a statement of PostgreSQL, before the name of the role.
const TOO_MANY: &str = "too many connections for role ";

pub(super) fn in_text(text: &str) -> Option<Failure> {
    let openings = clauses(text).into_iter().filter(|it| it.is_opening());
    let entry = openings.into_iter().find_map(|clause| {
        let said = clause
            .text
            .trim()
            .trim_end_matches('.')
            .to_ascii_lowercase();
        let stated = STATEMENTS.iter().find(|(known, _)| *known == said);
        let too_many = || said.starts_with(TOO_MANY).then_some(codes::ERR_TRY_LATER);
        stated.map(|(_, entry)| *entry).or_else(too_many)
    })?;
    let failure = Failure::new(entry).mark_inferred(Inferred::Code);
    Some(
        failure
            .with_effect(Effect::Unknown)
            .with_message(bounded(text)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_statements_are_read() {
        for (text, code) in [
            (
                "All connection attempts failed",
                Some("ERR_CONNECTION_REFUSED"),
            ),
            ("Error: Connection error.", Some("ERR_SOCKET_ERROR")),
            ("Server disconnected", Some("ERR_SOCKET_ERROR")),
            (
                "FATAL: too many connections for role \"app\"",
                Some("ERR_TRY_LATER"),
            ),
            (
                "Error: sorry, too many clients already",
                Some("ERR_TRY_LATER"),
            ),
            ("connection error handling is not configured", None),
            ("No page 'Server disconnected'", None),
            ("server disconnected the user as asked", None),
        ] {
            let failure = in_text(text);
            let found = failure.as_ref().map(|it| it.code().as_str());
            assert_eq!(found, code, "{text}");
        }
    }
}
