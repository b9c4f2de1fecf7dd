//! The retry loop: attempt, stamp, redact, settle, decide, until there is an outcome.
//!
//! Whether to retry is decided by the pure function `retry::decide`.

use std::sync::Arc;

use jiff::Timestamp;
use panpan_contract::operation::{OperationType, Outputs};
use panpan_contract::recording::{Decided, Step};
use panpan_contract::retry::{Attempt, Decision, Terms, Waiting};
use panpan_failure::{Code, Effect, Failure, Redacted, Violation, ViolationKind, codes};
use serde_json::Value;

use super::Dispatcher;
use super::attempt::{Attempted, attempt, cancelled, time_for_attempt, worse};
use super::circuit_refusal::circuit_open;
use super::claim::Claimed;
use super::raised::Raised;
use super::request::TaskState;
use super::validate::patient_until;
use crate::ports::{Fingerprint, Scope};
use crate::registry::Operation;
use crate::retry::{CircuitPass, OperationUpstream, Verdict, decide};
use crate::time::{later, milliseconds_between};

/// The minimum timeout of a retry.
const RETRY_TIMEOUT_MS_MIN: u64 = 500;

/// A call whose last attempt is over.
pub(super) struct Finished {
    pub(super) claimed: Claimed,
    pub(super) outcome: Result<Arc<Value>, Redacted>,
    pub(super) ran: Ran,
}

/// What the loop did to get the outcome.
pub(super) struct Ran {
    /// Earlier attempts, passed in by the owner of a task.
    pub(super) earlier: Vec<Attempt>,
    pub(super) steps: Vec<Step>,
    pub(super) terms: Terms,
    pub(super) seed: Option<i64>,
    /// How long the owner of a task should wait before it retries.
    pub(super) retry_after_ms: Option<u64>,
    /// What is wrong with an output that is delivered although it does not match its declared schema.
    pub(super) schema_violation: Option<String>,
    /// How many attempts this call made, without those that a circuit refused.
    pub(super) attempts_made: u32,
    _made_here: (),
}

impl Ran {
    /// Nothing yet.
    fn new(terms: Terms) -> Self {
        Self {
            earlier: Vec::new(),
            steps: Vec::new(),
            terms,
            seed: None,
            retry_after_ms: None,
            schema_violation: None,
            attempts_made: 0,
            _made_here: (),
        }
    }
}

/// Attempts a call until there is an outcome, waiting between attempts.
pub(super) async fn run(dispatcher: &Dispatcher, claimed: Claimed) -> Finished {
    let state = TaskState::of_scope(claimed.scope());
    run_loop(dispatcher, claimed, state, Waiting::Inline).await
}

/// Makes one attempt of a task, whose owner waits between attempts.
pub(super) async fn run_once(
    dispatcher: &Dispatcher,
    claimed: Claimed,
    task: TaskState,
) -> Finished {
    run_loop(dispatcher, claimed, task, Waiting::Durable).await
}

async fn run_loop(
    dispatcher: &Dispatcher,
    claimed: Claimed,
    task: TaskState,
    waiting: Waiting,
) -> Finished {
    let mut attempts = AttemptLoop::new(dispatcher, &claimed, task, waiting);
    let outcome = attempts.run().await;
    let ran = attempts.end();
    Finished {
        claimed,
        outcome,
        ran,
    }
}

impl Finished {
    /// An outcome without an attempt, such as one found by reconciliation.
    pub(super) fn without_attempt(
        claimed: Claimed,
        terms: Terms,
        outcome: Result<Arc<Value>, Redacted>,
    ) -> Self {
        let mut ran = Ran::new(terms);
        let output = outcome.as_ref().ok();
        ran.schema_violation =
            output.and_then(|output| output_violation(&claimed.operation, output));
        Self {
            claimed,
            outcome,
            ran,
        }
    }

    /// Whether the call had no effect: it failed without one, or it only reads.
    pub(super) fn is_without_effect(&self) -> bool {
        match &self.outcome {
            Ok(_) => self.claimed.operation.spec().op_type == OperationType::Query,
            Err(failure) => failure.effect() == Effect::None,
        }
    }

    /// How many attempts were made, including those of earlier calls with the same key.
    pub(super) fn attempts(&self) -> u32 {
        self.claimed
            .attempts_before()
            .saturating_add(self.ran.attempts_made)
    }
}

