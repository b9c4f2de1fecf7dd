//! What the gateways serve: one operation of each kind, whose handlers do their work, or not.

use std::sync::Arc;

use panpan_contract::operation::{KeyRule, OperationName, OperationSpec, OperationType};
use panpan_failure::{Effect, Failure};
use panpan_runtime::retry::{BudgetSettings, CircuitRule, CircuitSettings, Upstream};
use panpan_runtime::{Context, Reconciled, Registration, Registry};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::checks::{Checks, Holder};
use crate::environment::LEASE_MS;
use crate::faults::{FAILURES, Fault, Misdeed, Point};
use crate::process::Process;

/// How long one attempt may take.
const ATTEMPT_MS: u64 = 8000;

/// What calling an operation again does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Reads.
    Read,
    /// Changes something, and again changes nothing more.
    Put,
    /// Changes something each time.
    Pay,
    /// Changes something each time, and can be asked whether it did.
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

    /// Whether a second effect is one too many.
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

/// The operations as one process serves them.
pub(crate) fn registry(process: &Arc<Process>) -> Registry {
    let circuit = CircuitRule::On(CircuitSettings {
        row: 5,
        row_ms: 0,
        open_ms: 500,
        open_ms_max: 2000,
        ..CircuitSettings::default()
    });
    let upstream = Upstream::new("simulated", circuit, BudgetSettings::default());
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

/// What a handler is about to do.
#[derive(Clone, Copy, Debug)]
enum Plan {
    Work,
    WorkSlowly,
    Before(Misdeed),
    After(Misdeed),
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
    if let Plan::Before(misdeed) = plan {
        process.environment.faults.count(Fault::Before(misdeed));
        let effects = [Effect::None, Effect::None, Effect::Unknown];
        return commit(process, misdeed, &effects).await;
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
    if let Plan::After(misdeed) = plan {
        process.environment.faults.count(Fault::After(misdeed));
        return commit(process, misdeed, &[Effect::Applied, Effect::Unknown]).await;
    }
    Ok(output)
}

fn plan(process: &Process, kind: Kind, attempt: u32) -> Plan {
    let faults = &process.environment.faults;
    if faults.are_over() {
        return Plan::Work;
    }
    // What failed once fails again more often than not, so that some calls spend all their attempts.
    let fails = if attempt > 1 { 110 } else { 20 };
    let failure = usize::try_from(faults.random.next()).unwrap() % FAILURES.len();
    let misdeed = faults.random.weighted(&[
        (80, Misdeed::Fails(failure)),
        (10, Misdeed::Hangs),
        (10, Misdeed::Panics),
    ]);
    let plan = faults.random.weighted(&[
        (50, Plan::Work),
        (16, Plan::WorkSlowly),
        (fails, Plan::Before(misdeed)),
        (20, Plan::After(misdeed)),
    ]);
    match plan {
        // Reading has no effect that could come first.
        Plan::After(misdeed) if kind == Kind::Read => Plan::Before(misdeed),
        plan => plan,
    }
}

fn duration_ms(process: &Process, plan: Plan) -> u64 {
    let faults = &process.environment.faults;
    if let Plan::WorkSlowly = plan {
        faults.count(Fault::SlowHandler);
        return faults.random.between(LEASE_MS / 2, 2 * LEASE_MS);
    }
    faults.random.between(0, 100)
}

async fn commit(process: &Process, misdeed: Misdeed, effects: &[Effect]) -> Result<Value, Failure> {
    match misdeed {
        Misdeed::Fails(failure) => {
            let effect = process.environment.faults.random.pick(effects);
            Err(Failure::new(FAILURES[failure]).with_effect(effect))
        }
        Misdeed::Hangs => std::future::pending().await,
        // Panics without the hook, which would print every one of them.
        Misdeed::Panics => std::panic::resume_unwind(Box::new("a simulated defect")),
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
    let mut unclear = Unclear(Some((checks, context.call_id())));
    process.step(Point::Reconciling).await;
    if faults.strikes(Fault::SlowReconcile) {
        context
            .sleep(faults.random.between(LEASE_MS / 2, 2 * LEASE_MS))
            .await;
    }
    if faults.strikes(Fault::Irreconcilable) {
        match faults
            .random
            .pick(&[Misdeed::Fails(0), Misdeed::Hangs, Misdeed::Panics])
        {
            Misdeed::Fails(failure) if faults.random.happens(5000) => {
                return Err(Failure::new(FAILURES[failure]));
            }
            Misdeed::Fails(_) => {
                unclear.0 = None;
                return Ok(Reconciled::Unknown);
            }
            misdeed => commit(process, misdeed, &[]).await?,
        };
    }
    unclear.0 = None;
    let effect = process.environment.checks.effect_of(context.call_id());
    Ok(effect.map_or(Reconciled::DidNotHappen, Reconciled::Happened))
}

/// Unless it is taken back, nothing was found out, and the key is left to whoever asks next.
struct Unclear(Option<(Arc<Checks>, Uuid)>);

impl Drop for Unclear {
    fn drop(&mut self) {
        if let Some((checks, call)) = self.0.take() {
            checks.disturbed(Holder::Call(call));
        }
    }
}
