//! Checks the properties while the simulation runs.
//!
//! Observes the results of the store, the answers that clients get, and the effects, from outside of all
//! processes, so that a crash does not lose them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use panpan_contract::recording::Recording;
use panpan_failure::{Effect, codes};
use panpan_runtime::Answer;
use panpan_runtime::ports::{Claim, Claimed, Completed, Completion, End, Lease, Reopened, Scope};
use panpan_runtime::replay::redecide;
use serde_json::Value;
use uuid::Uuid;

use crate::journal::{Journal, short};
use crate::keys::{Finding, Key};
use crate::operations::Kind;
use crate::process::ProcessState;
use crate::properties::{Property, Violation, has_code, kept_text};

/// The most violations that are collected; one is enough to fail.
const VIOLATIONS_LIMIT: usize = 100;

/// The call or the lease that a fault affects.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Holder {
    Call(Uuid),
    Lease(Lease),
}

/// The checks and their state.
#[derive(Debug)]
pub(crate) struct Checks {
    pub(crate) journal: Arc<Journal>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    keys: BTreeMap<Scope, Key>,
    calls: BTreeMap<Uuid, Call>,
    violations: Vec<Violation>,
}

/// What the checks know about a call.
#[derive(Debug, Default)]
struct Call {
    process: Arc<ProcessState>,
    /// The key that the call held, and the era of the key.
    key: Option<(Scope, u32)>,
    effects: u32,
}

impl Checks {
    pub(crate) fn new(journal: Arc<Journal>) -> Self {
        Self {
            journal,
            state: Mutex::default(),
        }
    }

    pub(crate) fn violations(&self) -> Vec<Violation> {
        self.state().violations.clone()
    }

    pub(crate) fn violated(&self, property: Property, text: impl Into<String>) {
        let text = text.into();
        self.journal
            .note(format_args!("VIOLATION {property:?}: {text}"));
        let violations = &mut self.state().violations;
        if violations.len() < VIOLATIONS_LIMIT {
            violations.push(Violation { property, text });
        }
    }

    /// Registers a key before its first use.
    pub(crate) fn register_key(&self, scope: Scope, item: u64, kind: Kind) {
        self.state().keys.insert(scope, Key::new(item, kind));
    }

    /// Registers the process that a call runs in.
    pub(crate) fn register_call(&self, call: Uuid, process: &Arc<ProcessState>) {
        self.state().calls.entry(call).or_default().process = process.clone();
    }

    /// A fault may keep this holder from extending its lease.
    pub(crate) fn mark_disturbed(&self, holder: Holder) {
        let mut state = self.state();
        let scope = match holder {
            Holder::Call(call) => state.calls.get(&call).and_then(|it| it.key).map(|it| it.0),
            Holder::Lease(lease) => Some(lease.scope),
        };
        if let Some(key) = scope.and_then(|scope| state.keys.get_mut(&scope)) {
            key.mark_disturbed(holder);
        }
    }

    pub(crate) fn claimed(&self, claim: &Claim, claimed: &Claimed) {
        let now_ms = self.journal.now_ms();
        let found = self.with_key(claim.scope, |key, calls| {
            let process = key
                .holder()
                .and_then(|call| calls.get(&call))
                .map(|it| &*it.process);
            let found = key.claimed(claim, claimed, process, now_ms);
            if let Claimed::Held { .. } = claimed {
                let key = Some((claim.scope, key.era()));
                calls.entry(claim.call).or_default().key = key;
            }
            found
        });
        self.report(
            &format!("{} claims: {claimed:?}", short(claim.call)),
            claim.scope,
            found,
        );
    }

    pub(crate) fn extended(&self, lease: Lease, lease_ms: u64, extended: bool) {
        let until_ms = self.journal.now_ms() + lease_ms.cast_signed();
        let found = self.with_key(lease.scope, |key, _| {
            key.extended(lease, until_ms, extended)
        });
        self.report(
            &format!("extends {}: {extended}", lease.epoch),
            lease.scope,
            found,
        );
    }

