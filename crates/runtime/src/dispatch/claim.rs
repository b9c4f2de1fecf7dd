//! Stage claim: reserves the key of a call, or finds an outcome to replay.
//!
//! A call without a key passes, unless its operation requires one. The store grants a key to one of any
//! number of concurrent callers. Refuses with ERR_MISSING_IDEMPOTENCY_KEY, ERR_IDEMPOTENCY_KEY_REUSED,
//! ERR_IDEMPOTENCY_IN_FLIGHT and ERR_STORE_UNAVAILABLE. A refusal leaves nothing in the store.

use std::sync::Arc;

use jiff::Timestamp;
use panpan_contract::operation::OperationType;
use panpan_failure::{Effect, Failure, codes};
use serde_json::Value;
use uuid::Uuid;

use super::Dispatcher;
use super::answer::Reply;
use super::attempt::cancelled;
use super::claim_in_store::claim_in_store;
use super::raised::Raised;
use super::request::Call;
use super::stamp::KEY_DETAIL;
use super::validate::Validated;
use crate::idempotency::IdempotencyKey;
use crate::ports::{self, Before, Fingerprint, Kept, Lease, Scope, StoreError};
use crate::registry::Operation;

/// A call that may run.
pub(super) struct Claimed {
    pub(super) operation: Arc<Operation>,
    pub(super) call: Arc<Call>,
    pub(super) deadline: Timestamp,
    pub(super) held: Option<HeldKey>,
    /// The history of its key or task.
    pub(super) before: Before,
    _made_here: (),
}

/// A held key.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldKey {
    pub(super) lease: Lease,
    pub(super) generation: u32,
}

/// Whether a call has a key.
pub(super) enum KeyCheck {
    /// It has none and needs none, so it may run.
    Unkeyed(Claimed),
    /// The key has to be claimed.
    Keyed(Keyed),
}

/// A call with a key that is not claimed yet.
pub(super) struct Keyed {
    pub(super) validated: Validated,
    key: IdempotencyKey,
}

/// What a successful claim allows.
pub(super) enum Grant {
    /// Run the operation while the key is held.
    Run(HeldKey, Claimed),
    /// Replay the recorded outcome.
    Replay(Kept),
}

impl Claimed {
    /// An attempt of a task, whose owner holds the lease.
    pub(super) fn for_task(validated: Validated, before: Before) -> Self {
        Self::of(validated, None, before)
    }

    fn of(validated: Validated, held: Option<HeldKey>, before: Before) -> Self {
        let Validated {
            operation,
            call,
            deadline,
            ..
        } = validated;
        Self {
            operation,
            call,
            deadline,
            held,
            before,
            _made_here: (),
        }
    }

    /// The number of attempts by earlier calls with this key.
    pub(super) fn attempts_before(&self) -> u32 {
        match self.before {
            Before::Released { attempts, .. } | Before::Abandoned { attempts, .. } => attempts,
            Before::Nothing => 0,
        }
    }

    /// Marks that earlier calls with this key had no effect.
    pub(super) fn without_effect_before(mut self) -> Self {
        self.before = Before::Released {
            attempts: self.attempts_before(),
            may_have_happened: false,
        };
        self
    }

    /// The effect of earlier calls with this key.
    pub(super) fn effect_before(&self) -> Effect {
        let may_have_happened = self.before.may_have_happened();
        match self.operation.spec().op_type {
            OperationType::Mutation if may_have_happened => Effect::Unknown,
            _ => Effect::None,
        }
    }

    /// Whether the gateway may repeat it: repeating is harmless, or the service recognises the key that
    /// every attempt sends.
    pub(super) fn is_repeatable(&self) -> bool {
        is_harmless(&self.operation, &self.call.input) || honours_key(&self.operation)
    }

    /// The scope of the downstream key. It is the same whether or not the store holds the key. A service that
    /// recognises keys always gets one.
    pub(super) fn scope(&self) -> Option<Scope> {
        let (operation, call) = (&self.operation, &self.call);
        let held = self
            .held
            .map(|held| held.lease.scope.of_generation(held.generation));
        let from_caller = || Some(scope(operation, call, call.key.as_ref()?));
        let generated =
            || honours_key(operation).then(|| scope(operation, call, &call.service_key()));
        held.or_else(from_caller).or_else(generated)
    }
}

/// The key that the gateway generates for a call without one.
pub(super) fn generated_key(id: Uuid) -> IdempotencyKey {
    IdempotencyKey::new(&format!("gateway-{id}")).expect("an id is made of visible characters")
}

fn scope(operation: &Operation, call: &Call, key: &IdempotencyKey) -> Scope {
    let caller = call.caller_id();
    Scope::of(caller, operation.name(), key)
}

/// Whether repeating the call is harmless even if it took effect.
pub(crate) fn is_harmless(operation: &Operation, input: &Value) -> bool {
    let spec = operation.spec();
    spec.op_type != OperationType::Mutation || spec.idempotency.is_idempotent_for(input)
}

