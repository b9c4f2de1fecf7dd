//! The only loop of the dispatcher: attempt, stamp, redact, settle, decide, and perhaps again.

use std::sync::Arc;

use jiff::Timestamp;
use panpan_contract::operation::{OperationType, Outputs};
use panpan_contract::recording::{Decided, Step};
use panpan_contract::retry::{Attempt, Decision, Terms, Waiting};
use panpan_failure::{Code, Effect, Failure, Redacted, Violation, ViolationKind, codes};
use serde_json::Value;

use super::attempt::{Attempted, attempt, cancelled, leave, worse};
use super::circuit::circuit_open;
use super::claim::Claimed;
use super::raised::Raised;
use super::request::Held;
use super::validate::patient_until;
use super::{Dispatcher, later, milliseconds_between};
use crate::ports::{Fingerprint, Scope};
use crate::registry::Operation;
use crate::retry::{Behind, Pass, Verdict, decide};

/// How much time an attempt that repeats another has at least.
const REPEAT_MS_MIN: u64 = 500;

/// A call whose last attempt is over.
pub(super) struct Performed {
    pub(super) claimed: Claimed,
    pub(super) outcome: Result<Arc<Value>, Redacted>,
    /// Attempts its owner brought along.
    pub(super) earlier: Vec<Attempt>,
    pub(super) steps: Vec<Step>,
    pub(super) terms: Terms,
    pub(super) seed: Option<i64>,
    /// When whoever waits durably should come again.
    pub(super) again_at: Option<Timestamp>,
    /// Whether the output fits the schema that was declared for it.
    pub(super) as_declared: bool,
    /// Whether the handler was called.
    pub(super) began: bool,
    /// How many attempts reached for the service.
    pub(super) made: u32,
    _made_here: (),
}

/// Runs a call until there is an outcome, waiting between attempts.
pub(super) async fn perform(dispatcher: &Dispatcher, claimed: Claimed) -> Performed {
    let held = Held {
        history: Vec::new(),
        scope: claimed.scope(),
    };
    run(dispatcher, claimed, held, Waiting::Inline).await
}

/// Runs one attempt of a call whose owner waits between attempts.
pub(super) async fn perform_once(
    dispatcher: &Dispatcher,
    claimed: Claimed,
    held: Held,
) -> Performed {
    run(dispatcher, claimed, held, Waiting::Durable).await
}

async fn run(dispatcher: &Dispatcher, claimed: Claimed, held: Held, waiting: Waiting) -> Performed {
    let mut course = Course::new(dispatcher, &claimed, held, waiting);
    let outcome = course.run().await;
    let ran = course.end();
    Performed {
        claimed,
        outcome,
        earlier: ran.earlier,
        steps: ran.steps,
        terms: ran.terms,
        seed: ran.seed,
        again_at: ran.again_at,
        as_declared: ran.as_declared,
        began: ran.began,
        made: ran.made,
        _made_here: (),
    }
}

impl Performed {
    /// An outcome that needed no attempt: it was found out in another way.
    pub(super) fn without_attempt(
        claimed: Claimed,
        terms: Terms,
        outcome: Result<Arc<Value>, Redacted>,
    ) -> Self {
        let broken = |output: &Arc<Value>| schema_broken_by(&claimed.operation, output).is_some();
        Self {
            as_declared: !outcome.as_ref().is_ok_and(broken),
            claimed,
            outcome,
            earlier: Vec::new(),
            steps: Vec::new(),
            terms,
            seed: None,
            again_at: None,
            began: false,
            made: 0,
            _made_here: (),
        }
    }

    /// Whether nothing happened: it failed without an effect, or it only reads.
    pub(super) fn is_without_effect(&self) -> bool {
        match &self.outcome {
            Ok(_) => self.claimed.operation.spec().op_type == OperationType::Query,
            Err(failure) => failure.effect() == Effect::None,
        }
    }

    /// How many attempts were made, those of earlier calls with the same key included.
    pub(super) fn attempts(&self) -> u32 {
        self.claimed.attempts_before().saturating_add(self.made)
    }
}

