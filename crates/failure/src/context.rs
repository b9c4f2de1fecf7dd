//! For tool authors: adds context to failures, wraps other errors, and turns the final result into text
//! for an agent or a person.

use std::any::Any;
use std::error::Error;

use jiff::Timestamp;
use panpan_catalogue::{Entry, codes};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::classify::{JsonFailure, io_failure};
use crate::dialect::{Dialect, Envelope};
use crate::failure::{Failure, Redacted};

/// The operation that a tool attempted, for the context of a failure.
#[derive(Clone, Debug, Default)]
pub struct Attempted {
    /// The tool.
    pub source: String,
    /// The operation.
    pub operation: String,
    /// The parameters; redaction removes the secrets among them.
    pub parameters: Map<String, Value>,
}

impl Attempted {
    /// A tool and its operation.
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

/// Turns an error into a failure with context.
pub trait ResultExt<T> {
    /// Adds the context to a failure; wraps any other error in a failure with the context.
    ///
    /// ```
    /// use panpan_failure::{Attempted, ResultExt};
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
            let failure = as_failure(error).unwrap_or_else(|error| wrapped(&error, &attempted));
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

/// The error itself, if it is a failure.
fn as_failure<E: 'static>(error: E) -> Result<Failure, E> {
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

/// The code of the first error in the chain with a known code.
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

/// Longest chain of sources that is examined; a chain can be endless.
const CHAIN_LIMIT: usize = 32;

/// The reader of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// An agent: a failure is JSON in the bot dialect.
    Bot,
    /// A person: a failure is a few lines of plain text.
    Person,
}

/// The final step of a tool: returns an output unchanged and turns an error into text for the audience.
///
/// An error that is not a failure is wrapped as TOOL_EXECUTION_ERROR.
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
    let failure = as_failure(error).unwrap_or_else(|error| {
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
        Audience::Person => plain_text(&failure).into(),
    }
}

/// A failure as a few lines of plain text: the message, the next steps and the error id.
pub fn plain_text(failure: &Redacted) -> String {
    let mut lines = vec![failure.message().to_owned()];
    for violation in failure.violations() {
        let location = if violation.pointer.is_empty() {
            "the input"
        } else {
            &violation.pointer
        };
        lines.push(format!("  {location}: {}", violation.reason));
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
        lines.push(format!("retry after {delay_ms} ms"));
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
    fn a_failure_keeps_its_code_and_gets_the_context() {
        let failure: Result<(), _> = Err(Failure::new(codes::ERR_TIMEOUT).with_message("too slow"));
        let failure = failure.attempted(attempted).unwrap_err();
        assert_eq!(failure.code().as_str(), "ERR_TIMEOUT");
        assert_eq!(failure.message(), "too slow");
        assert_eq!(failure.source(), Some("weather_tool"));
        assert_eq!(failure.parameters().unwrap()["location"], "New York");
    }

    #[test]
    fn another_error_gets_the_code_of_an_error_in_its_chain() {
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
    fn an_unknown_error_is_a_tool_execution_error() {
        let failure = Err::<(), _>(Opaque).attempted(attempted).unwrap_err();
        assert_eq!(failure.code().as_str(), "TOOL_EXECUTION_ERROR");
    }

    #[test]
    fn outputs_are_unchanged_and_errors_become_text_for_the_audience() {
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
