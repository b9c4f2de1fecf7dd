//! The only loop of the house: attempt, stamp, redact, settle, decide, and perhaps again.

use std::sync::Arc;

use jiff::Timestamp;
use panpan_contract::operation::OperationType;
use panpan_contract::recording::{Decided, Step};
use panpan_contract::retry::{Attempt, Decision, Terms, Waiting};
use panpan_contract::{Effect, Failure, Redacted, codes};
use serde_json::Value;

use super::Dispatcher;
use super::attempt::{attempt, cancelled, effect_when_cut, leave, stopped_by_a_defect, worse};
use super::claim::Claimed;
use super::raised::Raised;
use super::request::Held;
use crate::ports::{Fingerprint, Scope};
use crate::registry::Operation;
use crate::retry::decide;

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
    let outcome = loop {
        match course.step().await {
            Turn::Ended(outcome) => break outcome,
            Turn::Again => {}
        }
    };
    let Course {
        steps,
        terms,
        seed,
        again_at,
        as_declared,
        began,
        brought,
        mut history,
        ..
    } = course;
    history.truncate(brought);
    Performed {
        claimed,
        outcome,
        earlier: history,
        steps,
        terms,
        seed,
        again_at,
        as_declared,
        began,
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
        let now = u32::try_from(self.steps.len()).unwrap_or(u32::MAX);
        self.claimed.attempts_before().saturating_add(now)
    }
}

/// What was agreed about repeating this call.
pub(super) fn terms(claimed: &Claimed, waiting: Waiting) -> Terms {
    Terms {
        policy: claimed
            .call
            .steering
            .policy
            .or(claimed.operation.spec().retry),
        repeatable: claimed.is_repeatable(),
        deadline: (waiting == Waiting::Inline).then_some(claimed.deadline),
        waiting,
    }
}

enum Turn {
    Ended(Result<Arc<Value>, Redacted>),
    Again,
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
}

impl<'a> Course<'a> {
    fn new(dispatcher: &'a Dispatcher, claimed: &'a Claimed, held: Held, waiting: Waiting) -> Self {
        if let Some(upstream) = claimed.operation.upstream() {
            upstream.called(dispatcher.world().clock.now());
        }
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
        }
    }

    async fn step(&mut self) -> Turn {
        let started_at = self.now();
        let leave = match leave(self.claimed, self.effect_so_far(), started_at) {
            Ok(leave) => leave,
            Err(raised) => {
                let failure = self.finish(raised);
                return self.failed(failure, started_at).await;
            }
        };
        self.began = true;
        let number = self.number();
        let result = attempt(self.dispatcher, self.claimed, leave, number, self.scope).await;
        match result.and_then(|output| self.held_against_its_schema(output)) {
            Ok(output) => {
                self.steps.push(Step {
                    started_at,
                    ended_at: self.now(),
                    failed: None,
                    decided: None,
                });
                Turn::Ended(Ok(output))
            }
            Err(raised) => {
                let failure = self.finish(raised);
                self.failed(failure, started_at).await
            }
        }
    }

    /// An output that breaks its schema is still the best there is, unless somebody wants it strict.
    fn held_against_its_schema(&mut self, output: Arc<Value>) -> Result<Arc<Value>, Raised> {
        let Claimed {
            operation, call, ..
        } = self.claimed;
        let Some(cause) = schema_broken_by(operation, &output) else {
            return Ok(output);
        };
        if self.dispatcher.settings().strict {
            let failure = Failure::new(codes::INTERNAL)
                .with_message(stopped_by_a_defect(operation))
                .with_effect(effect_when_cut(operation));
            return Err(Raised::by_gateway(failure, Some(operation.clone())).privately(cause));
        }
        let log = &self.dispatcher.world().log;
        log.note(call.id, operation.name().as_str(), &cause);
        self.as_declared = false;
        Ok(output)
    }

    fn finish(&self, raised: Raised) -> Redacted {
        self.dispatcher.finish(raised, &self.claimed.call)
    }

    async fn failed(&mut self, failure: Redacted, started_at: Timestamp) -> Turn {
        let failed = Attempt::of(&failure);
        self.history.push(failed.clone());
        let decided = self.decide(&failed);
        self.steps.push(Step {
            started_at,
            ended_at: decided.at,
            failed: Some(failed),
            decided: Some(decided),
        });
        match decided.decision {
            Decision::Answer(_) => Turn::Ended(Err(self.summed_up(failure))),
            Decision::Later(at) => {
                self.again_at = Some(at);
                Turn::Ended(Err(failure))
            }
            Decision::Again { delay_ms } => self.wait(delay_ms).await,
        }
    }

    /// The last failure as the outcome of all attempts: what an earlier one may have left behind is
    /// still there, and how often it was tried is told, whoever tried it: nobody in front of this has to
    /// decide about that once more.
    fn summed_up(&self, failure: Redacted) -> Redacted {
        let failure = failure.with_effect(self.effect_so_far());
        match failure.attempts() {
            Some(_) => failure,
            None => failure.with_attempts(self.number() - 1),
        }
    }

    fn decide(&mut self, failed: &Attempt) -> Decided {
        let now = self.now();
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
        let free = failed.code.as_str() == codes::ERR_CIRCUIT_OPEN.code;
        let upstream = self.claimed.operation.upstream().filter(|_| !free);
        upstream.is_none_or(|upstream| upstream.take_retry(now))
    }

    /// Waits; an abort in between is the end.
    async fn wait(&self, delay_ms: u64) -> Turn {
        let sleep = self.dispatcher.world().clock.sleep(delay_ms);
        let Some(abort) = &self.claimed.call.abort else {
            sleep.await;
            return Turn::Again;
        };
        if abort.run_until_cancelled(sleep).await.is_some() {
            return Turn::Again;
        }
        let operation = &self.claimed.operation;
        let cancelled = cancelled(operation, self.effect_so_far());
        let raised = Raised::by_gateway(cancelled, Some(operation.clone()));
        Turn::Ended(Err(self.finish(raised)))
    }

    /// What the attempts left behind, all together.
    fn effect_so_far(&self) -> Effect {
        let effects = self.history.iter().map(|attempt| attempt.effect);
        effects.fold(Effect::None, worse)
    }

    /// The number of the attempt that is about to be made.
    fn number(&self) -> u32 {
        let made = u32::try_from(self.history.len()).unwrap_or(u32::MAX);
        let earlier = self.claimed.attempts_before();
        earlier.saturating_add(made).saturating_add(1)
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
                self.dispatcher.world().ids.new_seed()
            }
        })
    }

    fn now(&self) -> Timestamp {
        self.dispatcher.world().clock.now()
    }
}

/// What an output does wrong about the schema that was declared for it.
pub(super) fn schema_broken_by(operation: &Operation, output: &Value) -> Option<String> {
    match operation.output_schema()? {
        Ok(schema) if schema.accepts(output) => None,
        Ok(_) => Some("the output does not fit its declared schema".to_owned()),
        Err(broken) => Some(format!("the output schema does not compile: {broken}")),
    }
}
