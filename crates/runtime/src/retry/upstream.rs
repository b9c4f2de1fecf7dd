//! One service behind operations: what all calls to it share, and what those of one operation share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use jiff::Timestamp;
use panpan_contract::circuit::CircuitRule;
use panpan_contract::operation::{OperationName, OperationSpec};
use panpan_failure::Redacted;

use super::blame::{Told, Verdict};
use super::circuit::{Circuit, CircuitLevel, Closed, LastFailure, OpenCircuit};
use super::{Budget, BudgetSettings};

/// The circuit of a host, the circuits of its operations and their retry budget.
#[derive(Debug)]
pub struct Upstream {
    name: String,
    host: Option<String>,
    circuit: Circuit,
    budget: Mutex<Budget>,
    /// By operation, so that one that is registered anew finds its circuit again.
    operations: Mutex<BTreeMap<OperationName, Weak<Circuit>>>,
}

/// An operation behind a service.
#[derive(Debug)]
pub(crate) struct Behind {
    upstream: Arc<Upstream>,
    operation: OperationName,
    circuit: Arc<Circuit>,
}

/// A circuit that is open, for a call that was refused by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) level: CircuitLevel,
    pub(crate) retry_after_ms: u64,
    pub(crate) failed_calls: u32,
    pub(crate) last_failure: Option<LastFailure>,
}

impl Upstream {
    /// A service nothing is known about yet; the rule is that of the circuit of its host.
    pub fn new(name: impl Into<String>, circuit: CircuitRule, budget: BudgetSettings) -> Self {
        Self {
            name: name.into(),
            host: None,
            circuit: Circuit::new(circuit),
            budget: Mutex::new(Budget::new(budget)),
            operations: Mutex::default(),
        }
    }

    /// A service under the usual settings.
    pub fn named(name: impl Into<String>) -> Self {
        Self::new(name, CircuitRule::default(), BudgetSettings::default())
    }

    /// Where it is: failures to connect to another host are not its own.
    pub fn at_host(mut self, host: impl Into<String>) -> Self {
        self.host = Some(host.into());
        self
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Puts an operation behind it.
    pub(crate) fn serve(self: &Arc<Self>, spec: &OperationSpec) -> Behind {
        let rule = spec.circuit.unwrap_or_default();
        let mut operations = lock(&self.operations);
        let known = operations.get(&spec.name).and_then(Weak::upgrade);
        let known = known.filter(|circuit| circuit.rule() == rule);
        let circuit = known.unwrap_or_else(|| {
            let made = Arc::new(Circuit::new(rule));
            operations.retain(|_, circuit| circuit.strong_count() > 0);
            operations.insert(spec.name.clone(), Arc::downgrade(&made));
            made
        });
        Behind {
            upstream: self.clone(),
            operation: spec.name.clone(),
            circuit,
        }
    }
}

impl Behind {
    pub(crate) fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    /// Begins a call. Whether it may make an attempt is asked before each.
    pub(crate) fn begin(&self, now: Timestamp) -> Pass<'_> {
        lock(&self.upstream.budget).called(now);
        Pass {
            behind: self,
            host_trial: false,
            operation_trial: false,
            seen: None,
        }
    }

    /// What a failure tells about the service.
    pub(crate) fn verdict(&self, failure: &panpan_failure::Failure) -> Verdict {
        Verdict::of(failure, self.upstream.host.as_deref())
    }

    /// Takes one retry from the budget, if there is one. There is none for an operation whose last call
    /// failed too: one attempt a call shows whether it is back.
    pub(crate) fn take_retry(&self, now: Timestamp) -> bool {
        !self.circuit.is_failing(now) && lock(&self.upstream.budget).take(now)
    }

    /// Its circuits that are not closed: that of its host, and its own.
    pub(crate) fn open_circuits(&self, now: Timestamp) -> impl Iterator<Item = OpenCircuit> {
        let named = |level, circuit: &Circuit| {
            let (state, failed_calls, last_failure) = circuit.unless_closed(now)?;
            let operation = (level == CircuitLevel::Operation).then(|| self.operation.clone());
            Some(OpenCircuit {
                level,
                upstream: self.upstream.name.clone(),
                operation,
                state,
                failed_calls,
                last_failure,
            })
        };
        let host = named(CircuitLevel::Host, &self.upstream.circuit);
        let own = named(CircuitLevel::Operation, &self.circuit);
        host.into_iter().chain(own)
    }
}

/// A call on its way through both circuits. When it is dropped, the circuits learn how it ended: its last
/// attempt that told something speaks for the whole call.
#[derive(Debug)]
pub(crate) struct Pass<'a> {
    behind: &'a Behind,
    host_trial: bool,
    operation_trial: bool,
    seen: Option<Seen>,
}

#[derive(Debug)]
struct Seen {
    verdict: Verdict,
    at: Timestamp,
    failure: Option<LastFailure>,
}

impl Pass<'_> {
    /// Asks for an attempt; one that may not take place costs nothing.
    pub(crate) fn permit(&mut self, now: Timestamp) -> Result<(), Refused> {
        let host = &self.behind.upstream.circuit;
        let host_trial = asked(host, self.host_trial, now)
            .map_err(|closed| refused(CircuitLevel::Host, closed))?;
        match asked(&self.behind.circuit, self.operation_trial, now) {
            Ok(operation_trial) => {
                (self.host_trial, self.operation_trial) = (host_trial, operation_trial);
                Ok(())
            }
            Err(closed) => {
                if host_trial && !self.host_trial {
                    host.note(Told::Nothing, true, now, None);
                }
                Err(refused(CircuitLevel::Operation, closed))
            }
        }
    }

    /// Notes what an attempt told.
    pub(crate) fn saw(
        &mut self,
        verdict: Verdict,
        failure: Option<&Redacted>,
        caller: Option<&str>,
        at: Timestamp,
    ) {
        if verdict != Verdict::NOTHING {
            let failure = failure.map(|it| LastFailure::of(it, caller, at));
            self.seen = Some(Seen {
                verdict,
                at,
                failure,
            });
        }
    }
}

