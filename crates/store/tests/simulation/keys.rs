//! One key as the checks see it: who holds it, what it ended with, what took effect under it.
//!
//! A key lives through eras: a new one begins when its outcome is reopened or expires, and when it is
//! claimed for other input after nothing happened under it.

use std::collections::{BTreeMap, BTreeSet};

use panpan_failure::codes;
use panpan_runtime::Answer;
use panpan_runtime::ports::{
    Claim, Claimed, Completed, Completion, End, Fingerprint, KeptOutcome, Lease, Reopened,
};
use serde_json::Value;
use uuid::Uuid;

use crate::checks::Holder;
use crate::operations::Kind;
use crate::process::Life;
use crate::properties::{Property, has_code, heard_text, kept_text};

/// A property that does not hold, and how.
pub(crate) type Broken = (Property, String);
/// All that a step of a key breaks.
type Found = Vec<Broken>;

#[derive(Debug)]
pub(crate) struct Key {
    work: u64,
    kind: Kind,
    era: u32,
    epoch: u64,
    fingerprint: Option<Fingerprint>,
    /// Whether it ended last with the word that nothing happened.
    without_effect: bool,
    lease: Option<Held>,
    /// Who held it until when.
    holders: Vec<(Uuid, i64)>,
    /// Leases that are over without their holders having heard of it: they are still at work.
    unheard: BTreeSet<u64>,
    /// The eras in which somebody lost the key without having crashed, and may still be at work.
    haunted: BTreeSet<u32>,
    outcomes: BTreeMap<u32, Recorded>,
    effects: BTreeMap<u32, Vec<Value>>,
}

#[derive(Debug)]
struct Held {
    lease: Lease,
    call: Uuid,
    since_ms: i64,
    until_ms: i64,
    disturbed: bool,
}

#[derive(Debug)]
struct Recorded {
    text: String,
    expires_ms: i64,
}

impl Key {
    pub(crate) fn new(work: u64, kind: Kind) -> Self {
        Self {
            work,
            kind,
            era: 0,
            epoch: 0,
            fingerprint: None,
            without_effect: false,
            lease: None,
            holders: Vec::new(),
            unheard: BTreeSet::new(),
            haunted: BTreeSet::new(),
            outcomes: BTreeMap::new(),
            effects: BTreeMap::new(),
        }
    }

    pub(crate) fn work(&self) -> u64 {
        self.work
    }

    pub(crate) fn era(&self) -> u32 {
        self.era
    }

    pub(crate) fn holder(&self) -> Option<Uuid> {
        self.lease.as_ref().map(|held| held.call)
    }

    pub(crate) fn effect(&self, era: u32) -> Option<Value> {
        self.effects.get(&era)?.first().cloned()
    }

    pub(crate) fn disturbed(&mut self, holder: Holder) {
        let Some(held) = &mut self.lease else {
            if let Holder::Lease(lease) = holder {
                self.unheard.insert(lease.epoch);
            }
            return;
        };
        held.disturbed |= match holder {
            Holder::Call(call) => call == held.call,
            Holder::Lease(lease) => lease == held.lease,
        };
    }

    pub(crate) fn claimed(
        &mut self,
        claim: &Claim,
        claimed: &Claimed,
        life: Option<&Life>,
        now_ms: i64,
    ) -> Found {
        let kept = self.outcomes.get(&self.era);
        if kept.is_some_and(|kept| kept.expires_ms <= now_ms) {
            self.begin_era();
            self.fingerprint = None;
        }
        let mut found: Found = self.passes_on(claim).into_iter().collect();
        found.extend(self.contradicts(claim, claimed));
        if let Claimed::Held { lease, .. } = claimed {
            self.without_effect = false;
            self.unheard.clear();
            found.extend(self.taken(life, now_ms));
            found.extend(self.rises(*lease));
            self.lease = Some(Held {
                lease: *lease,
                call: claim.call,
                since_ms: now_ms,
                until_ms: now_ms + claim.lease_ms.cast_signed(),
                disturbed: false,
            });
        }
        found
    }

    /// A key under which nothing happened is there for other input.
    fn passes_on(&mut self, claim: &Claim) -> Option<Broken> {
        let is_other = self
            .fingerprint
            .is_some_and(|first| first != claim.fingerprint);
        if !is_other || !self.without_effect {
            return None;
        }
        let happened = self.kind.is_harmful() && self.effect(self.era).is_some();
        self.begin_era();
        self.fingerprint = None;
        let text = "claimed for other input after an effect".to_owned();
        happened.then_some((Property::OneEffect, text))
    }

    /// What the store should not have answered, as far as inputs and outcomes go.
    fn contradicts(&mut self, claim: &Claim, claimed: &Claimed) -> Option<Broken> {
        let first = *self.fingerprint.get_or_insert(claim.fingerprint);
        if (first != claim.fingerprint) != (*claimed == Claimed::Reused) {
            return broken(Property::OneOutcome, "two inputs share a key");
        }
        let kept = self.outcomes.get(&self.era).map(|kept| &*kept.text);
        match claimed {
            Claimed::Held { .. } | Claimed::InFlight { .. } if kept.is_some() => {
                broken(Property::OutcomeKept, "an outcome is gone before its time")
            }
            Claimed::Replay(replayed) if kept != Some(&kept_text(&replayed.outcome)) => {
                broken(Property::OneOutcome, "a replay differs from the record")
            }
            _ => None,
        }
    }