    pub(crate) fn completed(&self, completion: &Completion, completed: &Completed) {
        let Completion { lease, end, .. } = completion;
        let now_ms = self.journal.now_ms();
        let completed_by = |key: &mut Key, _: &mut _| key.completed(completion, completed, now_ms);
        let found = self.with_key(lease.scope, completed_by);
        let end = match end {
            End::Keep { outcome, .. } => kept_text(outcome),
            End::Release => "release".to_owned(),
            End::Abandon => "abandon".to_owned(),
        };
        let event = format!("completes {} with {end}: {completed:?}", lease.epoch);
        self.report(&event, lease.scope, found);
        if let (Completed::Recorded { .. }, Some(recording)) = (completed, &completion.recording) {
            self.recorded(recording);
        }
    }

    pub(crate) fn reopened(&self, scope: Scope, reopened: Reopened) {
        self.with_key(scope, |key, _| key.reopened(reopened));
        self.report(&format!("reopens: {reopened:?}"), scope, []);
    }

    pub(crate) fn recorded(&self, recording: &Recording) {
        if let Err(divergence) = redecide(recording) {
            let call = short(recording.id);
            self.violated(
                Property::ReplayableDecisions,
                format!("call {call}: {divergence}"),
            );
        }
    }

    /// Records an effect.
    pub(crate) fn took_effect(&self, call: Uuid, kind: Kind, keyed: bool, output: &Value) {
        let mut state = self.state();
        let State { keys, calls, .. } = &mut *state;
        let known = calls.entry(call).or_default();
        known.effects += 1;
        let found = match known.key.filter(|_| keyed) {
            Some((scope, era)) => keys
                .get_mut(&scope)
                .unwrap()
                .took_effect(era, output.clone()),
            None if kind.is_harmful() && known.effects > 1 => Some((
                Property::OneEffect,
                format!("{} effects of one call without a key", known.effects),
            )),
            None => None,
        };
        drop(state);
        self.journal
            .note(format_args!("{} takes effect: {output}", short(call)));
        if let Some((property, text)) = found {
            self.violated(property, text);
        }
    }

    /// The output of the effect under the key of this call, if there was an effect.
    pub(crate) fn effect_of(&self, call: Uuid) -> Option<Value> {
        let state = self.state();
        let (scope, era) = state.calls.get(&call)?.key?;
        state.keys.get(&scope)?.effect(era)
    }

    /// Checks the answer to a call that started at `asked_ms`.
    pub(crate) fn answered(&self, scope: Option<Scope>, answer: &Answer, asked_ms: i64) {
        let mut found = Vec::new();
        let state = self.state();
        if let Err(failure) = &answer.outcome
            && failure.effect() == Effect::None
            && !has_code(answer, codes::ERR_IDEMPOTENCY_IN_FLIGHT)
            && state
                .calls
                .get(&answer.call)
                .is_some_and(|call| call.effects > 0)
        {
            found.push((
                Property::TruthfulFailure,
                format!("{} denies its effect", failure.code()),
            ));
        }
        if let Some(scope) = scope {
            let key = state.calls.get(&answer.call).and_then(|call| call.key);
            let era = key.map(|(_, era)| era);
            let key = state.keys.get(&scope).expect("a registered key");
            found.extend(key.answered(era, answer, asked_ms));
        }
        drop(state);
        for (property, text) in found {
            self.violated(property, format!("call {}: {text}", short(answer.call)));
        }
    }

    fn report(&self, event: &str, scope: Scope, found: impl IntoIterator<Item = Finding>) {
        let item = self.with_key(scope, |key, _| key.item());
        self.journal.note(format_args!("item {item}: {event}"));
        for (property, text) in found {
            self.violated(property, format!("item {item}: {text}"));
        }
    }

    fn with_key<T>(
        &self,
        scope: Scope,
        action: impl FnOnce(&mut Key, &mut BTreeMap<Uuid, Call>) -> T,
    ) -> T {
        let mut state = self.state();
        let State { keys, calls, .. } = &mut *state;
        action(keys.get_mut(&scope).expect("a registered key"), calls)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
