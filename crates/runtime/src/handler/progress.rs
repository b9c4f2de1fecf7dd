//! Progress and log messages of a running call.

use std::fmt;

use serde_json::Value;

/// The progress of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// How much is done.
    pub done: f64,
    /// How much there is, if that is known.
    pub total: Option<f64>,
    /// The current step.
    pub message: Option<String>,
}

/// Delivers progress and log messages to the caller.
pub trait ReportProgress: Send + Sync + fmt::Debug {
    /// Delivers progress without blocking the handler.
    fn report(&self, progress: Progress);

    /// Delivers a message without progress, without blocking the handler.
    fn note(&self, message: String);

    /// Delivers a log line, as the params of `notifications/message`, without blocking the handler.
    fn log(&self, line: Value) {
        drop(line);
    }

    /// The lowest log level that the caller wants, as in the protocol; `None` if it set none.
    fn log_level(&self) -> Option<String> {
        None
    }
}