/// What was agreed about repeating this call.
pub(super) fn terms(claimed: &Claimed, waiting: Waiting) -> Terms {
    let Claimed {
        operation, call, ..
    } = claimed;
    let is_inline = waiting == Waiting::Inline;
    // A caller that says itself how to retry has said how long it waits.
    let stated = call.steering.policy;
    let is_patient = is_inline && stated.is_none();
    Terms {
        policy: stated.or(operation.spec().retry),
        categories: operation.spec().retry_categories,
        repeatable: claimed.is_repeatable(),
        deadline: is_inline.then_some(claimed.deadline),
        patient_until: is_patient.then(|| patient_until(operation, call)),
        waiting,
    }
}

/// What a course leaves behind beside its outcome.
struct Ran {
    earlier: Vec<Attempt>,
    steps: Vec<Step>,
    terms: Terms,
    seed: Option<i64>,
    again_at: Option<Timestamp>,
    as_declared: bool,
    began: bool,
    made: u32,
}

enum Turn {
    Ended(Result<Arc<Value>, Redacted>),
    Again { delay_ms: u64, after: Redacted },
}

/// One call between its first attempt and its outcome.
struct Course<'a> {
    dispatcher: &'a Dispatcher,
    claimed: &'a Claimed,
    scope: Option<Scope>,
    terms: Terms,
    seed: Option<i64>,
    /// How many of the attempts in the history were made before this course began.
    brought: usize,
    history: Vec<Attempt>,
    steps: Vec<Step>,
    again_at: Option<Timestamp>,
    as_declared: bool,
    began: bool,
    made: u32,
    /// The last failure that was more than the refusal of a circuit.
    last: Option<Redacted>,
    pass: Option<Pass<'a>>,
}

impl<'a> Course<'a> {
    fn new(dispatcher: &'a Dispatcher, claimed: &'a Claimed, held: Held, waiting: Waiting) -> Self {
        let begin = |behind: &'a Behind| behind.begin(dispatcher.ports().clock.now());
        Self {
            dispatcher,
            claimed,
            scope: held.scope,
            terms: terms(claimed, waiting),
            seed: claimed.call.retry_seed,
            brought: held.history.len(),
            history: held.history,
            steps: Vec::new(),
            again_at: None,
            as_declared: true,
            began: false,
            made: 0,
            last: None,
            pass: claimed.operation.behind().map(begin),
        }
    }

    /// Goes on until there is an outcome.
    async fn run(&mut self) -> Result<Arc<Value>, Redacted> {
        loop {
            match self.step().await {
                Turn::Ended(outcome) => return outcome,
                Turn::Again { delay_ms, after } => self.wait(delay_ms, &after).await?,
            }
        }
    }

    /// The circuits learn how it ended.
    fn end(mut self) -> Ran {
        self.history.truncate(self.brought);
        Ran {
            earlier: self.history,
            steps: self.steps,
            terms: self.terms,
            seed: self.seed,
            again_at: self.again_at,
            as_declared: self.as_declared,
            began: self.began,
            made: self.made,
        }
    }

    async fn step(&mut self) -> Turn {
        let started_at = self.now();
        let leave = match leave(self.claimed, self.effect_so_far(), started_at, self.until()) {
            Ok(leave) => leave,
            Err(raised) => {
                let failure = self.finish(raised);
                return self.failed(failure, started_at);
            }
        };
        // Asked last: a trial that is granted has to take place.
        if let Some(refusal) = self.refusal(started_at) {
            let failure = self.finish(refusal);
            return self.refused(failure, started_at);
        }
        self.began = true;
        self.made = self.made.saturating_add(1);
        let number = self.number() - 1;
        let Attempted { result, verdict } =
            attempt(self.dispatcher, self.claimed, leave, number, self.scope).await;
        match result.and_then(|output| self.held_against_its_schema(output)) {
            Ok(output) => {
                let ended_at = self.now();
                self.saw(verdict, None, ended_at);
                self.steps.push(Step {
                    started_at,
                    ended_at,
                    failed: None,
                    decided: None,
                });
                Turn::Ended(Ok(output))
            }
            Err(raised) => {
                let failure = self.finish(raised);
                if self.pass.is_some() {
                    self.saw(verdict, Some(&failure), self.now());
                }
                if was_not_sent(&failure) {
                    self.made -= 1;
                } else {
                    self.last = Some(failure.clone());
                }
                self.failed(failure, started_at)
            }
        }
    }

