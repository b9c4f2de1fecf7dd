//! The circuits and the retry budget that calls to one service share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use jiff::Timestamp;
use panpan_contract::circuit::CircuitRule;
use panpan_contract::operation::{OperationName, OperationSpec};
use panpan_failure::Redacted;

use super::circuit::{Circuit, CircuitLevel, CircuitRefusal, LastFailure, OpenCircuit};
use super::verdict::{Signal, Verdict};
use super::{Budget, BudgetSettings};
use crate::lock::lock;

/// The state that all calls to a service share: the circuit of its host, the circuits of its operations, and
/// the retry budget.
#[derive(Debug)]
pub struct UpstreamHealth {
    name: String,
    host: Option<String>,
    circuit: Circuit,
    budget: Mutex<Budget>,
    /// By operation, so that an operation that is registered again keeps its circuit.
    operations: Mutex<BTreeMap<OperationName, Weak<Circuit>>>,
}

/// An operation of a service, with its circuit.
#[derive(Debug)]
pub(crate) struct OperationUpstream {
    upstream: Arc<UpstreamHealth>,
    operation: OperationName,
    circuit: Arc<Circuit>,
}

impl UpstreamHealth {
    /// A service with this rule for the circuit of its host.
    pub fn new(name: impl Into<String>, circuit: CircuitRule, budget: BudgetSettings) -> Self {
        Self {
            name: name.into(),
            host: None,
            circuit: Circuit::new(CircuitLevel::Host, circuit),
            budget: Mutex::new(Budget::new(budget)),
            operations: Mutex::default(),
        }
    }

    /// A service with default settings.
    pub fn named(name: impl Into<String>) -> Self {
        Self::new(name, CircuitRule::default(), BudgetSettings::default())
    }

    /// Sets the host; failed connections to other hosts do not count against it.
    pub fn at_host(mut self, host: impl Into<String>) -> Self {
        self.host = Some(host.into());
        self
    }

    /// The name of the service.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Adds an operation to the service.
    pub(crate) fn serve(self: &Arc<Self>, spec: &OperationSpec) -> OperationUpstream {
        let rule = spec.circuit.unwrap_or_default();
        let mut operations = lock(&self.operations);
        let known = operations.get(&spec.name).and_then(Weak::upgrade);
        let known = known.filter(|circuit| circuit.rule() == rule);
        let circuit = known.unwrap_or_else(|| {
            let new = Arc::new(Circuit::new(CircuitLevel::Operation, rule));
            operations.retain(|_, circuit| circuit.strong_count() > 0);
            operations.insert(spec.name.clone(), Arc::downgrade(&new));
            new
        });
        OperationUpstream {
            upstream: self.clone(),
            operation: spec.name.clone(),
            circuit,
        }
    }
}

impl OperationUpstream {
    pub(crate) fn service(&self) -> &UpstreamHealth {
        &self.upstream
    }

    /// Begins a call. Each of its attempts needs a permit.
    pub(crate) fn begin(&self, now: Timestamp) -> CircuitPass<'_> {
        lock(&self.upstream.budget).called(now);
        CircuitPass {
            operation: self,
            host_trial: false,
            operation_trial: false,
            last: None,
        }
    }

    /// The verdict of a failure.
    pub(crate) fn verdict(&self, failure: &panpan_failure::Failure) -> Verdict {
        Verdict::of(failure, self.upstream.host.as_deref())
    }

    /// Takes one retry from the budget, if one is left. An operation whose last call failed gets none: one attempt
    /// per call is enough to notice that it works again.
    pub(crate) fn take_retry(&self, now: Timestamp) -> bool {
        !self.circuit.is_failing(now) && lock(&self.upstream.budget).take(now)
    }

    /// The circuits of its host and its own that are not closed.
    pub(crate) fn open_circuits(&self, now: Timestamp) -> impl Iterator<Item = OpenCircuit> {
        let name = &self.upstream.name;
        let host = self.upstream.circuit.unless_closed(name, None, now);
        let own = Some(&self.operation);
        let own = self.circuit.unless_closed(name, own, now);
        host.into_iter().chain(own)
    }
}

/// A call that passes through both circuits. Dropping it reports the last verdict of its attempts to them.
#[derive(Debug)]
pub(crate) struct CircuitPass<'a> {
    operation: &'a OperationUpstream,
    host_trial: bool,
    operation_trial: bool,
    last: Option<Report>,
}

#[derive(Debug)]
struct Report {
    verdict: Verdict,
    at: Timestamp,
    failure: Option<LastFailure>,
}

