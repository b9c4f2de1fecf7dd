//! Failures on their way out of a tool: adding what was tried, wrapping foreign errors, and the last
//! step that shows a result to an agent or to a person.

use std::any::Any;
use std::error::Error;

use jiff::Timestamp;
use panpan_catalogue::{Entry, codes};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::classify::{JsonFailure, io_failure};
use crate::dialect::{Dialect, Envelope};
use crate::failure::{Failure, Redacted};

/// What a tool was doing when something failed.
#[derive(Clone, Debug, Default)]
pub struct Attempted {
    /// The tool.
    pub source: String,
    /// What it was asked for.
    pub operation: String,
    /// With which parameters; secrets among them are removed before anyone sees them.
    pub parameters: Map<String, Value>,
}

impl Attempted {
    /// A tool and what it was asked for.
    pub fn new(source: impl Into<String>, operation: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            operation: operation.into(),
            parameters: Map::new(),
        }
    }

    /// Adds a parameter.
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.parameters.insert(name.into(), value.into());
        self
    }
}

/// Turns whatever went wrong into a failure that says what was tried.
pub trait ResultExt<T> {
    /// A failure passing through gets the context; any other error is wrapped in one.
    ///
    /// ```
    /// use panpan_contract::{Attempted, ResultExt};
    ///
    /// let read = std::fs::read("/no/such/file");
    /// let failure = read.attempted(|| Attempted::new("notes", "open")).unwrap_err();
    /// assert_eq!(failure.code().as_str(), "ARTIFACT_NOT_FOUND");
    /// assert_eq!(failure.operation(), Some("open"));
    /// ```
    fn attempted(self, attempted: impl FnOnce() -> Attempted) -> Result<T, Failure>;
}

impl<T, E: Error + 'static> ResultExt<T> for Result<T, E> {
    fn attempted(self, attempted: impl FnOnce() -> Attempted) -> Result<T, Failure> {
        self.map_err(|error| {
            let attempted = attempted();
            let failure = own(error).unwrap_or_else(|error| wrapped(&error, &attempted));
            let failure = failure
                .with_source(attempted.source)
                .with_operation(attempted.operation);
            if attempted.parameters.is_empty() {
                failure
            } else {
                failure.with_parameters(attempted.parameters)
            }
        })
    }
}

/// The error itself, if it is a failure already.
fn own<E: 'static>(error: E) -> Result<Failure, E> {
    let mut error = Some(error);
    let failure = (&mut error as &mut dyn Any)
        .downcast_mut::<Option<Failure>>()
        .and_then(Option::take);
    failure.ok_or_else(|| error.expect("only a failure is taken"))
}

fn wrapped(error: &(dyn Error + 'static), attempted: &Attempted) -> Failure {
    let message = format!(
        "{} {} failed: {error}",
        attempted.source, attempted.operation
    );
    Failure::new(code_of(error))
        .with_message(message)
        .with_detail("original_error", error.to_string())
        .caused_by(error)
}

/// The code of the first error in the chain that has one.
fn code_of(error: &(dyn Error + 'static)) -> &'static Entry {
    let chain = std::iter::successors(Some(error), |&error| error.source());
    let known = chain.take(CHAIN_LIMIT).find_map(|error| {
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            return Some(io_failure(error.kind()));
        }
        error
            .downcast_ref::<serde_json::Error>()
            .map(|_| JsonFailure::Invalid.entry())
    });
    known.unwrap_or(codes::TOOL_EXECUTION_ERROR)
}

/// How many sources of an error are looked at; a chain may be endless.
const CHAIN_LIMIT: usize = 32;

/// Who reads a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// An agent: a failure is JSON in the bot dialect.
    Bot,
    /// A person: a failure is a few plain lines.
    Person,
}

/// The last step of a tool: a normal result passes through, a failure becomes text for its reader.
///
/// An error that is not a failure yet is wrapped as TOOL_EXECUTION_ERROR.
pub fn process_tool_result<E: Error + 'static>(
    result: Result<Value, E>,
    audience: Audience,
    id: Uuid,
    at: Timestamp,
) -> Value {
    let error = match result {
        Ok(output) => return output,
        Err(error) => error,
    };
    let failure = own(error).unwrap_or_else(|error| {
        Failure::new(codes::TOOL_EXECUTION_ERROR)
            .with_message(format!("Tool execution failed: {error}"))
            .with_detail("original_error", error.to_string())
            .caused_by(&error)
    });
    let failure = failure.stamped(id, at).redacted();
    match audience {
        Audience::Bot => Dialect::Bot
            .render_failure(&failure, Envelope::default())
            .to_string()
            .into(),
        Audience::Person => for_people(&failure).into(),
    }
}

