//! The store on its way to the gateways: slow, refusing, losing answers; and watched.
//!
//! A request passes from a process through [`Reached`], where faults strike, to [`Observed`], where the
//! checks see what the store really answered, to a store in memory.

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
use crate::defects::{Defect, Hasty};
use crate::delegate::delegate;
use crate::faults::{Fault, Point, Port, STORE_ERRORS};
use crate::process::Process;

/// The longest a slow store takes for one request.
pub(crate) const SLOW_MS: u64 = 1500;

/// The store as one process reaches it.
pub(crate) fn reached_by(process: &Arc<Process>) -> Arc<dyn Outcomes> {
    let reached = Arc::new(Reached(process.environment.medium.clone(), process.clone()));
    if process.environment.defect == Some(Defect::ReplyBeforeRecord) {
        return Arc::new(Hasty(reached, process.clone()));
    }
    reached
}

/// Between a process and the store: every step can fail, and the process between them.
#[derive(Debug)]
struct Reached(Arc<dyn Outcomes>, Arc<Process>);

impl Reached {
    async fn request<T>(
        &self,
        (port, holder): (Port, Holder),
        (before, after): (Point, Point),
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let Self(_, process) = self;
        process.step(before).await;
        self.may_be_slow(port, holder, Fault::SlowRequest).await;
        self.may_fail(port, holder, Fault::Refused)?;
        let answer = work.await?;
        self.may_be_slow(port, holder, Fault::SlowAnswer).await;
        process.step(after).await;
        self.may_fail(port, holder, Fault::AnswerLost)?;
        Ok(answer)
    }

    async fn may_be_slow(&self, port: Port, holder: Holder, fault: fn(Port) -> Fault) {
        let Self(_, process) = self;
        let environment = &process.environment;
        if environment.faults.strikes(fault(port)) {
            process.note(format_args!("{:?}", fault(port)));
            // A holder that waits for an answer to its claim has not begun to show that it lives.
            if port != Port::Claim {
                environment.checks.disturbed(holder);
            }
            environment
                .clock
                .sleep(environment.faults.random.between(10, SLOW_MS))
                .await;
        }
    }

    fn may_fail(
        &self,
        port: Port,
        holder: Holder,
        fault: fn(Port, usize) -> Fault,
    ) -> Result<(), StoreError> {
        let Self(_, process) = self;
        let faults = &process.environment.faults;
        let strikes = |error: &usize| faults.strikes(fault(port, *error));
        let Some(error) = (0..STORE_ERRORS.len()).find(strikes) else {
            return Ok(());
        };
        process.note(format_args!("{:?}", fault(port, error)));
        process.environment.checks.disturbed(holder);
        Err(STORE_ERRORS[error].clone())
    }
}

impl Outcomes for Reached {
    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, StoreError>> {
        let Self(store, process) = self;
        process
            .environment
            .checks
            .comes_from(claim.call, &process.life);
        let points = (Point::BeforeClaim, Point::AfterClaim);
        let what = (Port::Claim, Holder::Call(claim.call));
        Box::pin(self.request(what, points, async move { store.claim(claim).await }))
    }

    fn extend(&self, lease: Lease, lease_ms: u64) -> BoxFuture<'_, Result<bool, StoreError>> {
        let points = (Point::BeforeExtend, Point::AfterExtend);
        let what = (Port::Extend, Holder::Lease(lease));
        Box::pin(self.request(
            what,
            points,
            async move { self.0.extend(lease, lease_ms).await },
        ))
    }

    fn complete(&self, completion: Completion) -> BoxFuture<'_, Result<Completed, StoreError>> {
        let points = (Point::BeforeComplete, Point::AfterComplete);
        let what = (Port::Complete, Holder::Lease(completion.lease));
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

/// The store with the checks looking on.
#[derive(Debug)]
pub(crate) struct Observed(pub(crate) Arc<dyn Outcomes>, pub(crate) Arc<Checks>);

impl Outcomes for Observed {
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
