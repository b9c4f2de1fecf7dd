//! Idempotency keys of the store in memory: claims, leases and outcomes.

use std::collections::{BTreeMap, BTreeSet};

use panpan_runtime::ports::{
    Before, Claim, Claimed, Completed, Completion, Earlier, End, Fingerprint, Kept, KeptOutcome,
    Lease, Reopened, Reopening, Scope,
};
use uuid::Uuid;

use crate::SWEEP_LIMIT;
use crate::time::{FREE_KEPT_MS, later_ms, next_epoch, remaining_ms, timestamp};

/// How many bytes of outcomes the store in memory keeps. Beyond that, the outcome that expires next is
/// deleted early; a file has no such limit.
pub const MEMORY_OUTCOMES_BYTES_LIMIT: usize = 64 * 1024 * 1024;

/// The size of a key without its texts.
const KEY_BYTES: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Keys {
    keys: BTreeMap<Scope, Key>,
    /// Free and finished keys, ordered by expiry.
    expiries: BTreeSet<(i64, Scope)>,
    /// The size of these keys.
    bytes: usize,
}

#[derive(Debug)]
struct Key {
    fingerprint: Fingerprint,
    call: Uuid,
    epoch: u64,
    attempts: u32,
    recoveries: u32,
    generation: u32,
    /// Whether the call had no effect, so the key can be claimed for different input.
    without_effect: bool,
    state: State,
    earlier: Vec<Earlier>,
}

#[derive(Debug)]
enum State {
    /// Being claimed for the first time.
    New,
    Held {
        until_ms: i64,
    },
    Free {
        expires_ms: i64,
    },
    Finished {
        outcome: KeptOutcome,
        expires_ms: i64,
    },
}

impl Keys {
    pub(super) fn claim(&mut self, claim: &Claim, now_ms: i64) -> Claimed {
        self.change(claim.scope, |keys| keys.try_claim(claim, now_ms))
    }

    fn try_claim(&mut self, claim: &Claim, now_ms: i64) -> Claimed {
        let key = self
            .keys
            .entry(claim.scope)
            .or_insert_with(|| Key::new(claim, 0));
        if key.is_expired(now_ms) {
            *key = Key::new(claim, key.epoch);
        }
        if key.fingerprint != claim.fingerprint {
            if !key.without_effect {
                return Claimed::Reused;
            }
            key.start_next_generation(claim);
        }
        let before = match &key.state {
            State::Finished {
                outcome,
                expires_ms,
            } => return Claimed::Replay(key.as_kept(outcome, *expires_ms)),
            State::Held { until_ms } if now_ms < *until_ms => {
                let remaining_ms = remaining_ms(*until_ms, now_ms);
                return Claimed::InFlight { remaining_ms };
            }
            State::New => Before::Nothing,
            State::Held { .. } => key.abandoned(),
            State::Free { .. } => Before::Released {
                attempts: key.attempts,
                may_have_happened: !key.without_effect && key.attempts > 0,
            },
        };
        key.epoch = next_epoch(key.epoch, now_ms);
        key.call = claim.call;
        key.without_effect = false;
        key.state = State::Held {
            until_ms: later_ms(now_ms, claim.lease_ms),
        };
        let lease = Lease {
            scope: claim.scope,
            epoch: key.epoch,
        };
        Claimed::Held {
            lease,
            before,
            generation: key.generation,
        }
    }

    pub(super) fn extend(&mut self, lease: Lease, lease_ms: u64, now_ms: i64) -> bool {
        let held = self.held(lease);
        let extended = held.is_some();
        if let Some(key) = held {
            key.state = State::Held {
                until_ms: later_ms(now_ms, lease_ms),
            };
        }
        extended
    }

    pub(super) fn complete(&mut self, completion: Completion, now_ms: i64) -> Completed {
        let scope = completion.lease.scope;
        let completed = self.change(scope, |keys| keys.end(completion, now_ms));
        while self.bytes > MEMORY_OUTCOMES_BYTES_LIMIT && self.expiries.len() > 1 {
            self.delete_next();
        }
        completed
    }

    fn end(&mut self, completion: Completion, now_ms: i64) -> Completed {
        let Completion { lease, end, .. } = completion;
        let Some(key) = self.held(lease) else {
            let kept = self.kept(lease.scope, now_ms);
            return Completed::Superseded { kept };
        };
        key.attempts = completion.attempts;
        key.without_effect = completion.without_effect && end != End::Abandon;
        let recoveries = std::mem::take(&mut key.recoveries);
        match end {
            End::Keep { outcome, keep_ms } => {
                let expires_ms = later_ms(now_ms, keep_ms);
                key.state = State::Finished {
                    outcome,
                    expires_ms,
                };
                let expires_at = Some(timestamp(expires_ms));
                Completed::Recorded { expires_at }
            }
            End::Release => {
                let expires_ms = later_ms(now_ms, FREE_KEPT_MS);
                key.state = State::Free { expires_ms };
                Completed::Recorded { expires_at: None }
            }
            End::Abandon => {
                key.recoveries = recoveries.saturating_sub(1);
                // The call that held the key can no longer complete it.
                key.epoch = next_epoch(key.epoch, now_ms);
                key.state = State::Held { until_ms: now_ms };
                Completed::Recorded { expires_at: None }
            }
        }
    }

    pub(super) fn kept(&self, scope: Scope, now_ms: i64) -> Option<Kept> {
        let key = self.known(scope, now_ms)?;
        match &key.state {
            State::Finished {
                outcome,
                expires_ms,
            } => Some(key.as_kept(outcome, *expires_ms)),
            State::New | State::Held { .. } | State::Free { .. } => None,
        }
    }