/// The retry terms of a call.
pub(super) fn terms(claimed: &Claimed, waiting: Waiting) -> Terms {
    let (operation, call) = (&claimed.operation, &claimed.call);
    let is_inline = waiting == Waiting::Inline;
    // A caller that sets a retry policy sets how long it waits with it.
    let from_caller = call.input_options.policy;
    let is_patient = is_inline && from_caller.is_none();
    Terms {
        policy: from_caller.or_else(|| operation.spec().retry?.policy),
        categories: operation.spec().retry.and_then(|it| it.categories),
        repeatable: claimed.is_repeatable(),
        deadline: is_inline.then_some(claimed.deadline),
        patient_until: is_patient.then(|| patient_until(operation, call)),
        waiting,
    }
}

enum Next {
    Answer(Result<Arc<Value>, Redacted>),
    Retry { delay_ms: u64, after: Redacted },
}

/// The state of a call between its first attempt and its outcome.
struct AttemptLoop<'a> {
    dispatcher: &'a Dispatcher,
    claimed: &'a Claimed,
    scope: Option<Scope>,
    /// How many attempts at the start of the history were made before this loop.
    earlier: usize,
    history: Vec<Attempt>,
    ran: Ran,
    /// The last failure that was not a refusal by a circuit.
    last_failure: Option<Redacted>,
    circuits: Option<CircuitPass<'a>>,
}

impl<'a> AttemptLoop<'a> {
    fn new(
        dispatcher: &'a Dispatcher,
        claimed: &'a Claimed,
        task: TaskState,
        waiting: Waiting,
    ) -> Self {
        let begin =
            |upstream: &'a OperationUpstream| upstream.begin(dispatcher.ports().clock.now());
        let mut ran = Ran::new(terms(claimed, waiting));
        ran.terms.policy = task.policy.or(ran.terms.policy);
        ran.seed = claimed.call.retry_seed;
        Self {
            dispatcher,
            claimed,
            scope: task.scope,
            earlier: task.history.len(),
            history: task.history,
            ran,
            last_failure: None,
            circuits: claimed.operation.upstream().map(begin),
        }
    }

    async fn run(&mut self) -> Result<Arc<Value>, Redacted> {
        loop {
            match self.attempt_and_decide().await {
                Next::Answer(outcome) => return outcome,
                Next::Retry { delay_ms, after } => self.wait(delay_ms, &after).await?,
            }
        }
    }

    /// Ends the loop; dropping it reports the result to the circuits.
    fn end(mut self) -> Ran {
        self.history.truncate(self.earlier);
        self.ran.earlier = self.history;
        self.ran
    }

    async fn attempt_and_decide(&mut self) -> Next {
        let started_at = self.now();
        let latest = self.retry_deadline();
        let time = match time_for_attempt(self.claimed, self.effect_so_far(), started_at, latest) {
            Ok(time) => time,
            Err(raised) => {
                let failure = self.stamp_redact_settle(raised, started_at);
                return self.failed(failure, started_at, started_at);
            }
        };
        // Checked last, because a granted trial has to be used.
        if let Some(refusal) = self.circuit_refusal(started_at) {
            let failure = self.stamp_redact_settle(refusal, started_at);
            return self.refused(failure, started_at);
        }
        self.ran.attempts_made = self.ran.attempts_made.saturating_add(1);
        let number = self.next_attempt_number() - 1;
        let Attempted { result, verdict } =
            attempt(self.dispatcher, self.claimed, time, number, self.scope).await;
        let ended_at = self.now();
        match result.and_then(|output| self.check_output(output)) {
            Ok(output) => {
                self.report_to_circuits(verdict, None, ended_at);
                self.ran.steps.push(Step {
                    started_at,
                    ended_at,
                    failed: None,
                    decided: None,
                });
                Next::Answer(Ok(output))
            }
            Err(raised) => {
                let failure = self.stamp_redact_settle(raised, ended_at);
                self.report_to_circuits(verdict, Some(&failure), ended_at);
                if was_not_sent(&failure) {
                    self.ran.attempts_made -= 1;
                } else {
                    self.last_failure = Some(failure.clone());
                }
                self.failed(failure, started_at, ended_at)
            }
        }
    }

    /// When a retry has to end, so that the caller still gets the earlier failure in time. The first attempt
    /// has the full timeout of its operation.
    fn retry_deadline(&self) -> Option<Timestamp> {
        let is_retry = self.ran.attempts_made > 0 && self.claimed.is_repeatable();
        let patient_until = self.ran.terms.patient_until.filter(|_| is_retry)?;
        Some(patient_until.max(later(self.now(), RETRY_TIMEOUT_MS_MIN)))
    }

