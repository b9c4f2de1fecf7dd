//! Answers from the store: the replay of an earlier outcome, and the answer of a call that lost its key.

use std::sync::Arc;

use panpan_contract::hex;
use panpan_failure::{Effect, Failure, Redacted, codes};

use super::advise::Retention;
use super::answer::Answer;
use super::attempt_loop::output_violation;
use super::claim::{HeldKey, in_flight};
use super::raised::Raised;
use super::request::Call;
use super::{Dispatcher, ONE_CALL};
use crate::idempotency::IdempotencyKey;
use crate::output::Output;
use crate::ports::{Calls, Kept, KeptOutcome};
use crate::registry::Operation;

impl Dispatcher {
    /// The answer of a call that lost its lease while it ran.
    pub(super) async fn lost(
        &self,
        held: HeldKey,
        operation: &Arc<Operation>,
        call: &Call,
    ) -> Answer {
        let kept = self.ports().outcomes.kept(held.lease.scope).await;
        self.superseded(kept.unwrap_or_default(), operation, call)
    }

    /// The answer of a call whose key was taken over: the recorded outcome, or ERR_IDEMPOTENCY_IN_FLIGHT.
    pub(super) fn superseded(
        &self,
        kept: Option<Kept>,
        operation: &Arc<Operation>,
        call: &Call,
    ) -> Answer {
        if let Some(kept) = kept {
            return self.replay(kept, operation, call);
        }
        let failure = in_flight(key_of(call), self.0.settings.lease_ms);
        let raised = Raised::by_gateway(failure, operation);
        Answer::new(call.id, Err(self.refusal_of(raised, call)))
    }

    /// Answers with a recorded outcome.
    pub(super) fn replay(&self, kept: Kept, operation: &Arc<Operation>, call: &Call) -> Answer {
        let outcome = match kept.outcome {
            KeptOutcome::Output(text) => Ok(Output::from_text(text)),
            KeptOutcome::Failure(text) => match serde_json::from_str::<Failure>(&text) {
                // Advised again: this caller sent the key, but the first call may have had a generated one.
                Ok(failure) => {
                    let failure = failure.redacted();
                    Err(self.advise(failure, Some(operation), call, Retention::Replayed))
                }
                Err(error) => Err(self.unreadable(&error.to_string(), operation, call)),
            },
            KeptOutcome::LargeOutput { digest, bytes } => {
                let failure = not_kept(operation, &hex(&digest), bytes);
                let raised = Raised::by_gateway(failure, operation);
                Err(self.refusal_of(raised, call))
            }
        };
        let schema_violation = outcome.as_ref().ok();
        let schema_violation =
            schema_violation.and_then(|it| recorded_schema_violation(operation, it));
        let calls = Calls {
            replayed: 1,
            ..ONE_CALL
        };
        let code = outcome.as_ref().err().map(|failure| failure.code());
        self.count(operation.name().as_str(), code, call.at, calls);
        Answer {
            replayed: true,
            schema_violation,
            expires_at: Some(kept.expires_at),
            ..Answer::new(kept.call, outcome)
        }
    }

    fn unreadable(&self, error: &str, operation: &Arc<Operation>, call: &Call) -> Redacted {
        let failure = Failure::new(codes::INTERNAL)
            .with_message("the recorded outcome cannot be read")
            .with_effect(Effect::Unknown);
        let cause = format!("the recorded outcome cannot be read: {error}");
        let raised = Raised::by_gateway(failure, operation).with_private_cause(cause);
        self.refusal_of(raised, call)
    }
}

pub(super) fn key_of(call: &Call) -> &IdempotencyKey {
    let key = call.key.as_ref();
    key.expect("only a call with a key holds a lease")
}

/// Reads a recorded output only if a schema was declared.
fn recorded_schema_violation(operation: &Operation, output: &Output) -> Option<String> {
    let _declared = operation.output_schema()?;
    match output.clone().into_value() {
        Ok(output) => output_violation(operation, &output),
        Err(_) => Some("the recorded output cannot be read".to_owned()),
    }
}

fn not_kept(operation: &Operation, digest: &str, bytes: u64) -> Failure {
    Failure::new(codes::ERR_OUTCOME_TOO_LARGE)
        .with_message(format!(
            "operation {} succeeded; its output of {bytes} bytes was too large to store",
            operation.name()
        ))
        .with_detail("output_bytes", bytes)
        .with_detail("output_sha256", digest)
}