/// A failure in a few plain lines: what happened, what to do, where to ask.
pub fn for_people(failure: &Redacted) -> String {
    let mut lines = vec![failure.message().to_owned()];
    for violation in failure.violations() {
        let place = if violation.pointer.is_empty() {
            "the input"
        } else {
            &violation.pointer
        };
        lines.push(format!("  {place}: {}", violation.reason));
    }
    let recovery = failure.recovery();
    lines.extend(
        recovery
            .required_actions
            .iter()
            .map(|action| format!("what to do: {action}")),
    );
    lines.extend(
        recovery
            .alternatives
            .iter()
            .map(|other| format!("or: {}", other.description)),
    );
    if let Some(delay_ms) = recovery.retry_after_ms.filter(|_| failure.retryable()) {
        lines.push(format!("worth repeating after {delay_ms} ms"));
    }
    if let Some(id) = failure.id() {
        lines.push(format!("error id: {id}"));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot load profile")]
    struct Wrapper(#[source] std::io::Error);

    #[derive(Debug, thiserror::Error)]
    #[error("nothing more is known")]
    struct Opaque;

    fn attempted() -> Attempted {
        Attempted::new("weather_tool", "get_weather").with("location", "New York")
    }

    #[test]
    fn a_failure_passing_through_keeps_its_code_and_gains_the_context() {
        let failure: Result<(), _> = Err(Failure::new(codes::ERR_TIMEOUT).with_message("too slow"));
        let failure = failure.attempted(attempted).unwrap_err();
        assert_eq!(failure.code().as_str(), "ERR_TIMEOUT");
        assert_eq!(failure.message(), "too slow");
        assert_eq!(failure.source(), Some("weather_tool"));
        assert_eq!(failure.parameters().unwrap()["location"], "New York");
    }

    #[test]
    fn a_foreign_error_takes_its_code_from_the_chain() {
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let failure = Err::<(), _>(Wrapper(refused))
            .attempted(attempted)
            .unwrap_err();
        assert_eq!(failure.code().as_str(), "ERR_CONNECTION_REFUSED");
        assert_eq!(
            failure.message(),
            "weather_tool get_weather failed: cannot load profile"
        );
        assert_eq!(failure.causes().len(), 2);
    }

    #[test]
    fn an_error_that_says_nothing_is_a_failed_tool() {
        let failure = Err::<(), _>(Opaque).attempted(attempted).unwrap_err();
        assert_eq!(failure.code().as_str(), "TOOL_EXECUTION_ERROR");
    }

    #[test]
    fn results_pass_through_and_failures_become_text_for_their_reader() {
        let (id, at) = (Uuid::nil(), Timestamp::UNIX_EPOCH);
        let output = process_tool_result(Ok::<_, Opaque>(json!({"a": 1})), Audience::Bot, id, at);
        assert_eq!(output, json!({"a": 1}));

        let text = process_tool_result(Err(Opaque), Audience::Bot, id, at);
        let bot: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
        assert_eq!(bot["error"]["code"], "TOOL_EXECUTION_ERROR");
        assert_eq!(
            bot["error"]["message"],
            "Tool execution failed: nothing more is known"
        );
        assert_eq!(bot["error"]["debug"]["timestamp"], "1970-01-01T00:00:00Z");

        let text = process_tool_result(Err(Opaque), Audience::Person, id, at);
        assert!(
            text.as_str()
                .unwrap()
                .starts_with("Tool execution failed: nothing more is known\nwhat to do: ")
        );
    }
}
