//! The outcome of a key, durable before the answer.
//!
//! An outcome that could not be written is held and tried again until it is, however long the store is
//! away; the caller is told that it is not written yet when it stops waiting.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard, PoisonError};

use futures_util::future::{Either, select};
use panpan_contract::hex;
use panpan_contract::retry::Terms;
use panpan_failure::{Effect, Failure, Redacted, Repeat, codes};
use sha2::{Digest as _, Sha256};

use super::advise::Keeping;
use super::answer::{Answer, Reply};
use super::claim::{Claimed, HeldKey};
use super::perform::Performed;
use super::raised::Raised;
use super::record::answer;
use super::replayed::key_of;
use super::stamp::KEY_DETAIL;
use super::{Dispatcher, STORE_PATIENCE_MS, milliseconds_between};
use crate::json;
use crate::output::Output;
use crate::ports::Ports;
use crate::ports::{
    self, Claim, Completed, Completion, End, Fingerprint, KeptOutcome, Scope, StoreError,
};
use crate::settings::Freeze;

/// How long a store that failed is left alone before it is tried again, at first and at most.
const TRY_AGAIN_MS: u64 = 50;
const TRY_AGAIN_MS_MAX: u64 = 2000;

/// How long a caller waits at most for a store that does not take the outcome of its call.
const UNWRITTEN_PATIENCE_MS: u64 = 3000;

impl Dispatcher {
    /// Keeps the outcome of a key, then answers.
    pub(super) async fn record_keyed(&self, held: HeldKey, performed: Performed, mut reply: Reply) {
        let performed = self.frozen(performed);
        let keeping = self.keeping(&performed);
        let performed = self.concluded(performed, keeping);
        let (end, text) = self.end(&performed);
        let completion = Completion {
            lease: held.lease,
            attempts: performed.attempts(),
            end,
            without_effect: performed.is_without_effect(),
            recording: self.recording(&performed).map(Box::new),
        };
        if let Some(recording) = &completion.recording {
            self.watch_for_repeats(recording);
        }
        let (mut wait_ms, mut waited_ms) = (TRY_AGAIN_MS, 0);
        loop {
            match self.write(completion.clone(), &performed, &mut reply).await {
                Ok(completed) => {
                    self.unwritten().remove(&held.lease.scope);
                    let kept = completion.end != End::Release;
                    return reply.send(self.answer_ended(completed, kept, performed, text));
                }
                Err(error) => {
                    self.not_written(&error, &performed, waited_ms, &mut reply);
                    self.hold_back(held, &performed);
                }
            }
            self.ports().clock.sleep(wait_ms).await;
            waited_ms += wait_ms;
            wait_ms = (wait_ms * 2).min(TRY_AGAIN_MS_MAX);
            // Other gateways have to know that somebody knows the outcome. If the store does not even
            // take this, it is away for them too.
            let lease_ms = self.settings().lease_ms;
            let _ = self.ports().outcomes.extend(held.lease, lease_ms).await;
        }
    }

    fn answer_ended(
        &self,
        completed: Completed,
        is_kept: bool,
        performed: Performed,
        text: Option<Arc<str>>,
    ) -> Answer {
        let Claimed {
            operation, call, ..
        } = &performed.claimed;
        let expires_at = match completed {
            Completed::Recorded { expires_at } => expires_at,
            // It was written before, and only the word of it was lost.
            Completed::Superseded { kept: Some(kept) } if kept.call == call.id => {
                Some(kept.expires_at)
            }
            // A failure nothing is kept of stays what it is, whoever holds the key now; it may be that
            // the key was set free and only the word of it was lost.
            Completed::Superseded { kept: None } if !is_kept => None,
            Completed::Superseded { kept } => return self.superseded(kept, operation, call),
        };
        self.count(&performed);
        let mut answer = answer(performed);
        answer.expires_at = expires_at;
        // The first answer is made of the same bytes as every replay.
        if let (Ok(output), Some(text)) = (&mut answer.outcome, text) {
            *output = Output::from_text(text);
        }
        answer
    }

    /// A failure that the key keeps although its condition may pass says so: repeating the call returns it
    /// again.
    fn frozen(&self, mut performed: Performed) -> Performed {
        performed.outcome = match performed.outcome {
            Err(failure)
                if failure.retryable()
                    && self.is_final(&failure, &performed.terms, performed.began) =>
            {
                Err(failure.with_repeat(Repeat::Frozen))
            }
            outcome => outcome,
        };
        performed
    }

    fn keeping(&self, performed: &Performed) -> Keeping {
        match &performed.outcome {
            Err(failure) if self.is_final(failure, &performed.terms, performed.began) => {
                Keeping::Kept
            }
            _ => Keeping::NotKept,
        }
    }

    /// What stays of a key, and the text of the output if that is kept.
    fn end(&self, performed: &Performed) -> (End, Option<Arc<str>>) {
        let keep = |outcome| End::Keep {
            outcome,
            keep_ms: self.settings().keep_ms,
        };
        match &performed.outcome {
            Ok(output) => {
                let text = json::text(output);
                if text.len() <= self.settings().kept_output_bytes_limit {
                    (keep(KeptOutcome::Output(text.clone())), Some(text))
                } else {
                    (keep(large(&text)), Some(text))
                }
            }
            Err(failure) if self.is_final(failure, &performed.terms, performed.began) => {
                let text = self.kept_text(failure);
                (keep(KeptOutcome::Failure(text)), None)
            }
            Err(_) => (End::Release, None),
        }
    }

