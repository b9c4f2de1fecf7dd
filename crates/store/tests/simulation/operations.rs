//! The operations of the gateways: one of each kind, with handlers that can fail.

use std::sync::Arc;

use panpan_contract::operation::{KeyRule, OperationName, OperationSpec, OperationType};
use panpan_failure::{Effect, Failure};
use panpan_runtime::retry::{BudgetSettings, CircuitRule, CircuitSettings, UpstreamHealth};
use panpan_runtime::{Context, Reconciled, Registration, Registry};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::checks::{Checks, Holder};
use crate::environment::LEASE_MS;
use crate::faults::{FAILURES, Fault, HandlerFault, Point};
use crate::process::Process;

/// The timeout of one attempt.
const ATTEMPT_MS: u64 = 8000;

/// The kind of an operation: the effect of calling it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A query.
    Read,
    /// An idempotent mutation.
    Put,
    /// A mutation that has its effect each time.
    Pay,
    /// A mutation that has its effect each time, and that can be reconciled.
    Book,
}

pub(crate) const KINDS: [Kind; 4] = [Kind::Read, Kind::Put, Kind::Pay, Kind::Book];

impl Kind {
    pub(crate) fn name(self) -> OperationName {
        let name = match self {
            Self::Read => "simulation/read",
            Self::Put => "simulation/put",
            Self::Pay => "simulation/pay",
            Self::Book => "simulation/book",
        };
        name.parse().unwrap()
    }

    /// Whether a second effect is a violation.
    pub(crate) fn is_harmful(self) -> bool {
        matches!(self, Self::Pay | Self::Book)
    }

    fn spec(self) -> OperationSpec {
        let op_type = match self {
            Self::Read => OperationType::Query,
            Self::Put | Self::Pay | Self::Book => OperationType::Mutation,
        };
        let mut spec = OperationSpec::new(self.name(), op_type);
        spec.timeout_ms = Some(ATTEMPT_MS);
        spec.idempotency.idempotent = self == Self::Put;
        spec.idempotency.reconcilable = self == Self::Book;
        if self == Self::Book {
            spec.idempotency.key = KeyRule::Required;
        }
        spec
    }
}

/// The operations of one process.
pub(crate) fn registry(process: &Arc<Process>) -> Registry {
    let circuit = CircuitRule::On(CircuitSettings {
        row: 5,
        row_ms: 0,
        open_ms: 500,
        open_ms_max: 2000,
        ..CircuitSettings::default()
    });
    let upstream = UpstreamHealth::new("simulated", circuit, BudgetSettings::default());
    let upstream = Arc::new(upstream);
    let mut builder = Registry::builder();
    for kind in KINDS {
        let mut registration = Registration::new(kind.spec(), handler(process.clone(), kind));
        if kind == Kind::Put {
            registration = registration
                .with(|spec| spec.circuit = Some(circuit))
                .behind(upstream.clone());
        }
        if kind == Kind::Book {
            registration = registration.reconciled_by(reconciler(process.clone()));
        }
        builder = builder.add(registration);
    }
    builder.build().unwrap()
}

fn handler(process: Arc<Process>, kind: Kind) -> impl panpan_runtime::Handler {
    move |context: Context, input: Arc<Value>| {
        let process = process.clone();
        async move { run(&process, kind, &context, &input).await }
    }
}

/// What a run of a handler will do.
#[derive(Clone, Copy, Debug)]
enum Plan {
    Succeed,
    SucceedSlowly,
    FailBeforeEffect(HandlerFault),
    FailAfterEffect(HandlerFault),
}

async fn run(
    process: &Arc<Process>,
    kind: Kind,
    context: &Context,
    input: &Value,
) -> Result<Value, Failure> {
    let call = context.call_id();
    process.step(Point::HandlerEntered).await;
    let plan = plan(process, kind, context.attempt());
    process.note(format_args!(
        "{kind:?} {input}, attempt {}: {plan:?}",
        context.attempt()
    ));
    context.sleep(duration_ms(process, plan)).await;
    if let Plan::FailBeforeEffect(fault) = plan {
        process.environment.faults.count(Fault::BeforeEffect(fault));
        let effects = [Effect::None, Effect::None, Effect::Unknown];
        return fail(process, fault, &effects).await;
    }
    let serial = process.environment.faults.random.next() >> 16;
    let output = json!({"work": input["work"], "serial": serial});
    if kind != Kind::Read {
        let keyed = context.downstream_key().is_some();
        process
            .environment
            .checks
            .took_effect(call, kind, keyed, &output);
        process.step(Point::AfterEffect).await;
    }
    if let Plan::FailAfterEffect(fault) = plan {
        process.environment.faults.count(Fault::AfterEffect(fault));
        return fail(process, fault, &[Effect::Applied, Effect::Unknown]).await;
    }
    Ok(output)
}