    /// The refusal of this attempt by a circuit, if one is open.
    fn circuit_refusal(&mut self, now: Timestamp) -> Option<Raised> {
        let refused = self.circuits.as_mut()?.permit(now).err()?;
        let (operation, call) = (&self.claimed.operation, &self.claimed.call);
        let failure = circuit_open(operation, operation.upstream()?, call, refused)
            .with_effect(self.effect_so_far());
        Some(Raised::by_gateway(failure, operation))
    }

    /// Reports the verdict of an attempt to the circuits.
    fn report_to_circuits(&mut self, verdict: Verdict, failure: Option<&Redacted>, at: Timestamp) {
        let caller = self.claimed.call.caller.as_ref();
        if let Some(circuits) = &mut self.circuits {
            circuits.report(verdict, failure, caller.map(|it| it.id.as_str()), at);
        }
    }

    /// Checks an output against its schema. An invalid output is delivered, unless the operation is strict.
    fn check_output(&mut self, output: Arc<Value>) -> Result<Arc<Value>, Raised> {
        let (operation, call) = (&self.claimed.operation, &self.claimed.call);
        let Some(cause) = output_violation(operation, &output) else {
            return Ok(output);
        };
        let outputs = operation.spec().outputs;
        let is_strict = outputs.map_or(self.dispatcher.0.settings.strict, |it| {
            it == Outputs::Strict
        });
        if is_strict {
            let failure = Failure::new(codes::ERR_OUTPUT_INVALID)
                .with_message(cause.clone())
                .with_effect(effect_when_done(operation));
            return Err(Raised::by_gateway(failure, operation).with_private_cause(cause));
        }
        let log = &self.dispatcher.ports().log;
        log.note(call.id, operation.name().as_str(), &cause);
        self.ran.schema_violation = Some(cause);
        Ok(output)
    }

    fn stamp_redact_settle(&self, raised: Raised, at: Timestamp) -> Redacted {
        self.dispatcher
            .stamp_redact_settle(raised, &self.claimed.call, at)
    }

    fn failed(&mut self, failure: Redacted, started_at: Timestamp, ended_at: Timestamp) -> Next {
        let failed = Attempt {
            took_ms: milliseconds_between(started_at, ended_at),
            ..Attempt::of(&failure)
        };
        self.decide_next(failed, failure, started_at, ended_at)
    }

    fn refused(&mut self, failure: Redacted, started_at: Timestamp) -> Next {
        let refused = Attempt {
            refused_by_circuit: true,
            ..Attempt::of(&failure)
        };
        self.decide_next(refused, failure, started_at, started_at)
    }

    fn decide_next(
        &mut self,
        failed: Attempt,
        failure: Redacted,
        started_at: Timestamp,
        ended_at: Timestamp,
    ) -> Next {
        self.history.push(failed.clone());
        let decided = self.decide(&failed, ended_at);
        self.ran.steps.push(Step {
            started_at,
            ended_at,
            failed: Some(failed),
            decided: Some(decided),
        });
        match decided.decision {
            Decision::Answer(_) => Next::Answer(Err(self.final_failure(failure))),
            Decision::Later(at) => {
                self.ran.retry_after_ms = Some(milliseconds_between(ended_at, at));
                Next::Answer(Err(failure))
            }
            Decision::Again { delay_ms } => Next::Retry {
                delay_ms,
                after: failure,
            },
        }
    }

    /// The last failure as the outcome of all attempts, with their combined effect and their number, so that
    /// a gateway in front does not retry again. If a circuit opened during the call, the outcome is the last
    /// failure of the service.
    fn final_failure(&mut self, failure: Redacted) -> Redacted {
        let last = self.last_failure.take().filter(|_| was_not_sent(&failure));
        let failure = match (last, failure.stated_retry_after_ms()) {
            (Some(last), Some(open_ms)) => {
                let hint_ms = last.stated_retry_after_ms().unwrap_or_default();
                let last = last.into_failure();
                last.with_retry_after_ms(open_ms.max(hint_ms)).redacted()
            }
            (last, _) => last.unwrap_or(failure),
        };
        let failure = failure.with_effect(self.effect_so_far());
        match failure.attempts() {
            Some(_) => failure,
            None => failure.with_attempts(self.next_attempt_number() - 1),
        }
    }

