//! The operations of these tests: mutations, idempotent mutations and queries.

use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_contract::retry::{RetryPolicy, RetryRule, RetrySettings};
use panpan_runtime::retry::{CircuitRule, CircuitSettings};
use panpan_runtime::{Handler, Reconcile, Registration};

/// The operation that most tests call.
pub(crate) const PLACE: &str = "orders/place";
/// Another operation.
pub(crate) const OTHER: &str = "orders/other";

/// A mutation that has its effect again when it is repeated.
pub(crate) fn mutation(handler: impl Handler) -> Registration {
    of(OperationType::Mutation, handler)
}

/// A mutation that can be repeated safely.
pub(crate) fn idempotent(handler: impl Handler) -> Registration {
    mutation(handler).with(|spec| spec.idempotency.idempotent = true)
}

/// An operation without effects.
pub(crate) fn query(handler: impl Handler) -> Registration {
    of(OperationType::Query, handler)
}

/// A mutation that can look up whether an earlier call took effect.
pub(crate) fn reconciled(handler: impl Handler, by: impl Reconcile) -> Registration {
    let operation = mutation(handler).with(|spec| spec.idempotency.reconcilable = true);
    operation.reconciled_by(by)
}

/// All three kinds with the same handler, and whether they can be repeated safely.
pub(crate) fn kinds<H: Handler>(handler: impl Fn() -> H) -> [(Registration, bool); 3] {
    [
        (mutation(handler()), false),
        (idempotent(handler()), true),
        (query(handler()), true),
    ]
}

/// Adds a retry policy without delays, because time stands still in these tests.
pub(crate) fn retried(operation: Registration, max_retries: u32) -> Registration {
    let at_once = RetrySettings {
        max_retries,
        initial_delay_ms: 0,
        max_delay_ms: 0,
        jitter_enabled: false,
        ..RetrySettings::default()
    };
    operation.with(|spec| spec.retry = Some(RetryPolicy::try_from(at_once).unwrap().into()))
}

/// Adds a circuit that opens after this many failed calls in a row, and closes after one good trial.
pub(crate) fn with_circuit(failed_calls: u32, operation: Registration) -> Registration {
    let settings = CircuitSettings {
        row: failed_calls,
        row_ms: 0,
        trials: 1,
        ..CircuitSettings::default()
    };
    operation.with(|spec| spec.circuit = Some(CircuitRule::On(settings)))
}

fn of(op_type: OperationType, handler: impl Handler) -> Registration {
    let mut spec = OperationSpec::new(PLACE.parse().unwrap(), op_type);
    spec.retry = Some(RetryRule::OFF);
    Registration::new(spec, handler)
}
