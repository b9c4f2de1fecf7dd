//! The store between gateways and memory: with slow requests, errors and lost replies, and observed.
//!
//! A request goes through [`FaultyConnection`], which injects faults, and [`ObservedStore`], where the
//! checks see the real results, to a store in memory.

use std::sync::Arc;

use jiff::Timestamp;
use panpan_contract::recording::Recording;
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::{
    Claim, Claimed, Clock as _, Completed, Completion, Count, Earlier, Kept, Lease, Outcomes,
    Reopened, Reopening, Scope, StoreError, Swept,
};
use uuid::Uuid;

use crate::checks::{Checks, Holder};
use crate::defects::{Defect, RepliesEarly};
use crate::delegate::delegate;
use crate::faults::{Fault, Point, STORE_ERRORS, StoreRequest};
use crate::process::Process;

/// The longest delay of a slow request or reply.
pub(crate) const SLOW_MS: u64 = 1500;

/// The store as one process sees it.
pub(crate) fn connect(process: &Arc<Process>) -> Arc<dyn Outcomes> {
    let reached = Arc::new(FaultyConnection(
        process.environment.shared_store.clone(),
        process.clone(),
    ));
    if process.environment.defect == Some(Defect::ReplyBeforeRecord) {
        return Arc::new(RepliesEarly(reached, process.clone()));
    }
    reached
}

/// A connection between a process and the store: every step can fail, and the process can crash.
#[derive(Debug)]
struct FaultyConnection(Arc<dyn Outcomes>, Arc<Process>);

impl FaultyConnection {
    async fn request<T>(
        &self,
        (port, holder): (StoreRequest, Holder),
        (before, after): (Point, Point),
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let Self(_, process) = self;
        process.step(before).await;
        self.may_be_slow(port, holder, Fault::SlowRequest).await;
        self.may_fail(port, holder, Fault::RequestFailed)?;
        let answer = work.await?;
        self.may_be_slow(port, holder, Fault::SlowReply).await;
        process.step(after).await;
        self.may_fail(port, holder, Fault::ReplyLost)?;
        Ok(answer)
    }

    async fn may_be_slow(
        &self,
        port: StoreRequest,
        holder: Holder,
        fault: fn(StoreRequest) -> Fault,
    ) {
        let Self(_, process) = self;
        let environment = &process.environment;
        if environment.faults.occurs(fault(port)) {
            process.note(format_args!("{:?}", fault(port)));
            // A holder that waits for its claim does not extend a lease yet.
            if port != StoreRequest::Claim {
                environment.checks.mark_disturbed(holder);
            }
            environment
                .clock
                .sleep(environment.faults.random.between(10, SLOW_MS))
                .await;
        }
    }

    fn may_fail(
        &self,
        port: StoreRequest,
        holder: Holder,
        fault: fn(StoreRequest, usize) -> Fault,
    ) -> Result<(), StoreError> {
        let Self(_, process) = self;
        let faults = &process.environment.faults;
        let occurs = |error: &usize| faults.occurs(fault(port, *error));
        let Some(error) = (0..STORE_ERRORS.len()).find(occurs) else {
            return Ok(());
        };
        process.note(format_args!("{:?}", fault(port, error)));
        process.environment.checks.mark_disturbed(holder);
        Err(STORE_ERRORS[error].clone())
    }
}

impl Outcomes for FaultyConnection {
    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>> {
        let Self(store, process) = self;
        process
            .environment
            .checks
            .register_call(claim.call, &process.state);
        let points = (Point::BeforeClaim, Point::AfterClaim);
        let what = (StoreRequest::Claim, Holder::Call(claim.call));
        Box::pin(self.request(what, points, async move { store.claim(claim).await }))
    }

    fn extend(&self, lease: Lease, lease_ms: u64) -> BoxFuture<'_, Result<bool, StoreError>> {
        let points = (Point::BeforeExtend, Point::AfterExtend);
        let what = (StoreRequest::Extend, Holder::Lease(lease));
        Box::pin(self.request(
            what,
            points,
            async move { self.0.extend(lease, lease_ms).await },
        ))
    }

    fn complete(&self, completion: Completion) -> BoxFuture<'_, Result<Completed, StoreError>> {
        let points = (Point::BeforeComplete, Point::AfterComplete);
        let what = (StoreRequest::Complete, Holder::Lease(completion.lease));
        Box::pin(self.request(
            what,
            points,
            async move { self.0.complete(completion).await },
        ))
    }

    fn note(&self, recording: Recording) {
        self.0.note(recording);
    }

    delegate! {
        0:
        flush() -> ();
        reopen(reopening: Reopening) -> Reopened;
    }
}

/// The store, observed by the checks.
#[derive(Debug)]
pub(crate) struct ObservedStore(pub(crate) Arc<dyn Outcomes>, pub(crate) Arc<Checks>);

impl Outcomes for ObservedStore {
    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>> {
        Box::pin(async move {
            let claimed = self.0.claim(claim).await?;
            self.1.claimed(&claim, &claimed);
            Ok(claimed)
        })
    }

    fn extend(&self, lease: Lease, lease_ms: u64) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async move {
            let extended = self.0.extend(lease, lease_ms).await?;
            self.1.extended(lease, lease_ms, extended);
            Ok(extended)
        })
    }

    fn complete(&self, completion: Completion) -> BoxFuture<'_, Result<Completed, StoreError>> {
        Box::pin(async move {
            let completed = self.0.complete(completion.clone()).await?;
            self.1.completed(&completion, &completed);
            Ok(completed)
        })
    }

    fn reopen(&self, reopening: Reopening) -> BoxFuture<'_, Result<Reopened, StoreError>> {
        Box::pin(async move {
            let scope = reopening.scope;
            let reopened = self.0.reopen(reopening).await?;
            self.1.reopened(scope, reopened);
            Ok(reopened)
        })
    }

    fn note(&self, recording: Recording) {
        self.1.recorded(&recording);
        self.0.note(recording);
    }

    delegate! {
        0:
        flush() -> ();
    }
}