/// Whether the service recognises the idempotency keys of mutations.
pub(crate) fn honours_key(operation: &Operation) -> bool {
    operation.spec().idempotency.honours_key
}

/// Whether the service gets a generated key, which the caller does not know.
pub(super) fn gets_generated_key(operation: &Operation, call: &Call) -> bool {
    let changes = !is_harmless(operation, &call.input);
    changes && honours_key(operation) && call.caller_key().is_none()
}

/// Whether the caller may repeat the call even if it took effect: repeating is harmless, or the service
/// recognises the key that the caller sent.
pub(super) fn may_be_repeated_by_caller(operation: &Operation, call: &Call) -> bool {
    is_harmless(operation, &call.input) || (honours_key(operation) && call.caller_key().is_some())
}

/// Checks whether there is a key, before the store is involved.
pub(super) fn check_key(validated: Validated) -> Result<KeyCheck, Raised> {
    if let Some(key) = validated.call.key.clone() {
        return Ok(KeyCheck::Keyed(Keyed { validated, key }));
    }
    let rule = &validated.operation.spec().idempotency;
    if rule.needs_key_for(&validated.call.input) {
        return Err(refused(missing_key(&validated.operation), &validated));
    }
    let claimed = Claimed::of(validated, None, Before::Nothing);
    Ok(KeyCheck::Unkeyed(claimed))
}

pub(super) async fn claim(
    dispatcher: &Dispatcher,
    Keyed { validated, key }: Keyed,
    reply: &Reply,
) -> Result<Grant, Raised> {
    let request = claim_request(dispatcher, &validated, &key);
    match claim_in_store(dispatcher, &validated, request, reply).await {
        Ok(ports::Claimed::Held {
            lease,
            before,
            generation,
        }) => {
            let held = HeldKey { lease, generation };
            Ok(Grant::Run(held, Claimed::of(validated, Some(held), before)))
        }
        Ok(ports::Claimed::Replay(kept)) => Ok(Grant::Replay(kept)),
        Ok(ports::Claimed::InFlight { .. }) if validated.call.is_aborted() => {
            let failure = cancelled(&validated.operation, Effect::None);
            Err(refused(failure, &validated))
        }
        Ok(ports::Claimed::InFlight { remaining_ms }) => {
            Err(refused(in_flight(&key, remaining_ms), &validated))
        }
        Ok(ports::Claimed::Reused) => Err(refused(reused_key(&key), &validated)),
        Err(_) if validated.call.is_aborted() => {
            let failure = cancelled(&validated.operation, Effect::None);
            Err(refused(failure, &validated))
        }
        Err(error) => {
            let cause = format!("the key could not be claimed: {error}");
            Err(refused(store_failed(&error), &validated).with_private_cause(cause))
        }
    }
}

fn claim_request(
    dispatcher: &Dispatcher,
    validated: &Validated,
    key: &IdempotencyKey,
) -> ports::Claim {
    let (operation, call) = (&validated.operation, &validated.call);
    ports::Claim {
        scope: scope(operation, call, key),
        fingerprint: Fingerprint::of(operation.name(), &call.input),
        call: call.id,
        lease_ms: dispatcher.0.settings.lease_ms,
    }
}

fn refused(failure: Failure, validated: &Validated) -> Raised {
    Raised::by_gateway(failure, &validated.operation)
}

fn missing_key(operation: &Operation) -> Failure {
    Failure::new(codes::ERR_MISSING_IDEMPOTENCY_KEY).with_message(format!(
        "operation {} is not safe to repeat and needs an idempotency key",
        operation.name()
    ))
}

fn reused_key(key: &IdempotencyKey) -> Failure {
    Failure::new(codes::ERR_IDEMPOTENCY_KEY_REUSED)
        .with_message(format!(
            "idempotency key {key} was used before with different input, and that call may have taken effect"
        ))
        .with_detail(KEY_DETAIL, key.as_str())
}

/// The maximum delay advised for a call in flight: the lease says when the key may be taken over, not when
/// the call ends.
const IN_FLIGHT_DELAY_MS_MAX: u64 = 2000;

pub(super) fn in_flight(key: &IdempotencyKey, remaining_ms: u64) -> Failure {
    Failure::new(codes::ERR_IDEMPOTENCY_IN_FLIGHT)
        .with_message(format!(
            "the call with idempotency key {key} is still running"
        ))
        .with_detail(KEY_DETAIL, key.as_str())
        .with_retry_after_ms(remaining_ms.min(IN_FLIGHT_DELAY_MS_MAX))
}

/// The refusal of a call whose key could not be claimed.
pub(super) fn store_failed(error: &StoreError) -> Failure {
    let failure = error.failure();
    failure.with_message(format!("call not started: {error}"))
}