    /// A failure as it is kept: in full, or what everyone acts on and how much is missing.
    fn kept_text(&self, failure: &Redacted) -> Arc<str> {
        let text = canonical_text(failure);
        if text.len() <= self.settings().kept_output_bytes_limit {
            return text;
        }
        canonical_text(&shortened(failure, &text))
    }

    /// Whether a failure is the last word about its key: repeating cannot change it, or must not.
    fn is_final(&self, failure: &Redacted, terms: &Terms, began: bool) -> bool {
        let harmful = failure.effect() != Effect::None && !terms.repeatable;
        let stopped_on_purpose = failure.code().as_str() == codes::ERR_CANCELLED.code && !harmful;
        let cannot_change = !failure.retryable() && !stopped_on_purpose;
        let chosen = self.settings().freeze == Freeze::All && began;
        chosen || cannot_change || harmful
    }

    /// Has the store write; when it does not even say no, the caller is told once its time is over.
    async fn write(
        &self,
        completion: Completion,
        performed: &Performed,
        reply: &mut Reply,
    ) -> Result<Completed, StoreError> {
        let Ports {
            outcomes, clock, ..
        } = self.ports();
        let left_ms = milliseconds_between(clock.now(), performed.claimed.deadline);
        // A call that used up its time still waits for its outcome to be written.
        let time_is_over = clock.sleep(left_ms.max(STORE_PATIENCE_MS));
        match select(outcomes.complete(completion), time_is_over).await {
            Either::Left((completed, _)) => completed,
            Either::Right(((), writing)) => {
                self.tell_not_written(&StoreError::Slow, performed, reply);
                writing.await
            }
        }
    }

    /// Until it is written, the outcome is known only here: calls in this inner do not take the key
    /// over, however long ago its lease ran out.
    fn hold_back(&self, held: HeldKey, performed: &Performed) {
        let Claimed {
            operation, call, ..
        } = &performed.claimed;
        let fingerprint = || Fingerprint::of(operation.name(), &call.input);
        let mut unwritten = self.unwritten();
        unwritten
            .entry(held.lease.scope)
            .or_insert_with(fingerprint);
    }

    fn unwritten(&self) -> MutexGuard<'_, BTreeMap<Scope, Fingerprint>> {
        let unwritten = self.0.unwritten.lock();
        unwritten.unwrap_or_else(PoisonError::into_inner)
    }

    /// What a claim is told of a key whose outcome is known here and not yet written.
    pub(super) fn held_back(&self, claim: &Claim) -> Option<ports::Claimed> {
        let fingerprint = *self.unwritten().get(&claim.scope)?;
        Some(if fingerprint == claim.fingerprint {
            let remaining_ms = TRY_AGAIN_MS_MAX;
            ports::Claimed::InFlight { remaining_ms }
        } else {
            ports::Claimed::Reused
        })
    }

    /// Tells the caller when it would stop waiting before the outcome is tried to be written again, and after
    /// some seconds in any case: a disk that is full stays full for longer.
    fn not_written(
        &self,
        error: &StoreError,
        performed: &Performed,
        waited_ms: u64,
        reply: &mut Reply,
    ) {
        let deadline = performed.claimed.deadline;
        let left_ms = milliseconds_between(self.ports().clock.now(), deadline);
        let is_over = left_ms <= TRY_AGAIN_MS_MAX || waited_ms >= UNWRITTEN_PATIENCE_MS;
        if *error == StoreError::Closed || is_over {
            self.tell_not_written(error, performed, reply);
        }
    }

    fn tell_not_written(&self, error: &StoreError, performed: &Performed, reply: &mut Reply) {
        let claimed = &performed.claimed;
        let failure = Failure::new(codes::ERR_STORE_UNAVAILABLE)
            .with_message(format!(
                "the call ran, but its outcome is not written yet: {error}"
            ))
            .with_detail("reason", error.word())
            .with_detail(KEY_DETAIL, key_of(&claimed.call).as_str())
            .with_effect(Effect::Unknown);
        // Asked again with its key, the gateway answers with the outcome once it is written.
        let failure = match claimed.call.stated_key() {
            Some(_) => failure.with_repeat(Repeat::Allowed),
            None => failure,
        };
        let raised = Raised::by_gateway(failure, Some(claimed.operation.clone()))
            .privately(format!("an outcome could not be written: {error}"));
        reply.send_once(|| Answer::failed(&claimed.call, self.refusal_of(raised, &claimed.call)));
    }
}

fn large(text: &str) -> KeptOutcome {
    KeptOutcome::LargeOutput {
        digest: Sha256::digest(text).into(),
        bytes: text.len() as u64,
    }
}

/// The same occurrence without what its author put into it.
fn shortened(failure: &Redacted, text: &str) -> Redacted {
    let mut short = Failure::new(failure.kind().clone())
        .with_message("the failure was too large to be kept; the first answer had it in full")
        .with_effect(failure.effect())
        .with_detail("failure_bytes", text.len())
        .with_detail("failure_sha256", hex(&Sha256::digest(text)));
    if let Some(source) = failure.source() {
        short = short.with_source(source);
    }
    if let Some(operation) = failure.operation() {
        short = short.with_operation(operation);
    }
    if let (Some(id), Some(at)) = (failure.id(), failure.at()) {
        short = short.stamped(id, at);
    }
    short.redacted()
}

fn canonical_text(failure: &Redacted) -> Arc<str> {
    serde_json::to_string(failure)
        .expect("a failure is made of JSON")
        .into()
}