    /// Somebody held it before.
    fn taken(&mut self, life: Option<&Life>, now_ms: i64) -> Option<Broken> {
        let held = self.lease.take()?;
        self.holders.push((held.call, now_ms));
        let life = life.expect("a holder came from somewhere");
        if !life.is_over() {
            self.haunted.insert(self.era);
        }
        if now_ms < held.until_ms {
            return broken(Property::OneLease, "two live leases");
        }
        let cause = held.disturbed || life.is_over() || life.stalled_after(held.since_ms);
        let text = format!(
            "epoch {} was taken over from a healthy holder",
            held.lease.epoch
        );
        (!cause).then_some((Property::TakenWithCause, text))
    }

    fn rises(&mut self, lease: Lease) -> Option<Broken> {
        let last = std::mem::replace(&mut self.epoch, lease.epoch);
        let text = format!("epoch {} after {last}", lease.epoch);
        (lease.epoch <= last).then_some((Property::OneLease, text))
    }

    pub(crate) fn extended(
        &mut self,
        lease: Lease,
        until_ms: i64,
        extended: bool,
    ) -> Option<Broken> {
        match &mut self.lease {
            Some(held) if held.lease == lease && extended => {
                held.until_ms = until_ms;
                None
            }
            Some(held) if held.lease == lease => {
                broken(Property::OneLease, "the holder was refused")
            }
            _ if extended => broken(Property::OneLease, "a lost lease was extended"),
            _ => None,
        }
    }

    pub(crate) fn completed(
        &mut self,
        completion: &Completion,
        completed: &Completed,
        now_ms: i64,
    ) -> Found {
        let Completion { lease, end, .. } = completion;
        self.unheard.remove(&lease.epoch);
        let is_holder = self.lease.as_ref().is_some_and(|held| held.lease == *lease);
        let Completed::Recorded { expires_at } = completed else {
            let refused =
                is_holder.then(|| broken(Property::OneLease, "the holder was superseded"));
            return refused.into_iter().flatten().collect();
        };
        let mut found = Found::new();
        if !is_holder {
            found.extend(broken(
                Property::OneLease,
                "a superseded holder ended the key",
            ));
        }
        self.without_effect = completion.without_effect;
        let held = self.lease.take();
        self.holders.extend(held.map(|held| (held.call, now_ms)));
        if let (End::Keep { outcome, .. }, Some(expires_at)) = (end, expires_at) {
            found.extend(self.keeps(outcome, expires_at.as_millisecond()));
        }
        found
    }

    fn keeps(&mut self, outcome: &KeptOutcome, expires_ms: i64) -> Option<Broken> {
        let is_success = !matches!(outcome, KeptOutcome::Failure(_));
        let text = kept_text(outcome);
        let before = self
            .outcomes
            .insert(self.era, Recorded { text, expires_ms });
        if before.is_some() {
            return broken(Property::OneOutcome, "a second outcome was recorded");
        }
        let hollow = is_success && self.kind != Kind::Read && self.effect(self.era).is_none();
        let text = "a success without an effect".to_owned();
        hollow.then_some((Property::OneEffect, text))
    }

    pub(crate) fn reopened(&mut self, reopened: Reopened) {
        if let Reopened::Free { .. } = reopened {
            self.without_effect = false;
            self.begin_era();
        }
    }

    pub(crate) fn took_effect(&mut self, era: u32, output: Value) -> Option<Broken> {
        let effects = self.effects.entry(era).or_default();
        effects.push(output);
        // Whoever reconciles cannot see that a process which stood still will go on: only what the
        // runtime could have known is held against it.
        let excused = self.kind == Kind::Book && self.haunted.contains(&era);
        let twice = effects.len() > 1 && self.kind.is_harmful() && !excused;
        let text = format!("work {}: {} effects", self.work, effects.len());
        twice.then_some((Property::OneEffect, text))
    }

    pub(crate) fn answered(
        &self,
        era: Option<u32>,
        answer: &Answer,
        asked_ms: i64,
    ) -> Option<Broken> {
        if has_code(answer, codes::ERR_IDEMPOTENCY_IN_FLIGHT)
            && !self.was_held_by_others(answer.call, asked_ms)
        {
            return broken(Property::Told, "in flight, and nobody is at work");
        }
        match era.and_then(|era| self.outcomes.get(&era)) {
            _ if answer.expires_at.is_none() && answer.outcome.is_err() => None,
            _ if answer.expires_at.is_none() => {
                broken(Property::OutcomeKept, "a success that nobody keeps")
            }
            None => broken(Property::OutcomeKept, "answered and not recorded"),
            Some(recorded) if recorded.text != heard_text(answer) => {
                let text = format!("heard {}, recorded {}", heard_text(answer), recorded.text);
                broken(Property::OneOutcome, text)
            }
            Some(_) => None,
        }
    }

    /// Whether another call than this one held it at some time since then.
    fn was_held_by_others(&self, call: Uuid, since_ms: i64) -> bool {
        let holders = self.holders.iter().copied();
        let holders = holders.chain(self.holder().map(|call| (call, i64::MAX)));
        let held = |(holder, until_ms)| holder != call && until_ms >= since_ms;
        !self.unheard.is_empty() || holders.into_iter().any(held)
    }

    fn begin_era(&mut self) {
        self.era += 1;
    }
}

fn broken(property: Property, text: impl Into<String>) -> Option<Broken> {
    Some((property, text.into()))
}