impl CircuitPass<'_> {
    /// Requests a permit for an attempt.
    pub(crate) fn permit(&mut self, now: Timestamp) -> Result<(), CircuitRefusal> {
        let host = &self.operation.upstream.circuit;
        let host_trial = host.permit(self.host_trial, now)?;
        let operation = &self.operation.circuit;
        let operation_trial = operation.permit(self.operation_trial, now);
        if operation_trial.is_err() && host_trial && !self.host_trial {
            host.report(Signal::Nothing, true, now, None);
        }
        self.operation_trial = operation_trial?;
        self.host_trial = host_trial;
        Ok(())
    }

    /// Reports the verdict of an attempt.
    pub(crate) fn report(
        &mut self,
        verdict: Verdict,
        failure: Option<&Redacted>,
        caller: Option<&str>,
        at: Timestamp,
    ) {
        if verdict != Verdict::NOTHING {
            let failure = failure.map(|it| LastFailure::of(it, caller, at));
            self.last = Some(Report {
                verdict,
                at,
                failure,
            });
        }
    }
}

impl Drop for CircuitPass<'_> {
    fn drop(&mut self) {
        let nothing = Report {
            verdict: Verdict::NOTHING,
            at: Timestamp::UNIX_EPOCH,
            failure: None,
        };
        let Report {
            verdict,
            at,
            failure,
        } = self.last.take().unwrap_or(nothing);
        let (host, operation) = (&self.operation.upstream.circuit, &self.operation.circuit);
        host.report(verdict.host, self.host_trial, at, failure.as_ref());
        operation.report(
            verdict.operation,
            self.operation_trial,
            at,
            failure.as_ref(),
        );
    }
}

#[cfg(test)]
mod tests {
    use panpan_contract::operation::OperationType;
    use panpan_failure::catalogue::Entry;
    use panpan_failure::{Failure, codes};

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn spec(name: &str) -> OperationSpec {
        OperationSpec::new(name.parse().unwrap(), OperationType::Query)
    }

    /// A call whose attempts all fail with this code.
    fn fail(operation: &OperationUpstream, entry: &'static Entry, attempts: u32, seconds: i64) {
        let mut pass = operation.begin(at(seconds));
        for _ in 0..attempts {
            pass.permit(at(seconds)).unwrap();
            let failure = Failure::new(entry);
            let verdict = operation.verdict(&failure);
            pass.report(verdict, Some(&failure.redacted()), None, at(seconds));
        }
    }

    fn refusal(operation: &OperationUpstream, seconds: i64) -> Option<CircuitLevel> {
        let refused = operation.begin(at(seconds)).permit(at(seconds)).err();
        refused.map(|refused| refused.level)
    }

    #[test]
    fn a_failing_operation_is_refused_alone_and_a_failing_host_with_all_its_operations() {
        for (entry, own, other) in [
            (
                codes::ERR_HTTP_500_SERVER_ERROR,
                Some(CircuitLevel::Operation),
                None,
            ),
            (codes::ERR_TIMEOUT, Some(CircuitLevel::Operation), None),
            (codes::ERR_SOCKET_ERROR, Some(CircuitLevel::Operation), None),
            (
                codes::ERR_DNS_FAILURE,
                Some(CircuitLevel::Host),
                Some(CircuitLevel::Host),
            ),
            (codes::ERR_HTTP_429_RATE_LIMITED, None, None),
            (codes::ERR_CIRCUIT_OPEN, None, None),
        ] {
            let upstream = Arc::new(UpstreamHealth::named("api"));
            let (bad, good) = (
                upstream.serve(&spec("a/bad")),
                upstream.serve(&spec("a/good")),
            );
            for seconds in [0, 3, 6, 9, 12] {
                fail(&bad, entry, 1, seconds);
            }
            let found = (refusal(&bad, 12), refusal(&good, 12));
            assert_eq!(found, (own, other), "{}", entry.code);
        }
    }

    #[test]
    fn the_attempts_of_one_call_count_once() {
        let upstream = Arc::new(UpstreamHealth::named("api"));
        let operation = upstream.serve(&spec("a/b"));
        for seconds in [0, 4, 8, 12] {
            fail(&operation, codes::ERR_HTTP_503_UNAVAILABLE, 4, seconds);
        }
        assert_eq!(refusal(&operation, 12), None);
        fail(&operation, codes::ERR_HTTP_503_UNAVAILABLE, 4, 13);
        assert_eq!(refusal(&operation, 13), Some(CircuitLevel::Operation));
    }