/// A call that is a trial already need not ask again.
fn asked(circuit: &Circuit, is_trial: bool, now: Timestamp) -> Result<bool, Closed> {
    if is_trial {
        return Ok(true);
    }
    circuit.permit(now)
}

fn refused(level: CircuitLevel, closed: Closed) -> Refused {
    Refused {
        level,
        retry_after_ms: closed.retry_after_ms,
        failed_calls: closed.failed_calls,
        last_failure: closed.last_failure,
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let nothing = Seen {
            verdict: Verdict::NOTHING,
            at: Timestamp::UNIX_EPOCH,
            failure: None,
        };
        let Seen {
            verdict,
            at,
            failure,
        } = self.seen.take().unwrap_or(nothing);
        let (host, operation) = (&self.behind.upstream.circuit, &self.behind.circuit);
        host.note(verdict.host, self.host_trial, at, failure.as_ref());
        operation.note(
            verdict.operation,
            self.operation_trial,
            at,
            failure.as_ref(),
        );
    }
}

/// A thread that panicked in between leaves it whole: each change is a single step.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// A call that makes attempts which all fail in this way.
    fn fail(behind: &Behind, entry: &'static Entry, attempts: u32, seconds: i64) {
        let mut pass = behind.begin(at(seconds));
        for _ in 0..attempts {
            pass.permit(at(seconds)).unwrap();
            let failure = Failure::new(entry);
            let verdict = behind.verdict(&failure);
            pass.saw(verdict, Some(&failure.redacted()), None, at(seconds));
        }
    }

    fn refusal(behind: &Behind, seconds: i64) -> Option<CircuitLevel> {
        let refused = behind.begin(at(seconds)).permit(at(seconds)).err();
        refused.map(|refused| refused.level)
    }

    #[test]
    fn an_operation_that_fails_is_refused_alone_and_a_host_with_everything_behind_it() {
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
            let upstream = Arc::new(Upstream::named("api"));
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
        let upstream = Arc::new(Upstream::named("api"));
        let behind = upstream.serve(&spec("a/b"));
        for seconds in [0, 4, 8, 12] {
            fail(&behind, codes::ERR_HTTP_503_UNAVAILABLE, 4, seconds);
        }
        assert_eq!(refusal(&behind, 12), None);
        fail(&behind, codes::ERR_HTTP_503_UNAVAILABLE, 4, 13);
        assert_eq!(refusal(&behind, 13), Some(CircuitLevel::Operation));
    }

    #[test]
    fn a_call_that_works_in_the_end_has_not_failed() {
        let upstream = Arc::new(Upstream::named("api"));
        let behind = upstream.serve(&spec("a/b"));
        for seconds in 0..100 {
            let mut pass = behind.begin(at(seconds));
            let failure = Failure::new(codes::ERR_HTTP_503_UNAVAILABLE);
            let verdict = behind.verdict(&failure);
            pass.permit(at(seconds)).unwrap();
            pass.saw(verdict, Some(&failure.redacted()), None, at(seconds));
            pass.permit(at(seconds)).unwrap();
            pass.saw(Verdict::ANSWERED, None, None, at(seconds));
        }
        assert_eq!(refusal(&behind, 100), None);
    }

    #[test]
    fn a_trial_that_was_given_up_can_be_made_again() {
        let upstream = Arc::new(Upstream::named("api"));
        let behind = upstream.serve(&spec("a/b"));
        for seconds in [0, 3, 6, 9, 12] {
            fail(&behind, codes::ERR_DNS_FAILURE, 1, seconds);
        }
        let mut trials = Vec::new();
        for _ in 0..3 {
            let mut trial = behind.begin(at(14));
            trial.permit(at(14)).unwrap();
            trials.push(trial);
        }
        assert_eq!(refusal(&behind, 14), Some(CircuitLevel::Host));
        // A trial may go on with its attempts.
        trials[0].permit(at(14)).unwrap();
        trials.pop();
        let mut again = behind.begin(at(14));
        again.permit(at(14)).unwrap();
        again.saw(Verdict::ANSWERED, None, None, at(14));
        drop(again);
        assert_eq!(refusal(&behind, 14), None);
    }

    #[test]
    fn a_trial_of_the_host_is_not_used_up_by_an_operation_that_is_refused() {
        let upstream = Arc::new(Upstream::named("api"));
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
            fail_quietly(&good, seconds);
        }
        for _ in 0..10 {
            let mut pass = bad.begin(at(13));
            let _ = pass.permit(at(13));
        }
        let mut pass = good.begin(at(15));
        assert!(pass.permit(at(15)).is_ok());
    }

    fn fail_quietly(behind: &Behind, seconds: i64) {
        let mut pass = behind.begin(at(seconds));
        let _ = pass.permit(at(seconds));
    }

    #[test]
    fn an_operation_that_is_registered_again_finds_its_circuit() {
        let upstream = Arc::new(Upstream::named("api"));
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
    fn open_circuits_are_told_with_what_failed_last() {
        let upstream = Arc::new(Upstream::named("api"));
        let behind = upstream.serve(&spec("a/b"));
        assert_eq!(behind.open_circuits(at(0)).count(), 0);
        for seconds in [0, 3, 6, 9, 12] {
            fail(&behind, codes::ERR_HTTP_500_SERVER_ERROR, 1, seconds);
        }
        let open: Vec<_> = behind.open_circuits(at(13)).collect();
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
