//! What an operation runs: the handler, and what it is told about the call.
//!
//! Only the room `attempt` calls handlers.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use jiff::Timestamp;
use panpan_contract::operation::OperationName;
use panpan_contract::{Failure, codes};
use serde_json::Value;

/// A future on the heap, so that traits with async methods can be objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

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
/// use panpan_contract::Failure;
/// use panpan_runtime::{Context, Handler};
/// use serde_json::Value;
///
/// async fn echo(_: Context, input: Arc<Value>) -> Result<Value, Failure> {
///     Ok(Value::clone(&input))
/// }
/// let handler: Box<dyn Handler> = Box::new(echo);
/// # drop(handler);
/// ```
pub trait Handler: Send + Sync + 'static {
    /// Runs the operation once.
    fn call(&self, context: Context, input: Arc<Value>) -> BoxFuture<'_, Result<Value, Failure>>;
}

impl<F, Run, E> Handler for F
where
    F: Fn(Context, Arc<Value>) -> Run + Send + Sync + 'static,
    Run: Future<Output = Result<Value, E>> + Send + 'static,
    E: Into<Failure>,
{
    fn call(&self, context: Context, input: Arc<Value>) -> BoxFuture<'_, Result<Value, Failure>> {
        let run = self(context, input);
        Box::pin(async move { run.await.map_err(Into::into) })
    }
}

impl fmt::Debug for dyn Handler {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Handler")
    }
}

/// What a handler is told about the call it serves.
#[derive(Clone, Debug)]
pub struct Context {
    /// The operation that was called.
    pub operation: OperationName,
    /// When this attempt began.
    pub started_at: Timestamp,
    /// How long it may take.
    pub timeout_ms: u64,
}

/// The failure for an error a handler has no code for.
///
/// The caller sees INTERNAL without any of the error's text; the text goes to the private log.
pub fn untyped(error: &(dyn std::error::Error + 'static)) -> Failure {
    Failure::new(codes::INTERNAL).caused_by(error)
}