    fn decide(&mut self, failed: &Attempt, now: Timestamp) -> Decided {
        let seed = self.seed();
        let mut budget = None;
        let ask_budget = || {
            let allows = self.budget_allows(failed, now);
            budget = Some(allows);
            allows
        };
        let decision = decide(&self.history, now, seed, self.ran.terms, ask_budget);
        Decided {
            at: now,
            budget,
            decision,
        }
    }

    /// Takes a retry from the budget. After a refusal by an open circuit a retry is free.
    fn budget_allows(&self, failed: &Attempt, now: Timestamp) -> bool {
        let is_free = is_open_circuit(&failed.code);
        let upstream = self.claimed.operation.upstream().filter(|_| !is_free);
        upstream.is_none_or(|upstream| upstream.take_retry(now))
    }

    /// Waits before the next attempt and reports that as progress. Fails if the call is aborted.
    async fn wait(&self, delay_ms: u64, after: &Redacted) -> Result<(), Redacted> {
        if let Some(progress) = &self.claimed.call.progress {
            let (number, code) = (self.next_attempt_number(), after.code());
            progress.note(format!("attempt {number} in {delay_ms} ms after {code}"));
        }
        let sleep = self.dispatcher.ports().clock.sleep(delay_ms);
        let Some(abort) = &self.claimed.call.abort else {
            sleep.await;
            return Ok(());
        };
        if abort.run_until_cancelled(sleep).await.is_some() {
            return Ok(());
        }
        let operation = &self.claimed.operation;
        let cancelled = cancelled(operation, self.effect_so_far());
        let raised = Raised::by_gateway(cancelled, operation);
        Err(self.stamp_redact_settle(raised, self.now()))
    }

    /// The combined effect of all attempts.
    fn effect_so_far(&self) -> Effect {
        let effects = self.history.iter().map(|attempt| attempt.effect);
        effects.fold(self.claimed.effect_before(), worse)
    }

    /// The number of the next attempt. Attempts that a circuit refused do not count: they did not reach the
    /// service. The store counts those of a task with a key, too.
    fn next_attempt_number(&self) -> u32 {
        let of_task = self.history.iter().take(self.earlier);
        let of_task = of_task.filter(|attempt| !is_refusal(attempt)).count();
        let of_task = u32::try_from(of_task).unwrap_or(u32::MAX);
        let earlier = self.claimed.attempts_before().max(of_task);
        earlier
            .saturating_add(self.ran.attempts_made)
            .saturating_add(1)
    }

    /// Drawn at the first failure.
    fn seed(&mut self) -> i64 {
        let (operation, call) = (&self.claimed.operation, &self.claimed.call);
        *self.ran.seed.get_or_insert_with(|| {
            if operation.spec().deterministic {
                Fingerprint::of(operation.name(), &call.input).retry_seed()
            } else {
                self.dispatcher.ports().ids.new_seed()
            }
        })
    }

    fn now(&self) -> Timestamp {
        self.dispatcher.ports().clock.now()
    }
}

/// The effect of an operation that returned an output.
fn effect_when_done(operation: &Operation) -> Effect {
    match operation.spec().op_type {
        OperationType::Query => Effect::None,
        OperationType::Mutation | OperationType::Subscription => Effect::Applied,
    }
}

/// Whether nothing was sent because a circuit is open, here or in the connection.
fn was_not_sent(failure: &Failure) -> bool {
    is_open_circuit(failure.code()) && failure.attempts().is_none()
}

fn is_refusal(attempt: &Attempt) -> bool {
    is_open_circuit(&attempt.code) && !attempt.retried_inside
}

fn is_open_circuit(code: &Code) -> bool {
    code.as_str() == codes::ERR_CIRCUIT_OPEN.code
}

/// The first violation of the declared output schema, as a message.
pub(crate) fn output_violation(operation: &Operation, output: &Value) -> Option<String> {
    match operation.output_schema()? {
        Ok(schema) => {
            let checked = schema.check(&operation.spec().output_schema, output);
            checked.violations.first().map(mismatch)
        }
        Err(broken) => Some(format!("the output schema does not compile: {broken}")),
    }
}

/// Names the location and the expected value; never the actual one, since outputs are private.
fn mismatch(violation: &Violation) -> String {
    let location = match violation.pointer.as_str() {
        "" => String::new(),
        pointer => format!(" at {pointer}"),
    };
    let expected = match (&violation.expected, violation.kind) {
        (_, ViolationKind::Missing) => ": required value is missing".to_owned(),
        (Some(expected), _) => format!(": expected {expected}"),
        (None, _) => String::new(),
    };
    format!("the output does not match its declared schema{location}{expected}")
}
