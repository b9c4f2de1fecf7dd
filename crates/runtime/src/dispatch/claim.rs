//! Is this piece of work new, or is there an outcome of it already.
//!
//! A call without a key passes at once, unless it has to have one. For a key the store is asked, which
//! lets one of any number of callers through. Refuses with ERR_MISSING_IDEMPOTENCY_KEY, ERR_IDEMPOTENCY_KEY_REUSED,
//! ERR_IDEMPOTENCY_IN_FLIGHT and, when the store cannot say, ERR_STORE_UNAVAILABLE. Nothing is kept of
//! a refusal.

use std::sync::Arc;

use jiff::Timestamp;
use panpan_contract::operation::OperationType;
use panpan_failure::{Effect, Failure, codes};
use serde_json::Value;
use uuid::Uuid;

use super::answer::Reply;
use super::attempt::cancelled;
use super::raised::Raised;
use super::request::Call;
use super::stamp::KEY_DETAIL;
use super::validate::Validated;
use super::{Dispatcher, ask};
use crate::idempotency::IdempotencyKey;
use crate::ports::{self, Before, Fingerprint, Kept, Lease, Scope, StoreError};
use crate::registry::Operation;

/// A call that may run.
pub(super) struct Claimed {
    pub(super) operation: Arc<Operation>,
    pub(super) call: Arc<Call>,
    pub(super) deadline: Timestamp,
    pub(super) held: Option<HeldKey>,
    _made_here: (),
}

/// A key that is held, and what happened under it before.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldKey {
    pub(super) lease: Lease,
    pub(super) before: Before,
    pub(super) generation: u32,
}

/// A call by whether it has a key.
pub(super) enum Keys {
    /// It has none and needs none: it runs.
    Without(Claimed),
    /// The store has to be asked.
    With(Keyed),
}

/// A call with a key nobody has asked the store for yet.
pub(super) struct Keyed {
    pub(super) validated: Validated,
    key: IdempotencyKey,
}

/// What becomes of a call that was let in.
pub(super) enum Admission {
    /// It runs.
    Run(Claimed),
    /// It ran before.
    Replay(Kept),
}

impl Claimed {
    /// A call whose owner holds the lease, as tasks do.
    pub(super) fn brought(validated: Validated) -> Self {
        Self::of(validated, None)
    }

    fn of(validated: Validated, held: Option<HeldKey>) -> Self {
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
            _made_here: (),
        }
    }

    /// Attempts made under this key by earlier calls.
    pub(super) fn attempts_before(&self) -> u32 {
        match self.held.map(|held| held.before) {
            Some(Before::Released { attempts, .. } | Before::Abandoned { attempts, .. }) => {
                attempts
            }
            Some(Before::Nothing) | None => 0,
        }
    }

    /// The same, when it is known that earlier calls under its key did nothing.
    pub(super) fn without_effect_before(mut self) -> Self {
        let attempts = self.attempts_before();
        if let Some(held) = &mut self.held {
            held.before = Before::Released {
                attempts,
                may_have_happened: false,
            };
        }
        self
    }

    /// What earlier calls under this key may have left behind.
    pub(super) fn effect_before(&self) -> Effect {
        let is_open = self
            .held
            .is_some_and(|held| held.before.may_have_happened());
        match self.operation.spec().op_type {
            OperationType::Mutation if is_open => Effect::Unknown,
            _ => Effect::None,
        }
    }

    /// Whether the gateway may repeat it: repeating does no harm, or the service recognises the key that
    /// every attempt carries.
    pub(super) fn is_repeatable(&self) -> bool {
        is_harmless(&self.operation, &self.call.input) || honours_key(&self.operation)
    }

    /// Which keyed call this is, whether or not the store holds its key: what is handed on downstream
    /// must not depend on that. A service that recognises keys gets one in any case.
    pub(super) fn scope(&self) -> Option<Scope> {
        let Self {
            operation, call, ..
        } = self;
        let held = self
            .held
            .map(|held| held.lease.scope.of_generation(held.generation));
        let stated = || Some(scope(operation, call, call.key.as_ref()?));
        let made = || honours_key(operation).then(|| scope(operation, call, &made_key(call.id)));
        held.or_else(stated).or_else(made)
    }
}

/// The key of a piece of work that came without one.
pub(super) fn made_key(id: Uuid) -> IdempotencyKey {
    IdempotencyKey::new(&format!("gateway-{id}")).expect("an id is made of visible characters")
}

fn scope(operation: &Operation, call: &Call, key: &IdempotencyKey) -> Scope {
    let caller = call.caller.as_ref().map(|it| it.id.as_str());
    Scope::of(caller, operation.name(), key)
}

/// Whether the call can be repeated without harm even if it took effect.
pub(crate) fn is_harmless(operation: &Operation, input: &Value) -> bool {
    let spec = operation.spec();
    spec.op_type != OperationType::Mutation || spec.idempotency.is_idempotent_for(input)
}