fn plan(process: &Process, kind: Kind, attempt: u32) -> Plan {
    let faults = &process.environment.faults;
    if faults.are_off() {
        return Plan::Succeed;
    }
    // A retry fails more often than a first attempt, so that some calls use up all their attempts.
    let fails = if attempt > 1 { 110 } else { 20 };
    let failure = usize::try_from(faults.random.next()).unwrap() % FAILURES.len();
    let fault = faults.random.weighted(&[
        (80, HandlerFault::Fail(failure)),
        (10, HandlerFault::Hang),
        (10, HandlerFault::Panic),
    ]);
    let plan = faults.random.weighted(&[
        (50, Plan::Succeed),
        (16, Plan::SucceedSlowly),
        (fails, Plan::FailBeforeEffect(fault)),
        (20, Plan::FailAfterEffect(fault)),
    ]);
    match plan {
        // A query has no effect.
        Plan::FailAfterEffect(fault) if kind == Kind::Read => Plan::FailBeforeEffect(fault),
        plan => plan,
    }
}

fn duration_ms(process: &Process, plan: Plan) -> u64 {
    let faults = &process.environment.faults;
    if let Plan::SucceedSlowly = plan {
        faults.count(Fault::SlowHandler);
        return faults.random.between(LEASE_MS / 2, 2 * LEASE_MS);
    }
    faults.random.between(0, 100)
}

async fn fail(
    process: &Process,
    fault: HandlerFault,
    effects: &[Effect],
) -> Result<Value, Failure> {
    match fault {
        HandlerFault::Fail(failure) => {
            let effect = process.environment.faults.random.pick(effects);
            Err(Failure::new(FAILURES[failure]).with_effect(effect))
        }
        HandlerFault::Hang => std::future::pending().await,
        // `resume_unwind` does not call the panic hook, which would print every panic.
        HandlerFault::Panic => std::panic::resume_unwind(Box::new("a simulated defect")),
    }
}

fn reconciler(process: Arc<Process>) -> impl panpan_runtime::Reconcile {
    move |context: Context, _: Arc<Value>| {
        let process = process.clone();
        async move { reconcile(&process, &context).await }
    }
}

async fn reconcile(process: &Arc<Process>, context: &Context) -> Result<Reconciled, Failure> {
    let faults = &process.environment.faults;
    let checks = process.environment.checks.clone();
    let mut guard = DisturbedUnlessDone(Some((checks, context.call_id())));
    process.step(Point::Reconciling).await;
    if faults.occurs(Fault::SlowReconcile) {
        context
            .sleep(faults.random.between(LEASE_MS / 2, 2 * LEASE_MS))
            .await;
    }
    if faults.occurs(Fault::ReconcileFails) {
        match faults.random.pick(&[
            HandlerFault::Fail(0),
            HandlerFault::Hang,
            HandlerFault::Panic,
        ]) {
            HandlerFault::Fail(failure) if faults.random.happens(5000) => {
                return Err(Failure::new(FAILURES[failure]));
            }
            HandlerFault::Fail(_) => {
                guard.0 = None;
                return Ok(Reconciled::Unknown);
            }
            fault => fail(process, fault, &[]).await?,
        };
    }
    guard.0 = None;
    let effect = process.environment.checks.effect_of(context.call_id());
    Ok(effect.map_or(Reconciled::DidNotHappen, Reconciled::Happened))
}

/// Marks the holder as disturbed unless the reconciliation ends with a result.
struct DisturbedUnlessDone(Option<(Arc<Checks>, Uuid)>);

impl Drop for DisturbedUnlessDone {
    fn drop(&mut self) {
        if let Some((checks, call)) = self.0.take() {
            checks.mark_disturbed(Holder::Call(call));
        }
    }
}
