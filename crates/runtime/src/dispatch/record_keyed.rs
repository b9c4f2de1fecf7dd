//! Stage record for calls with a key: the outcome is durable before the caller gets it.
//!
//! A write that fails is retried until it succeeds, however long the store is unavailable. A caller that
//! stops waiting gets ERR_STORE_UNAVAILABLE, which says that the outcome is not stored yet.

use std::sync::Arc;

use futures_util::future::{Either, select};
use panpan_contract::hex;
use panpan_failure::{Effect, Failure, Redacted, Repeat, codes};
use sha2::{Digest as _, Sha256};

use super::advise::Retention;
use super::answer::{Answer, Reply};
use super::attempt_loop::Finished;
use super::claim::HeldKey;
use super::raised::Raised;
use super::record::answer;
use super::replay::key_of;
use super::settle::with_stamp_of;
use super::stamp::KEY_DETAIL;
use super::{Dispatcher, STORE_PATIENCE_MS};
use crate::json;
use crate::lock::lock;
use crate::output::Output;
use crate::ports::{
    self, Claim, Completed, Completion, End, Fingerprint, KeptOutcome, Ports, StoreError,
};
use crate::time::milliseconds_between;

/// The first and the longest delay before a failed write is retried.
const RETRY_WRITE_MS: u64 = 50;
const RETRY_WRITE_MS_MAX: u64 = 2000;

/// The longest time that a caller waits for its outcome to be written.
const UNWRITTEN_PATIENCE_MS: u64 = 3000;

impl Dispatcher {
    /// Stores the outcome of a key, then answers.
    pub(super) async fn record_keyed(&self, held: HeldKey, finished: Finished, mut reply: Reply) {
        let (finished, retention) = Self::mark_frozen(finished);
        let finished = self.with_advice(finished, retention);
        let (end, text) = self.end_of(&finished);
        let completion = Completion {
            lease: held.lease,
            attempts: finished.attempts(),
            end,
            without_effect: finished.is_without_effect(),
            recording: self.recording(&finished).map(Box::new),
        };
        if let Some(recording) = &completion.recording {
            self.track_repeats(recording);
        }
        let (mut wait_ms, mut waited_ms) = (RETRY_WRITE_MS, 0);
        loop {
            match self.write(completion.clone(), &finished, &mut reply).await {
                Ok(completed) => {
                    lock(&self.0.unwritten).remove(&held.lease.scope);
                    let kept = completion.end != End::Release;
                    return reply.send(self.answer_completed(completed, kept, finished, text));
                }
                Err(error) => {
                    self.answer_if_late(&error, &finished, waited_ms, &mut reply);
                    self.mark_unwritten(held, &finished);
                }
            }
            self.ports().clock.sleep(wait_ms).await;
            waited_ms += wait_ms;
            wait_ms = (wait_ms * 2).min(RETRY_WRITE_MS_MAX);
            // Other gateways must not take the key over. If the store does not accept this either, it is
            // unavailable to them too.
            let lease_ms = self.0.settings.lease_ms;
            let _ = self.ports().outcomes.extend(held.lease, lease_ms).await;
        }
    }

    fn answer_completed(
        &self,
        completed: Completed,
        is_kept: bool,
        finished: Finished,
        text: Option<Arc<str>>,
    ) -> Answer {
        let (operation, call) = (&finished.claimed.operation, &finished.claimed.call);
        let expires_at = match completed {
            Completed::Recorded { expires_at } => expires_at,
            // It was written before, but the confirmation was lost.
            Completed::Superseded { kept: Some(kept) } if kept.call == call.id => {
                Some(kept.expires_at)
            }
            // A failure that the key does not keep is answered even if another call holds the key now.
            // Perhaps the key was released and the confirmation was lost.
            Completed::Superseded { kept: None } if !is_kept => None,
            Completed::Superseded { kept } => return self.superseded(kept, operation, call),
        };
        self.count_finished(&finished);
        let mut answer = answer(finished);
        answer.expires_at = expires_at;
        // The first answer has the same bytes as every replay.
        if let (Ok(output), Some(text)) = (&mut answer.outcome, text) {
            *output = Output::from_text(text);
        }
        answer
    }

    /// Marks a retryable failure that the key keeps: repeating the call returns it again.
    fn mark_frozen(mut finished: Finished) -> (Finished, Retention) {
        let is_kept = finished.is_kept_failure();
        finished.outcome = finished
            .outcome
            .map_err(|failure| match failure.retryable() {
                true if is_kept => failure.with_repeat(Repeat::Frozen),
                _ => failure,
            });
        let retention = match is_kept {
            true => Retention::Kept,
            false => Retention::NotKept,
        };
        (finished, retention)
    }

    /// The final state of the key, and the text of the output if it is stored.
    fn end_of(&self, finished: &Finished) -> (End, Option<Arc<str>>) {
        let keep = |outcome| End::Keep {
            outcome,
            keep_ms: self.0.settings.keep_ms,
        };
        match &finished.outcome {
            Ok(output) => {
                let text = json::text(output);
                if text.len() <= self.0.settings.kept_output_bytes_limit {
                    (keep(KeptOutcome::Output(text.clone())), Some(text))
                } else {
                    (keep(large(&text)), Some(text))
                }
            }
            Err(failure) if finished.is_kept_failure() => {
                let text = self.kept_text(failure);
                (keep(KeptOutcome::Failure(text)), None)
            }
            Err(_) => (End::Release, None),
        }
    }

