//! ERR_CIRCUIT_OPEN: which circuit is open, for how long, and the last failure.

use panpan_failure::{Cause, Code, Failure, Kind, codes};

use super::request::Call;
use crate::registry::Operation;
use crate::retry::{CircuitLevel, CircuitRefusal, LastFailure, OperationUpstream};

/// The refusal of a call by an open circuit.
pub(super) fn circuit_open(
    operation: &Operation,
    upstream: &OperationUpstream,
    call: &Call,
    refusal: CircuitRefusal,
) -> Failure {
    let name = operation.name().as_str();
    let upstream = upstream.service().name();
    let CircuitRefusal {
        level,
        retry_after_ms,
        failed_calls,
        last_failure,
    } = refusal;
    let (subject, calls) = match level {
        CircuitLevel::Host => (upstream, "calls that could not connect"),
        CircuitLevel::Operation => (name, "failed calls"),
    };
    let cause = last_failure.map(|last| cause(last, call));
    let last = cause.as_ref().map_or_else(String::new, last_failure_text);
    let message = format!(
        "circuit open for {subject} after {failed_calls} {calls}; next attempt in {}{last}",
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

fn last_failure_text(cause: &Cause) -> String {
    let code = cause.code.as_ref().map_or("unknown", Code::as_str);
    format!("; last failure {code}: {}", cause.message)
}

/// The last failure as this caller may see it. Its message may quote the input of another caller, who then
/// gets only the title of the code.
fn cause(last: LastFailure, call: &Call) -> Cause {
    let caller = call.caller_id();
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

/// A duration in whole seconds, rounded up, or in milliseconds below one second.
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
    fn durations_of_a_second_or_more_are_shown_in_seconds() {
        for (milliseconds, shown) in [(0, "0 ms"), (999, "999 ms"), (1000, "1 s"), (3001, "4 s")] {
            assert_eq!(duration(milliseconds), shown);
        }
    }
}