    pub(super) fn reopen(&mut self, reopening: Reopening, now_ms: i64) -> Reopened {
        self.change(reopening.scope, |keys| keys.try_reopen(reopening, now_ms))
    }

    fn try_reopen(&mut self, reopening: Reopening, now_ms: i64) -> Reopened {
        let kept = self.kept(reopening.scope, now_ms);
        let Some(key) = self.keys.get_mut(&reopening.scope) else {
            return Reopened::NothingKept;
        };
        match (&key.state, kept) {
            (State::Finished { expires_ms, .. }, Some(kept)) => {
                // Reopening must not delete the earlier outcome before it expires.
                let expires_ms = (*expires_ms).max(later_ms(now_ms, FREE_KEPT_MS));
                key.reopen(kept, reopening, expires_ms, now_ms);
                let generation = key.generation;
                Reopened::Free { generation }
            }
            (State::Held { until_ms }, _) if now_ms < *until_ms => Reopened::InFlight {
                remaining_ms: remaining_ms(*until_ms, now_ms),
            },
            _ => Reopened::NothingKept,
        }
    }

    pub(super) fn earlier(&self, scope: Scope, now_ms: i64) -> Vec<Earlier> {
        let known = self.known(scope, now_ms);
        known.map(|key| key.earlier.clone()).unwrap_or_default()
    }

    pub(super) fn sweep(&mut self, now_ms: i64) -> u64 {
        let mut swept = 0;
        let is_expired = |(expires_ms, _): &(i64, Scope)| *expires_ms <= now_ms;
        while swept < SWEEP_LIMIT && self.expiries.first().is_some_and(is_expired) {
            self.delete_next();
            swept += 1;
        }
        swept as u64
    }

    /// Changes a key and updates `expiries` and `bytes`.
    fn change<T>(&mut self, scope: Scope, change: impl FnOnce(&mut Self) -> T) -> T {
        if let Some((expires_ms, bytes)) = self.keys.get(&scope).and_then(Key::expiry) {
            self.expiries.remove(&(expires_ms, scope));
            self.bytes -= bytes;
        }
        let changed = change(self);
        if let Some((expires_ms, bytes)) = self.keys.get(&scope).and_then(Key::expiry) {
            self.expiries.insert((expires_ms, scope));
            self.bytes += bytes;
        }
        changed
    }

    fn delete_next(&mut self) {
        if let Some((_, scope)) = self.expiries.first().copied() {
            self.change(scope, |keys| keys.keys.remove(&scope));
        }
    }

    fn known(&self, scope: Scope, now_ms: i64) -> Option<&Key> {
        self.keys.get(&scope).filter(|key| !key.is_expired(now_ms))
    }

    fn held(&mut self, lease: Lease) -> Option<&mut Key> {
        let key = self.keys.get_mut(&lease.scope)?;
        let held = matches!(key.state, State::Held { .. }) && key.epoch == lease.epoch;
        held.then_some(key)
    }
}

impl Key {
    fn new(claim: &Claim, epoch: u64) -> Self {
        Self {
            fingerprint: claim.fingerprint,
            call: claim.call,
            epoch,
            attempts: 0,
            recoveries: 0,
            generation: 1,
            without_effect: false,
            state: State::New,
            earlier: Vec::new(),
        }
    }

    /// Reuses the key for different input, because its call had no effect.
    fn start_next_generation(&mut self, claim: &Claim) {
        self.fingerprint = claim.fingerprint;
        self.attempts = 0;
        self.recoveries = 0;
        self.generation = self.generation.saturating_add(1);
        self.state = State::New;
    }

    fn abandoned(&mut self) -> Before {
        self.recoveries = self.recoveries.saturating_add(1);
        Before::Abandoned {
            attempts: self.attempts,
            recoveries: self.recoveries,
        }
    }

    fn reopen(&mut self, kept: Kept, reopening: Reopening, expires_ms: i64, now_ms: i64) {
        self.earlier.push(Earlier {
            kept,
            at: timestamp(now_ms),
            by: reopening.by,
            reason: reopening.reason,
        });
        self.generation = self.generation.saturating_add(1);
        self.attempts = 0;
        self.without_effect = false;
        self.state = State::Free { expires_ms };
    }

    /// A held key never expires, because the outcome of its call is unknown.
    fn is_expired(&self, now_ms: i64) -> bool {
        self.expiry()
            .is_some_and(|(expires_ms, _)| expires_ms <= now_ms)
    }

    /// When the key expires, and its size; `None` while it is held.
    fn expiry(&self) -> Option<(i64, usize)> {
        let (expires_ms, outcome) = match &self.state {
            State::New | State::Held { .. } => return None,
            State::Free { expires_ms } => (*expires_ms, 0),
            State::Finished {
                outcome,
                expires_ms,
            } => (*expires_ms, size(outcome)),
        };
        let earlier = self.earlier.iter().map(|it| size(&it.kept.outcome));
        Some((expires_ms, KEY_BYTES + outcome + earlier.sum::<usize>()))
    }

    fn as_kept(&self, outcome: &KeptOutcome, expires_ms: i64) -> Kept {
        Kept {
            call: self.call,
            outcome: outcome.clone(),
            expires_at: timestamp(expires_ms),
            generation: self.generation,
        }
    }
}

fn size(outcome: &KeptOutcome) -> usize {
    match outcome {
        KeptOutcome::Output(text) | KeptOutcome::Failure(text) => text.len(),
        KeptOutcome::LargeOutput { .. } => 0,
    }
}