    /// A failure as it is stored: in full, or shortened if it is too large.
    fn kept_text(&self, failure: &Redacted) -> Arc<str> {
        let text = canonical_text(failure);
        if text.len() <= self.0.settings.kept_output_bytes_limit {
            return text;
        }
        canonical_text(&shortened(failure, &text))
    }

    /// Writes the outcome. If the store does not answer by the deadline, the caller gets a failure and the
    /// write continues.
    async fn write(
        &self,
        completion: Completion,
        finished: &Finished,
        reply: &mut Reply,
    ) -> Result<Completed, StoreError> {
        let Ports {
            outcomes, clock, ..
        } = self.ports();
        let left_ms = milliseconds_between(clock.now(), finished.claimed.deadline);
        // A call at its deadline still waits for its outcome to be written.
        let deadline = clock.sleep(left_ms.max(STORE_PATIENCE_MS));
        match select(outcomes.complete(completion), deadline).await {
            Either::Left((completed, _)) => completed,
            Either::Right(((), writing)) => {
                self.answer_not_written(&StoreError::Slow, finished, reply);
                writing.await
            }
        }
    }

    /// Until the outcome is written, only this process knows it: its calls do not take the key over, even
    /// after the lease expired.
    fn mark_unwritten(&self, held: HeldKey, finished: &Finished) {
        let (operation, call) = (&finished.claimed.operation, &finished.claimed.call);
        let fingerprint = || Fingerprint::of(operation.name(), &call.input);
        let mut unwritten = lock(&self.0.unwritten);
        unwritten
            .entry(held.lease.scope)
            .or_insert_with(fingerprint);
    }

    /// The answer to a claim of a key whose outcome is known but not written yet.
    pub(super) fn unwritten_claim(&self, claim: &Claim) -> Option<ports::Claimed> {
        let fingerprint = *lock(&self.0.unwritten).get(&claim.scope)?;
        Some(if fingerprint == claim.fingerprint {
            let remaining_ms = RETRY_WRITE_MS_MAX;
            ports::Claimed::InFlight { remaining_ms }
        } else {
            ports::Claimed::Reused
        })
    }

    /// Answers the caller if its deadline comes before the next write, or after a few seconds: a full disk
    /// usually stays full for longer.
    fn answer_if_late(
        &self,
        error: &StoreError,
        finished: &Finished,
        waited_ms: u64,
        reply: &mut Reply,
    ) {
        let deadline = finished.claimed.deadline;
        let left_ms = milliseconds_between(self.ports().clock.now(), deadline);
        let is_over = left_ms <= RETRY_WRITE_MS_MAX || waited_ms >= UNWRITTEN_PATIENCE_MS;
        if *error == StoreError::Closed || is_over {
            self.answer_not_written(error, finished, reply);
        }
    }

    fn answer_not_written(&self, error: &StoreError, finished: &Finished, reply: &mut Reply) {
        let claimed = &finished.claimed;
        let failure = Failure::new(codes::ERR_STORE_UNAVAILABLE)
            .with_message(format!(
                "the call ran, but its outcome is not stored yet: {error}"
            ))
            .with_detail("reason", error.word())
            .with_detail(KEY_DETAIL, key_of(&claimed.call).as_str())
            .with_effect(Effect::Unknown);
        // Repeating the call with its key returns the outcome once it is written.
        let failure = match claimed.call.caller_key() {
            Some(_) => failure.with_repeat(Repeat::Allowed),
            None => failure,
        };
        let raised = Raised::by_gateway(failure, &claimed.operation)
            .with_private_cause(format!("outcome not written: {error}"));
        let call = &claimed.call;
        reply.send_once(|| Answer::new(call.id, Err(self.refusal_of(raised, call))));
    }
}

impl Finished {
    /// Whether the key keeps its failure, because repeating the call cannot or must not change it.
    fn is_kept_failure(&self) -> bool {
        self.outcome.as_ref().is_err_and(|failure| {
            let harmful = failure.effect() != Effect::None && !self.ran.terms.repeatable;
            let cancelled = failure.code().as_str() == codes::ERR_CANCELLED.code;
            harmful || !(failure.retryable() || cancelled)
        })
    }
}

fn large(text: &str) -> KeptOutcome {
    KeptOutcome::LargeOutput {
        digest: Sha256::digest(text).into(),
        bytes: text.len() as u64,
    }
}

/// The same failure without its message and details.
fn shortened(failure: &Redacted, text: &str) -> Redacted {
    let short = Failure::new(failure.kind().clone())
        .with_message("the failure was too large to store; the first response had it in full")
        .with_effect(failure.effect())
        .with_detail("failure_bytes", text.len())
        .with_detail("failure_sha256", hex(&Sha256::digest(text)));
    with_stamp_of(short, failure).redacted()
}

fn canonical_text(failure: &Redacted) -> Arc<str> {
    serde_json::to_string(failure)
        .expect("a failure is made of JSON")
        .into()
}
