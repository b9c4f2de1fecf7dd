//! How far a call has come and what it logs, reported while it runs.

use std::fmt;

use serde_json::Value;

/// A word about how far the work is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// How much is done.
    pub done: f64,
    /// How much there is, if that is known.
    pub total: Option<f64>,
    /// What is being done.
    pub message: Option<String>,
}

/// Takes words about progress to whoever waits for the call.
pub trait ReportProgress: Send + Sync + fmt::Debug {
    /// Takes one over, without making the work wait.
    fn report(&self, progress: Progress);

    /// Takes over a notice that says nothing about how far the work is, without making the work wait.
    fn note(&self, message: String);

    /// Takes over a line of a log, as the params of `notifications/message`, without making the work wait.
    fn log(&self, line: Value) {
        drop(line);
    }

    /// The lowest level of lines that are wanted, in the words of the protocol; `None` for no particular one.
    fn log_level(&self) -> Option<String> {
        None
    }
}
