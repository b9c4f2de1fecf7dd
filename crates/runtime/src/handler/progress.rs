//! How far a call has come, told while it runs.

use std::fmt;

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
}
