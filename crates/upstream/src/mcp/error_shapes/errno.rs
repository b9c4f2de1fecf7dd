//! Errors of operating systems and browsers in texts: `ENOENT`, `[Errno 2]`, `net::ERR_CONNECTION_REFUSED`.

use std::sync::LazyLock;

use panpan_failure::catalogue::Entry;
use panpan_failure::{Effect, Failure, Inferred, Repeat, codes};
use regex::Regex;

use super::clauses::{Clause, clauses};
use super::effect_in_text;
use crate::mcp::tool_error::bounded;

/// What an error says about the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Certainty {
    /// The tool was refused: nothing was done.
    Refused,
    /// No connection was made: nothing was done, unless an earlier step did something.
    NotConnected,
    /// As before, and waiting does not help.
    NoHost,
    /// Something may have been done.
    Open,
}

/// An error with the names and the numbers of its platforms.
struct Error(&'static str, &'static [i32], &'static Entry, Certainty);

const ERRORS: [Error; 27] = [
    Error("EACCES", &[13], codes::NOT_AUTHORIZED, Certainty::Refused),
    Error(
        "EAI_AGAIN",
        &[-3],
        codes::ERR_DNS_FAILURE,
        Certainty::NotConnected,
    ),
    Error("EBUSY", &[16], codes::ERR_RESOURCE_BUSY, Certainty::Open),
    Error(
        "ECONNREFUSED",
        &[111, 61],
        codes::ERR_CONNECTION_REFUSED,
        Certainty::NotConnected,
    ),
    Error(
        "ECONNRESET",
        &[104, 54],
        codes::ERR_SOCKET_ERROR,
        Certainty::Open,
    ),
    Error("EEXIST", &[17], codes::ALREADY_EXISTS, Certainty::Refused),
    Error(
        "EHOSTUNREACH",
        &[113, 65],
        codes::NETWORK_CONNECTION_ERROR,
        Certainty::NotConnected,
    ),
    Error(
        "EINVAL",
        &[22],
        codes::INVALID_INPUT_ERROR,
        Certainty::Refused,
    ),
    Error(
        "EISDIR",
        &[21],
        codes::INVALID_INPUT_ERROR,
        Certainty::Refused,
    ),
    Error("EMFILE", &[24], codes::ERR_RESOURCE_BUSY, Certainty::Open),
    Error(
        "ENAMETOOLONG",
        &[36],
        codes::INVALID_INPUT_ERROR,
        Certainty::Refused,
    ),
    Error(
        "ENETUNREACH",
        &[101, 51],
        codes::NETWORK_CONNECTION_ERROR,
        Certainty::NotConnected,
    ),
    Error(
        "ENOENT",
        &[2],
        codes::ARTIFACT_NOT_FOUND,
        Certainty::Refused,
    ),
    Error(
        "ENOSPC",
        &[28],
        codes::ERR_RESOURCE_EXHAUSTED,
        Certainty::Open,
    ),
    Error(
        "ENOTDIR",
        &[20],
        codes::INVALID_INPUT_ERROR,
        Certainty::Refused,
    ),
    Error(
        "ENOTEMPTY",
        &[39],
        codes::ERR_HTTP_409_CONFLICT,
        Certainty::Refused,
    ),
    Error(
        "ENOTFOUND",
        &[-2],
        codes::ERR_DNS_FAILURE,
        Certainty::NoHost,
    ),
    Error("EPERM", &[1], codes::NOT_AUTHORIZED, Certainty::Refused),
    Error("EPIPE", &[32], codes::ERR_SOCKET_ERROR, Certainty::Open),
    Error("EROFS", &[30], codes::NOT_AUTHORIZED, Certainty::Refused),
    Error("ETIMEDOUT", &[110, 60], codes::ERR_TIMEOUT, Certainty::Open),
    Error(
        "EXDEV",
        &[18],
        codes::INVALID_INPUT_ERROR,
        Certainty::Refused,
    ),
    Error(
        "ERR_CONNECTION_REFUSED",
        &[],
        codes::ERR_CONNECTION_REFUSED,
        Certainty::NotConnected,
    ),
    Error(
        "ERR_CONNECTION_RESET",
        &[],
        codes::ERR_SOCKET_ERROR,
        Certainty::Open,
    ),
    Error(
        "ERR_CONNECTION_TIMED_OUT",
        &[],
        codes::ERR_TIMEOUT,
        Certainty::Open,
    ),
    Error(
        "ERR_INTERNET_DISCONNECTED",
        &[],
        codes::NETWORK_ERROR,
        Certainty::Open,
    ),
    Error(
        "ERR_NAME_NOT_RESOLVED",
        &[],
        codes::ERR_DNS_FAILURE,
        Certainty::NoHost,
    ),
];

/// The calls after which Node.js writes the name of an error.
const CALLS: &str = "accept|bind|connect|getaddrinfo|listen|open|queryA|queryAaaa|read|send|write";

/// The action for a host name that does not exist.
const CHECK_HOST: &str = "Check the host name in the input";

/// The places of an error at the beginning of a clause.
static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = format!(
        r"^(?:(?:(?:{CALLS}) )?(?P<name>E[A-Z_]{{3,}})(?:[:, ]|$)|net::(?P<net>ERR_[A-Z_]+)|\[?(?:Errno|Error) (?P<number>-?\d+)(?:\]| connecting to )|spawn (?P<program>\S+) ENOENT\b)"
    );
    Regex::new(&pattern).expect("a fixed pattern compiles")
});

/// The failure for the error of an operating system in a text.
pub(super) fn in_text(text: &str) -> Option<Failure> {
    let (clause, failure, certainty) = clauses(text).into_iter().find_map(|clause| {
        let (entry, certainty) = error_of(clause)?;
        Some((clause, Failure::new(entry), certainty))
    })?;
    let is_alone = clause.is_opening() && effect_in_text(&failure, clause, text) != Effect::Unknown;
    let failure = match certainty {
        Certainty::Open => failure.with_effect(Effect::Unknown),
        _ if !is_alone => failure.with_effect(Effect::Unknown),
        _ => failure.with_effect(Effect::None),
    };
    let failure = match certainty {
        // A name that does not exist is not created by waiting.
        Certainty::NoHost => failure
            .with_max_retries(0)
            .with_repeat(Repeat::Refused)
            .with_actions([CHECK_HOST]),
        _ => failure,
    };
    let failure = failure.mark_inferred(Inferred::Code);
    Some(failure.with_message(bounded(text)))
}

fn error_of(clause: Clause<'_>) -> Option<(&'static Entry, Certainty)> {
    let found = ERROR.captures(clause.text)?;
    if found.name("program").is_some() {
        return Some((codes::NOT_CONFIGURED, Certainty::Open));
    }
    let name = found.name("name").or(found.name("net"));
    let number: Option<i32> = found.name("number").and_then(|it| it.as_str().parse().ok());
    let error = ERRORS.iter().find(|Error(known, numbers, ..)| {
        name.is_some_and(|it| it.as_str() == *known)
            || number.is_some_and(|it| numbers.contains(&it))
    });
    error.map(|Error(_, _, entry, certainty)| (*entry, *certainty))
}

#[cfg(test)]
mod tests;