/// Whether the service behind it recognises the key of a call that changes something.
pub(crate) fn honours_key(operation: &Operation) -> bool {
    operation.spec().idempotency.honours_key
}

/// Whether the service was sent a key of the gateway's own, which the caller does not know.
pub(super) fn is_sent_a_key(operation: &Operation, call: &Call) -> bool {
    let changes = !is_harmless(operation, &call.input);
    changes && honours_key(operation) && call.stated_key().is_none()
}

/// Whether the caller may repeat the call even if it took effect: that is harmless, or the service
/// recognises the key the caller gave.
pub(super) fn may_be_repeated_by_caller(operation: &Operation, call: &Call) -> bool {
    is_harmless(operation, &call.input) || (honours_key(operation) && call.stated_key().is_some())
}

/// Looks whether there is a key, before anyone is asked.
pub(super) fn look_for_key(validated: Validated) -> Result<Keys, Raised> {
    if let Some(key) = validated.call.key.clone() {
        return Ok(Keys::With(Keyed { validated, key }));
    }
    let rule = &validated.operation.spec().idempotency;
    if rule.needs_key_for(&validated.call.input) {
        return Err(refused(missing(&validated.operation), &validated));
    }
    Ok(Keys::Without(Claimed::of(validated, None)))
}

pub(super) async fn claim(
    dispatcher: &Dispatcher,
    Keyed { validated, key }: Keyed,
    reply: &Reply,
) -> Result<Admission, Raised> {
    let wish = wish(dispatcher, &validated, &key);
    match ask::ask(dispatcher, &validated, wish, reply).await {
        Ok(ports::Claimed::Held {
            lease,
            before,
            generation,
        }) => {
            let held = Some(HeldKey {
                lease,
                before,
                generation,
            });
            Ok(Admission::Run(Claimed::of(validated, held)))
        }
        Ok(ports::Claimed::Replay(kept)) => Ok(Admission::Replay(kept)),
        Ok(ports::Claimed::InFlight { .. }) if validated.call.is_aborted() => {
            let failure = cancelled(&validated.operation, Effect::None);
            Err(refused(failure, &validated))
        }
        Ok(ports::Claimed::InFlight { remaining_ms }) => {
            Err(refused(in_flight(&key, remaining_ms), &validated))
        }
        Ok(ports::Claimed::Reused) => Err(refused(reused(&key), &validated)),
        Err(_) if validated.call.is_aborted() => {
            let failure = cancelled(&validated.operation, Effect::None);
            Err(refused(failure, &validated))
        }
        Err(_)
            if dispatcher.settings().run_without_store
                && is_harmless(&validated.operation, &validated.call.input) =>
        {
            Ok(Admission::Run(Claimed::of(validated, None)))
        }
        Err(error) => {
            let cause = format!("the key could not be claimed: {error}");
            Err(refused(store_failed(&error), &validated).privately(cause))
        }
    }
}

fn wish(dispatcher: &Dispatcher, validated: &Validated, key: &IdempotencyKey) -> ports::Claim {
    let Validated {
        operation, call, ..
    } = validated;
    ports::Claim {
        scope: scope(operation, call, key),
        fingerprint: Fingerprint::of(operation.name(), &call.input),
        call: call.id,
        lease_ms: dispatcher.settings().lease_ms,
    }
}

fn refused(failure: Failure, validated: &Validated) -> Raised {
    Raised::by_gateway(failure, Some(validated.operation.clone()))
}

fn missing(operation: &Operation) -> Failure {
    Failure::new(codes::ERR_MISSING_IDEMPOTENCY_KEY).with_message(format!(
        "operation {} is not safe to repeat and needs an idempotency key",
        operation.name()
    ))
}

fn reused(key: &IdempotencyKey) -> Failure {
    Failure::new(codes::ERR_IDEMPOTENCY_KEY_REUSED)
        .with_message(format!(
            "the idempotency key {key} was used for a call with other input, which may have taken effect"
        ))
        .with_detail(KEY_DETAIL, key.as_str())
}

/// How long a caller waits at most before it asks again for the outcome of a call that still runs: the
/// lease says when it may be taken over, not when it ends.
const ASK_AGAIN_MS: u64 = 2000;

pub(super) fn in_flight(key: &IdempotencyKey, remaining_ms: u64) -> Failure {
    Failure::new(codes::ERR_IDEMPOTENCY_IN_FLIGHT)
        .with_message(format!(
            "the call with the idempotency key {key} is still running"
        ))
        .with_detail(KEY_DETAIL, key.as_str())
        .with_retry_after_ms(remaining_ms.min(ASK_AGAIN_MS))
}

/// What the caller is told when the store does not answer.
pub(super) fn store_failed(error: &StoreError) -> Failure {
    let failure = error.failure();
    failure.with_message(format!("{error}, so that the call was not started"))
}
