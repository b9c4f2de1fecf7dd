//! The refusal of a call by an open circuit: which circuit, for how much longer, and what failed before.

use panpan_failure::{Cause, Code, Failure, Kind, codes};

use super::request::Call;
use crate::registry::Operation;
use crate::retry::{Behind, CircuitLevel, LastFailure, Refused};

/// ERR_CIRCUIT_OPEN for a call of an operation.
pub(super) fn circuit_open(
    operation: &Operation,
    behind: &Behind,
    call: &Call,
    refused: Refused,
) -> Failure {
    let name = operation.name().as_str();
    let upstream = behind.upstream().name();
    let Refused {
        level,
        retry_after_ms,
        failed_calls,
        last_failure,
    } = refused;
    let (place, calls) = match level {
        CircuitLevel::Host => (upstream, "calls that could not connect"),
        CircuitLevel::Operation => (name, "failed calls"),
    };
    let cause = last_failure.map(|last| cause(last, call));
    let last = cause.as_ref().map_or_else(String::new, last_words);
    let message = format!(
        "circuit open for {place} after {failed_calls} {calls}; next attempt in {}{last}",
        duration(retry_after_ms)
    );
    let failure = Failure::new(codes::ERR_CIRCUIT_OPEN)
        .with_message(message)
        .with_detail("circuit", level.word())
        .with_detail("upstream", upstream)
        .with_retry_after_ms(retry_after_ms);
    let failure = match level {
        CircuitLevel::Host => failure,
        CircuitLevel::Operation => failure.with_detail("operation", name),
    };
    match cause {
        Some(cause) => failure.with_cause(cause),
        None => failure,
    }
}

/// What failed last, as a part of a sentence.
fn last_words(cause: &Cause) -> String {
    let code = cause.code.as_ref().map_or("a failure", Code::as_str);
    format!("; it failed last with {code}: {}", cause.message)
}

/// What failed last, as this caller may see it: the words of a failure may repeat what its caller asked
/// for, which is no business of another.
fn cause(last: LastFailure, call: &Call) -> Cause {
    let caller = call.caller.as_ref().map(|it| it.id.as_str());
    let message = if last.caller.as_deref() == caller {
        last.message
    } else {
        let kind = Kind::of(last.code.as_str());
        kind.map_or_else(|| "the last call failed".into(), |kind| kind.title())
            .into_owned()
    };
    Cause {
        code: Some(last.code),
        message,
    }
}

/// A time as people say it: whole seconds, rounded up, or milliseconds below one.
fn duration(milliseconds: u64) -> String {
    match milliseconds {
        0..1000 => format!("{milliseconds} ms"),
        _ => format!("{} s", milliseconds.div_ceil(1000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_in_seconds_from_one_second_on() {
        for (milliseconds, said) in [(0, "0 ms"), (999, "999 ms"), (1000, "1 s"), (3001, "4 s")] {
            assert_eq!(duration(milliseconds), said);
        }
    }
}