    #[test]
    fn a_call_that_succeeds_after_retries_has_not_failed() {
        let upstream = Arc::new(UpstreamHealth::named("api"));
        let operation = upstream.serve(&spec("a/b"));
        for seconds in 0..100 {
            let mut pass = operation.begin(at(seconds));
            let failure = Failure::new(codes::ERR_HTTP_503_UNAVAILABLE);
            let verdict = operation.verdict(&failure);
            pass.permit(at(seconds)).unwrap();
            pass.report(verdict, Some(&failure.redacted()), None, at(seconds));
            pass.permit(at(seconds)).unwrap();
            pass.report(Verdict::ANSWERED, None, None, at(seconds));
        }
        assert_eq!(refusal(&operation, 100), None);
    }

    #[test]
    fn a_dropped_trial_can_be_used_again() {
        let upstream = Arc::new(UpstreamHealth::named("api"));
        let operation = upstream.serve(&spec("a/b"));
        for seconds in [0, 3, 6, 9, 12] {
            fail(&operation, codes::ERR_DNS_FAILURE, 1, seconds);
        }
        let mut trials = Vec::new();
        for _ in 0..3 {
            let mut trial = operation.begin(at(14));
            trial.permit(at(14)).unwrap();
            trials.push(trial);
        }
        assert_eq!(refusal(&operation, 14), Some(CircuitLevel::Host));
        // A trial may make further attempts.
        trials[0].permit(at(14)).unwrap();
        trials.pop();
        let mut again = operation.begin(at(14));
        again.permit(at(14)).unwrap();
        again.report(Verdict::ANSWERED, None, None, at(14));
        drop(again);
        assert_eq!(refusal(&operation, 14), None);
    }

    #[test]
    fn a_refused_operation_does_not_use_up_a_trial_of_the_host() {
        let upstream = Arc::new(UpstreamHealth::named("api"));
        let (bad, good) = (
            upstream.serve(&spec("a/bad")),
            upstream.serve(&spec("a/good")),
        );
        for seconds in [0, 3, 6, 9, 12] {
            fail(&bad, codes::ERR_HTTP_500_SERVER_ERROR, 1, seconds);
            fail(&good, codes::ERR_DNS_FAILURE, 1, seconds);
        }
        // The host is half open, the operation still open.
        for seconds in [12, 13] {
            drop_unreported(&good, seconds);
        }
        for _ in 0..10 {
            let mut pass = bad.begin(at(13));
            let _ = pass.permit(at(13));
        }
        let mut pass = good.begin(at(15));
        assert!(pass.permit(at(15)).is_ok());
    }

    fn drop_unreported(operation: &OperationUpstream, seconds: i64) {
        let mut pass = operation.begin(at(seconds));
        let _ = pass.permit(at(seconds));
    }

    #[test]
    fn an_operation_that_is_registered_again_keeps_its_circuit() {
        let upstream = Arc::new(UpstreamHealth::named("api"));
        let before = upstream.serve(&spec("a/b"));
        for seconds in [0, 3, 6, 9, 12] {
            fail(&before, codes::ERR_HTTP_500_SERVER_ERROR, 1, seconds);
        }
        let after = upstream.serve(&spec("a/b"));
        assert_eq!(refusal(&after, 12), Some(CircuitLevel::Operation));
        let mut off = spec("a/b");
        off.circuit = Some(CircuitRule::Off);
        assert_eq!(refusal(&upstream.serve(&off), 12), None);
        drop((before, after));
        let forgotten = upstream.serve(&spec("a/b"));
        assert_eq!(refusal(&forgotten, 12), None);
    }

    #[test]
    fn open_circuits_are_listed_with_their_last_failure() {
        let upstream = Arc::new(UpstreamHealth::named("api"));
        let operation = upstream.serve(&spec("a/b"));
        assert_eq!(operation.open_circuits(at(0)).count(), 0);
        for seconds in [0, 3, 6, 9, 12] {
            fail(&operation, codes::ERR_HTTP_500_SERVER_ERROR, 1, seconds);
        }
        let open: Vec<_> = operation.open_circuits(at(13)).collect();
        let [open] = open.as_slice() else {
            panic!("{open:?}")
        };
        assert_eq!(open.level, CircuitLevel::Operation);
        assert_eq!((open.upstream.as_str(), open.failed_calls), ("api", 5));
        let last = open.last_failure.as_ref().unwrap();
        assert_eq!(last.code.as_str(), "ERR_HTTP_500_SERVER_ERROR");
        assert_eq!(last.at, at(12));
    }
}
