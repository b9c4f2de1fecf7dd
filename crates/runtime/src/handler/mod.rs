//! What an operation runs: the handler.
//!
//! Only the room `attempt` calls handlers, and only `subscribe` opens streams.

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

pub use listener::{Listener, Notice};
pub use progress::{Progress, ReportProgress};
pub use question::{
    Answerable, AskPerson, PROMPT_BYTES_LIMIT, QUESTION_BYTES_LIMIT, QUESTIONS_WAIT_LIMIT_MS,
    Question, Reply, Unasked, Wanted,
};
pub use typed::Typed;

/// A future on the heap, so that traits with async methods can be objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A stream on the heap.
pub type BoxStream<T> = Pin<Box<dyn Stream<Item = T> + Send>>;

/// Does the work of an operation.
///
/// The input has passed the operation's schema. A failure may carry a declared code or one of the
/// catalogue, but none that belongs to the protocol. Panics are caught; a future that is dropped was
/// cancelled or ran out of time.
///
/// Every async function of the right shape is a handler:
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
    /// Runs the operation once. The output may be shared with whoever has it already.
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

/// Gives the items of a subscription, until it ends or fails.
///
/// A failure is the last item. A stream that is dropped was cancelled.
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

/// Finds out what became of an earlier call whose outcome was lost.
///
/// Asked before a reconcilable operation runs again after a crash. It gets the same downstream key as
/// the lost call had.
pub trait Reconcile: Send + Sync + 'static {
    /// Looks at the other side, without changing anything there.
    fn reconcile(
        &self,
        context: Context,
        input: Arc<Value>,
    ) -> BoxFuture<'_, Result<Reconciled, Failure>>;
}

/// What became of a lost call. Its debug form does not show the output.
#[derive(Clone, PartialEq)]
pub enum Reconciled {
    /// It took effect; this is the output it would have given.
    Happened(Value),
    /// It did not and will not; the operation may run.
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

/// The failure for an error a handler has no code for.
///
/// The caller sees INTERNAL without any of the error's text; the text goes to the private log.
pub fn untyped(error: &(dyn std::error::Error + 'static)) -> Failure {
    Failure::new(codes::INTERNAL).caused_by(error)
}