    /// When an attempt that repeats another has to end: its caller is told of the failure there is while
    /// it still waits. The first attempt has all the time of its operation.
    fn until(&self) -> Option<Timestamp> {
        let repeats = self.made > 0 && self.claimed.is_repeatable();
        let until = self.terms.patient_until.filter(|_| repeats)?;
        Some(until.max(later(self.now(), REPEAT_MS_MIN)))
    }

    /// Whether a circuit keeps the attempt from taking place.
    fn refusal(&mut self, now: Timestamp) -> Option<Raised> {
        let refused = self.pass.as_mut()?.permit(now).err()?;
        let Claimed {
            operation, call, ..
        } = self.claimed;
        let failure = circuit_open(operation, operation.behind()?, call, refused)
            .with_effect(self.effect_so_far());
        Some(Raised::by_gateway(failure, Some(operation.clone())))
    }

    /// Tells the circuits what an attempt told.
    fn saw(&mut self, verdict: Verdict, failure: Option<&Redacted>, at: Timestamp) {
        let caller = self.claimed.call.caller.as_ref();
        if let Some(pass) = &mut self.pass {
            pass.saw(verdict, failure, caller.map(|it| it.id.as_str()), at);
        }
    }

    /// An output that breaks its schema is delivered all the same, unless its operation is strict.
    fn held_against_its_schema(&mut self, output: Arc<Value>) -> Result<Arc<Value>, Raised> {
        let Claimed {
            operation, call, ..
        } = self.claimed;
        let Some(cause) = schema_broken_by(operation, &output) else {
            return Ok(output);
        };
        let outputs = operation.spec().outputs;
        let is_strict = outputs.map_or(self.dispatcher.settings().strict, |it| {
            it == Outputs::Strict
        });
        if is_strict {
            let failure = Failure::new(codes::ERR_OUTPUT_INVALID)
                .with_message(cause.clone())
                .with_effect(effect_when_done(operation));
            return Err(Raised::by_gateway(failure, Some(operation.clone())).privately(cause));
        }
        let log = &self.dispatcher.ports().log;
        log.note(call.id, operation.name().as_str(), &cause);
        self.as_declared = false;
        Ok(output)
    }

    fn finish(&self, raised: Raised) -> Redacted {
        self.dispatcher.finish(raised, &self.claimed.call)
    }

    fn failed(&mut self, failure: Redacted, started_at: Timestamp) -> Turn {
        let ended_at = self.now();
        let failed = Attempt {
            took_ms: milliseconds_between(started_at, ended_at),
            ..Attempt::of(&failure)
        };
        self.after(failed, failure, started_at, ended_at)
    }

    fn refused(&mut self, failure: Redacted, started_at: Timestamp) -> Turn {
        let refused = Attempt {
            refused_by_circuit: true,
            ..Attempt::of(&failure)
        };
        self.after(refused, failure, started_at, started_at)
    }

    fn after(
        &mut self,
        failed: Attempt,
        failure: Redacted,
        started_at: Timestamp,
        ended_at: Timestamp,
    ) -> Turn {
        self.history.push(failed.clone());
        let decided = self.decide(&failed, ended_at);
        self.steps.push(Step {
            started_at,
            ended_at,
            failed: Some(failed),
            decided: Some(decided),
        });
        match decided.decision {
            Decision::Answer(_) => Turn::Ended(Err(self.summed_up(failure))),
            Decision::Later(at) => {
                self.again_at = Some(at);
                Turn::Ended(Err(failure))
            }
            Decision::Again { delay_ms } => Turn::Again {
                delay_ms,
                after: failure,
            },
        }
    }

