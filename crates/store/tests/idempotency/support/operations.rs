//! The operations of these tests, by whether repeating them does harm.

use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_contract::retry::{RetryPolicy, RetrySettings};
use panpan_runtime::retry::{CircuitRule, CircuitSettings};
use panpan_runtime::{Handler, Reconcile, Registration};

/// The operation most tests call.
pub(crate) const PLACE: &str = "orders/place";
/// Another operation.
pub(crate) const OTHER: &str = "orders/other";

/// An operation that does it again when it is called again.
pub(crate) fn harmful(handler: impl Handler) -> Registration {
    of(OperationType::Mutation, handler)
}

/// A mutation that can be repeated.
pub(crate) fn harmless(handler: impl Handler) -> Registration {
    harmful(handler).with(|spec| spec.idempotency.idempotent = true)
}

/// An operation that changes nothing.
pub(crate) fn query(handler: impl Handler) -> Registration {
    of(OperationType::Query, handler)
}

/// A harmful operation that can be asked what became of a call.
pub(crate) fn reconciled(handler: impl Handler, by: impl Reconcile) -> Registration {
    let operation = harmful(handler).with(|spec| spec.idempotency.reconcilable = true);
    operation.reconciled_by(by)
}

/// All kinds with the same work behind them, and whether they can be repeated.
pub(crate) fn kinds<H: Handler>(handler: impl Fn() -> H) -> [(Registration, bool); 3] {
    [
        (harmful(handler()), false),
        (harmless(handler()), true),
        (query(handler()), true),
    ]
}

/// Tried again so often, without a delay: time stands still in these tests.
pub(crate) fn retried(operation: Registration, max_retries: u32) -> Registration {
    let at_once = RetrySettings {
        max_retries,
        initial_delay_ms: 0,
        max_delay_ms: 0,
        jitter_enabled: false,
        ..RetrySettings::default()
    };
    operation.with(|spec| spec.retry = Some(RetryPolicy::try_from(at_once).unwrap()))
}

/// Refused after so many failed calls in a row, and tried again by one.
pub(crate) fn opening_after(failed_calls: u32, operation: Registration) -> Registration {
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
    spec.retry = Some(RetryPolicy::NEVER);
    Registration::new(spec, handler)
}
