//! Handlers: the code that runs an operation, and the traits around it.
//!
//! Only `dispatch::attempt` calls handlers, and only `dispatch::subscribe` opens streams.

mod listener;
mod progress;
mod question;
mod typed;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream;
use futures_util::StreamExt as _;
use panpan_failure::{Failure, codes};
use panpan_redact::Opaque;
use serde_json::Value;

use crate::context::Context;

pub use listener::{Listener, ServiceNotification};
pub use progress::{Progress, ReportProgress};
pub use question::{
    AskClient, AskError, PROMPT_BYTES_LIMIT, QUESTION_BYTES_LIMIT, QUESTIONS_WAIT_LIMIT_MS,
    Question, QuestionKind, QuestionKinds, QuestionReply,
};
pub use typed::Typed;

/// A boxed future, so that traits with async methods are object-safe.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A boxed stream.
pub type BoxStream<T> = Pin<Box<dyn Stream<Item = T> + Send>>;

/// Runs an operation.
///
/// The input matches the schema of the operation. A failure may have a declared code or a catalogue code, but
/// not a protocol code. Panics are caught. The future is dropped when the call is cancelled or times out.
///
/// Every async function with this signature is a handler:
///
/// ```
/// use std::sync::Arc;
/// use panpan_failure::Failure;
/// use panpan_runtime::{Context, Handler};
/// use serde_json::Value;
///
/// async fn echo(_: Context, input: Arc<Value>) -> Result<Arc<Value>, Failure> {
///     Ok(input)
/// }
/// let handler: Box<dyn Handler> = Box::new(echo);
/// # drop(handler);
/// ```
pub trait Handler: Send + Sync + 'static {
    /// Runs the operation once.
    fn call(
        &self,
        context: Context,
        input: Arc<Value>,
    ) -> BoxFuture<'_, Result<Arc<Value>, Failure>>;
}

impl<F, Run, O, E> Handler for F
where
    F: Fn(Context, Arc<Value>) -> Run + Send + Sync + 'static,
    Run: Future<Output = Result<O, E>> + Send + 'static,
    O: Into<Arc<Value>>,
    E: Into<Failure>,
{
    fn call(
        &self,
        context: Context,
        input: Arc<Value>,
    ) -> BoxFuture<'_, Result<Arc<Value>, Failure>> {
        let run = self(context, input);
        Box::pin(async move { run.await.map(Into::into).map_err(Into::into) })
    }
}

impl fmt::Debug for dyn Handler {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Handler")
    }
}

/// Produces the items of a subscription.
///
/// A failure is the last item. The stream is dropped when the call is cancelled.
pub trait StreamHandler: Send + Sync + 'static {
    /// Starts a stream.
    fn open(&self, context: Context, input: Arc<Value>) -> BoxStream<Result<Value, Failure>>;
}

impl<F, S, E> StreamHandler for F
where
    F: Fn(Context, Arc<Value>) -> S + Send + Sync + 'static,
    S: Stream<Item = Result<Value, E>> + Send + 'static,
    E: Into<Failure> + 'static,
{
    fn open(&self, context: Context, input: Arc<Value>) -> BoxStream<Result<Value, Failure>> {
        Box::pin(self(context, input).map(|item| item.map_err(Into::into)))
    }
}

impl fmt::Debug for dyn StreamHandler {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("StreamHandler")
    }
}

/// Finds out whether an earlier call whose outcome was lost took effect.
///
/// Called before a reconcilable operation runs again after a crash, with the downstream key of the lost call.
pub trait Reconcile: Send + Sync + 'static {
    /// Queries the upstream without changing anything.
    fn reconcile(
        &self,
        context: Context,
        input: Arc<Value>,
    ) -> BoxFuture<'_, Result<Reconciled, Failure>>;
}

/// The result of a reconciliation. Its debug form does not show the output.
#[derive(Clone, PartialEq)]
pub enum Reconciled {
    /// The call took effect; this is its output.
    Happened(Value),
    /// It did not and will not take effect; the operation may run.
    DidNotHappen,
    /// It cannot be found out.
    Unknown,
}

impl fmt::Debug for Reconciled {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Happened(output) => write!(formatter, "Happened({:?})", Opaque(output)),
            Self::DidNotHappen => formatter.write_str("DidNotHappen"),
            Self::Unknown => formatter.write_str("Unknown"),
        }
    }
}

impl<F, Run, E> Reconcile for F
where
    F: Fn(Context, Arc<Value>) -> Run + Send + Sync + 'static,
    Run: Future<Output = Result<Reconciled, E>> + Send + 'static,
    E: Into<Failure>,
{
    fn reconcile(
        &self,
        context: Context,
        input: Arc<Value>,
    ) -> BoxFuture<'_, Result<Reconciled, Failure>> {
        let run = self(context, input);
        Box::pin(async move { run.await.map_err(Into::into) })
    }
}

impl fmt::Debug for dyn Reconcile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Reconcile")
    }
}

/// The failure for an error without a code.
///
/// The caller gets INTERNAL without the text of the error, which goes to the private log.
pub fn untyped(error: &(dyn std::error::Error + 'static)) -> Failure {
    Failure::new(codes::INTERNAL).caused_by(error)
}