    /// The last failure as the outcome of all attempts, with what an earlier one may have left behind and
    /// how often it was tried, by this gateway or one behind it: a gateway in front does not decide about
    /// that again. A circuit that opened meanwhile hides no failure of this call.
    fn summed_up(&mut self, failure: Redacted) -> Redacted {
        let last = self.last.take().filter(|_| was_not_sent(&failure));
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
            None => failure.with_attempts(self.number() - 1),
        }
    }

    fn decide(&mut self, failed: &Attempt, now: Timestamp) -> Decided {
        let seed = self.seed();
        let mut budget = None;
        let ask = || {
            let allows = self.budget_allows(failed, now);
            budget = Some(allows);
            allows
        };
        let decision = decide(&self.history, now, seed, self.terms, ask);
        Decided {
            at: now,
            budget,
            decision,
        }
    }

    /// An attempt that an open circuit kept from taking place costs nothing.
    fn budget_allows(&self, failed: &Attempt, now: Timestamp) -> bool {
        let free = is_open_circuit(&failed.code);
        let behind = self.claimed.operation.behind().filter(|_| !free);
        behind.is_none_or(|behind| behind.take_retry(now))
    }

    /// Waits, and says so; an abort in between is the end.
    async fn wait(&self, delay_ms: u64, after: &Redacted) -> Result<(), Redacted> {
        if let Some(progress) = &self.claimed.call.progress {
            let (number, code) = (self.number(), after.code());
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
        let raised = Raised::by_gateway(cancelled, Some(operation.clone()));
        Err(self.finish(raised))
    }

    /// What the attempts left behind, all together.
    fn effect_so_far(&self) -> Effect {
        let effects = self.history.iter().map(|attempt| attempt.effect);
        effects.fold(self.claimed.effect_before(), worse)
    }

    /// The number of the next attempt. Those that a circuit refused are not counted: the service did not
    /// see them.
    fn number(&self) -> u32 {
        let brought = self.history.iter().take(self.brought);
        let brought = brought.filter(|attempt| !is_refusal(attempt)).count();
        let brought = u32::try_from(brought).unwrap_or(u32::MAX);
        let earlier = self.claimed.attempts_before().saturating_add(brought);
        earlier.saturating_add(self.made).saturating_add(1)
    }

    /// Drawn when the first failure asks for it.
    fn seed(&mut self) -> i64 {
        let Claimed {
            operation, call, ..
        } = self.claimed;
        *self.seed.get_or_insert_with(|| {
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

/// What an operation that answered has done.
fn effect_when_done(operation: &Operation) -> Effect {
    match operation.spec().op_type {
        OperationType::Query => Effect::None,
        OperationType::Mutation | OperationType::Subscription => Effect::Applied,
    }
}

/// Whether a failure says that nothing was sent, because a circuit is open here or in the connection.
fn was_not_sent(failure: &Failure) -> bool {
    is_open_circuit(failure.code()) && failure.attempts().is_none()
}

fn is_refusal(attempt: &Attempt) -> bool {
    is_open_circuit(&attempt.code) && !attempt.retried_inside
}

fn is_open_circuit(code: &Code) -> bool {
    code.as_str() == codes::ERR_CIRCUIT_OPEN.code
}

/// What an output does wrong about the schema that was declared for it, and where it does so first.
pub(super) fn schema_broken_by(operation: &Operation, output: &Value) -> Option<String> {
    match operation.output_schema()? {
        Ok(schema) => {
            let checked = schema.check(&operation.spec().output_schema, output);
            checked.violations.first().map(unfit_at)
        }
        Err(broken) => Some(format!("the output schema does not compile: {broken}")),
    }
}

const UNFIT: &str = "the output does not fit its declared schema";

/// Where an output does not fit and what would; never what is there, since outputs are private.
fn unfit_at(violation: &Violation) -> String {
    let place = match violation.pointer.as_str() {
        "" => String::new(),
        pointer => format!(" at {pointer}"),
    };
    let expected = match (&violation.expected, violation.kind) {
        (_, ViolationKind::Missing) => ": required value is missing".to_owned(),
        (Some(expected), _) => format!(": expected {expected}"),
        (None, _) => String::new(),
    };
    format!("{UNFIT}{place}{expected}")
}
