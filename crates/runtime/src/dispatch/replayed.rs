//! The answer of a call that ran before, or that lost its key to another.

use std::sync::Arc;

use panpan_contract::hex;
use panpan_failure::{Effect, Failure, Redacted, codes};

use super::Dispatcher;
use super::advise::Keeping;
use super::answer::Answer;
use super::claim::{HeldKey, in_flight};
use super::perform::schema_broken_by;
use super::raised::Raised;
use super::request::Call;
use crate::idempotency::IdempotencyKey;
use crate::output::Output;
use crate::ports::{Kept, KeptOutcome};
use crate::registry::Operation;
use crate::tally::Way;

impl Dispatcher {
    /// The answer of a call that lost its key while it worked.
    pub(super) async fn lost(
        &self,
        held: HeldKey,
        operation: &Arc<Operation>,
        call: &Call,
    ) -> Answer {
        let kept = self.ports().outcomes.kept(held.lease.scope).await;
        self.superseded(kept.unwrap_or_default(), operation, call)
    }

    /// The answer of a call that was too slow: the outcome there is, or that somebody works on it.
    pub(super) fn superseded(
        &self,
        kept: Option<Kept>,
        operation: &Arc<Operation>,
        call: &Call,
    ) -> Answer {
        if let Some(kept) = kept {
            return self.replay(kept, operation, call);
        }
        let failure = in_flight(key_of(call), self.settings().lease_ms);
        let raised = Raised::by_gateway(failure, Some(operation.clone()));
        Answer::failed(call, self.refusal_of(raised, call))
    }

    /// The answer of a call that ran before.
    pub(super) fn replay(&self, kept: Kept, operation: &Arc<Operation>, call: &Call) -> Answer {
        let outcome = match kept.outcome {
            KeptOutcome::Output(text) => Ok(Output::from_text(text)),
            KeptOutcome::Failure(text) => match serde_json::from_str::<Failure>(&text) {
                // This caller states the key; the first call may have run under a key the gateway made.
                Ok(failure) => {
                    let failure = failure.redacted();
                    Err(self.advised(failure, Some(operation), call, Keeping::Kept))
                }
                Err(error) => Err(self.unreadable(&error.to_string(), operation, call)),
            },
            KeptOutcome::LargeOutput { digest, bytes } => {
                let failure = not_kept(operation, &hex(&digest), bytes);
                let raised = Raised::by_gateway(failure, Some(operation.clone()));
                Err(self.refusal_of(raised, call))
            }
        };
        let broken_schema = outcome.as_ref().ok();
        let broken_schema = broken_schema.and_then(|it| broken_schema_of(operation, it));
        let way = Way {
            replayed: true,
            ..Way::default()
        };
        let code = outcome.as_ref().err().map(|failure| failure.code());
        self.tally()
            .add(operation.name().as_str(), code, call.at, way, 1);
        Answer {
            call: kept.call,
            outcome,
            attempts: 0,
            replayed: true,
            as_declared: broken_schema.is_none(),
            broken_schema,
            beside: None,
            expires_at: Some(kept.expires_at),
        }
    }

    fn unreadable(&self, error: &str, operation: &Arc<Operation>, call: &Call) -> Redacted {
        let failure = Failure::new(codes::INTERNAL)
            .with_message("the recorded outcome cannot be read")
            .with_effect(Effect::Unknown);
        let cause = format!("the recorded outcome cannot be read: {error}");
        let raised = Raised::by_gateway(failure, Some(operation.clone())).privately(cause);
        self.refusal_of(raised, call)
    }
}

pub(super) fn key_of(call: &Call) -> &IdempotencyKey {
    let key = call.key.as_ref();
    key.expect("only a call with a key holds a lease")
}

/// Looks into a recorded output only where a schema was declared.
fn broken_schema_of(operation: &Operation, output: &Output) -> Option<String> {
    let _declared = operation.output_schema()?;
    match output.clone().into_value() {
        Ok(output) => schema_broken_by(operation, &output),
        Err(_) => Some("the recorded output cannot be read".to_owned()),
    }
}

fn not_kept(operation: &Operation, digest: &str, bytes: u64) -> Failure {
    Failure::new(codes::ERR_OUTCOME_TOO_LARGE)
        .with_message(format!(
            "operation {} succeeded; its output of {bytes} bytes was too large to be kept",
            operation.name()
        ))
        .with_detail("output_bytes", bytes)
        .with_detail("output_sha256", digest)
}
