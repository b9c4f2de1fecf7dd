//! Batches of calls, the same for all protocols: the limit and the execution.

use futures_util::{Stream, StreamExt as _, stream};
use panpan_failure::{Failure, codes};

use crate::gateway::Gateway;

/// Concurrent calls of one batch.
const CONCURRENCY: usize = 16;

/// Runs the calls of a batch concurrently. The results have the order of the calls.
pub(crate) fn run<C: Future, I: IntoIterator<Item = C>>(
    gateway: &Gateway,
    calls: I,
) -> impl Stream<Item = C::Output> + use<C, I> {
    // A batch must not exceed the concurrency limit of its own caller.
    let limit = gateway.limits().calls_in_flight_per_caller;
    stream::iter(calls).buffered(limit.clamp(1, CONCURRENCY))
}

/// The failure of a batch with too many calls.
pub(crate) fn too_many(count: usize, limit: usize) -> Failure {
    Failure::new(codes::INVALID_REQUEST)
        .with_message(format!(
            "the batch has {count} calls; the limit is {limit}, and no call was executed"
        ))
        .with_detail("batch_limit", limit)
        .with_actions(["Send the calls in smaller batches"])
}
