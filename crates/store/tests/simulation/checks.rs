//! What must hold whatever goes wrong, checked while the simulation runs.
//!
//! Looks on from outside of every process: at what the store answered, at what callers heard, and at
//! the effects that took place. Effects are written down here because nothing else survives a crash.

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
use crate::keys::{Broken, Key};
use crate::operations::Kind;
use crate::process::Life;
use crate::properties::{Property, Violation, has_code, kept_text};

/// How many violations are written down; one is enough to fail.
const VIOLATIONS_LIMIT: usize = 100;

/// Whom a fault strikes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Holder {
    Call(Uuid),
    Lease(Lease),
}

/// The checks and all they know.
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

/// What is known of a call.
#[derive(Debug, Default)]
struct Call {
    life: Arc<Life>,
    /// The key it held, and in which era of it.
    place: Option<(Scope, u32)>,
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

    /// A key that will be used.
    pub(crate) fn expects(&self, scope: Scope, work: u64, kind: Kind) {
        self.state().keys.insert(scope, Key::new(work, kind));
    }

    /// A call asks for a key out of this process.
    pub(crate) fn comes_from(&self, call: Uuid, life: &Arc<Life>) {
        self.state().calls.entry(call).or_default().life = life.clone();
    }

    /// A fault may keep this holder from showing that it lives.
    pub(crate) fn disturbed(&self, holder: Holder) {
        let mut state = self.state();
        let scope = match holder {
            Holder::Call(call) => state
                .calls
                .get(&call)
                .and_then(|it| it.place)
                .map(|it| it.0),
            Holder::Lease(lease) => Some(lease.scope),
        };
        if let Some(key) = scope.and_then(|scope| state.keys.get_mut(&scope)) {
            key.disturbed(holder);
        }
    }

    pub(crate) fn claimed(&self, claim: &Claim, claimed: &Claimed) {
        let now_ms = self.journal.now_ms();
        let found = self.with_key(claim.scope, |key, calls| {
            let life = key
                .holder()
                .and_then(|call| calls.get(&call))
                .map(|it| &*it.life);
            let found = key.claimed(claim, claimed, life, now_ms);
            if let Claimed::Held { .. } = claimed {
                let place = Some((claim.scope, key.era()));
                calls.entry(claim.call).or_default().place = place;
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
            End::Abandon => "nothing known".to_owned(),
        };
        let event = format!("ends {} with {end}: {completed:?}", lease.epoch);
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
            self.violated(Property::Redecided, format!("call {call}: {divergence}"));
        }
    }

    /// An effect takes place outside of every process.
    pub(crate) fn took_effect(&self, call: Uuid, kind: Kind, keyed: bool, output: &Value) {
        let mut state = self.state();
        let State { keys, calls, .. } = &mut *state;
        let known = calls.entry(call).or_default();
        known.effects += 1;
        let found = match known.place.filter(|_| keyed) {
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

    /// What the effect of this key gave, if it took place.
    pub(crate) fn effect_of(&self, call: Uuid) -> Option<Value> {
        let state = self.state();
        let (scope, era) = state.calls.get(&call)?.place?;
        state.keys.get(&scope)?.effect(era)
    }

    /// A caller hears an answer to what it asked then.
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
                Property::Told,
                format!("{} denies its effect", failure.code()),
            ));
        }
        if let Some(scope) = scope {
            let place = state.calls.get(&answer.call).and_then(|call| call.place);
            let era = place.map(|(_, era)| era);
            let key = state.keys.get(&scope).expect("a key that was announced");
            found.extend(key.answered(era, answer, asked_ms));
        }
        drop(state);
        for (property, text) in found {
            self.violated(property, format!("call {}: {text}", short(answer.call)));
        }
    }

    fn report(&self, event: &str, scope: Scope, found: impl IntoIterator<Item = Broken>) {
        let work = self.with_key(scope, |key, _| key.work());
        self.journal.note(format_args!("work {work}: {event}"));
        for (property, text) in found {
            self.violated(property, format!("work {work}: {text}"));
        }
    }

    fn with_key<T>(
        &self,
        scope: Scope,
        look: impl FnOnce(&mut Key, &mut BTreeMap<Uuid, Call>) -> T,
    ) -> T {
        let mut state = self.state();
        let State { keys, calls, .. } = &mut *state;
        look(
            keys.get_mut(&scope).expect("a key that was announced"),
            calls,
        )
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
