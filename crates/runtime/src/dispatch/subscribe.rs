//! Subscriptions: a stream of items that ends normally or with a failure.
//!
//! A subscription is resolved, authorized and validated like any call, but has no key, no retries and no
//! deadline. Its failure is stamped, redacted and settled like any other. Only the number of items is
//! recorded.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Task, Poll};

use futures_core::Stream;
use jiff::Timestamp;
use panpan_contract::hex;
use panpan_contract::recording::{RecordedOutcome, Recording};
use panpan_failure::{Effect, Failure, Redacted};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio_util::sync::WaitForCancellationFutureOwned;
use uuid::Uuid;

use super::attempt::{cancelled, panic_message, panicked};
use super::raised::Raised;
use super::record::{recording, shown_input};
use super::request::Call;
use super::validate::Validated;
use super::{Dispatcher, ONE_CALL};
use crate::context::{CancelOnDrop, Context};
use crate::handler::BoxStream;
use crate::registry::Operation;

/// The items of a subscription. A failure is the last item; dropping the stream stops the handler.
pub struct Subscription {
    dispatcher: Dispatcher,
    operation: Arc<Operation>,
    call: Arc<Call>,
    items: Option<BoxStream<Result<Value, Failure>>>,
    aborted: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    count: u64,
    _cancelled_afterwards: CancelOnDrop,
}

impl Subscription {
    pub(super) fn open(dispatcher: Dispatcher, validated: Validated) -> Self {
        let (operation, call) = (validated.operation, validated.call);
        let time = (dispatcher.ports().clock.now(), Timestamp::MAX);
        let context = Context::new(&dispatcher, &operation, &call, None, 1, time);
        let cancelled_afterwards = context.cancel_on_drop();
        let open = AssertUnwindSafe(|| {
            let handler = operation.stream_handler();
            handler.open(context, call.input.clone())
        });
        let items = catch_unwind(open).unwrap_or_else(|panic| {
            let message = panic_message(&*panic);
            Box::pin(PanickedOnOpen(Some(message)))
        });
        Self {
            aborted: call
                .abort
                .clone()
                .map(|token| Box::pin(token.cancelled_owned())),
            dispatcher,
            operation,
            call,
            items: Some(items),
            count: 0,
            _cancelled_afterwards: cancelled_afterwards,
        }
    }

    /// The id of the call.
    pub fn call_id(&self) -> Uuid {
        self.call.id
    }

    /// How many items the stream has returned so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    fn fail(&mut self, raised: Raised) -> Redacted {
        let failure = self.dispatcher.refusal_of(raised, &self.call);
        self.end(RecordedOutcome::Failed(failure.clone()));
        failure
    }

    /// Drops the stream of the handler, catching panics, and records the end.
    fn end(&mut self, outcome: RecordedOutcome) {
        let items = self.items.take();
        let _ = catch_unwind(AssertUnwindSafe(move || drop(items)));
        let recording = self.recording(outcome);
        let name = self.operation.name().as_str();
        self.dispatcher
            .count(name, recording.code(), self.call.at, ONE_CALL);
        self.dispatcher.note(recording);
    }

    fn recording(&self, outcome: RecordedOutcome) -> Recording {
        let failure = match &outcome {
            RecordedOutcome::Succeeded { .. } => None,
            RecordedOutcome::Failed(failure) => Some(failure),
        };
        Recording {
            input: shown_input(&self.operation, &self.call, failure),
            items: Some(self.count),
            ..recording(&self.call, self.operation.name().to_string(), outcome)
        }
    }

    fn by_gateway(&self, failure: Failure) -> Raised {
        Raised::by_gateway(failure, &self.operation)
    }
}

impl Stream for Subscription {
    type Item = Result<Value, Redacted>;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let Some(items) = &mut this.items else {
            return Poll::Ready(None);
        };
        if let Some(aborted) = &mut this.aborted
            && aborted.as_mut().poll(task).is_ready()
        {
            let failure = cancelled(&this.operation, Effect::Unknown);
            let raised = this.by_gateway(failure);
            return Poll::Ready(Some(Err(this.fail(raised))));
        }
        match catch_unwind(AssertUnwindSafe(|| items.as_mut().poll_next(task))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(Some(Ok(item)))) => {
                this.count += 1;
                Poll::Ready(Some(Ok(item)))
            }
            Ok(Poll::Ready(Some(Err(failure)))) => {
                let raised = Raised::by_handler(failure, &this.operation);
                Poll::Ready(Some(Err(this.fail(raised))))
            }
            Ok(Poll::Ready(None)) => {
                this.end(completed());
                Poll::Ready(None)
            }
            Err(panic) => {
                let raised = panicked(&this.operation, &panic_message(&*panic));
                Poll::Ready(Some(Err(this.fail(raised))))
            }
        }
    }
}

/// A stream has no output, and its items are not recorded.
fn completed() -> RecordedOutcome {
    RecordedOutcome::Succeeded {
        output_digest: hex(&Sha256::digest("")),
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if self.items.is_some() {
            let failure = cancelled(&self.operation, Effect::Unknown);
            let raised = self.by_gateway(failure);
            self.fail(raised);
        }
    }
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Subscription")
            .field("operation", self.operation.name())
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

/// The stream of a handler that panicked on open: repeats the panic when polled.
struct PanickedOnOpen(Option<String>);

impl Stream for PanickedOnOpen {
    type Item = Result<Value, Failure>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Task<'_>) -> Poll<Option<Self::Item>> {
        let message = self.0.take().unwrap_or_default();
        std::panic::resume_unwind(Box::new(message))
    }
}
