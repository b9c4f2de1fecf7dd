//! The state of one key as the checks see it: holders, outcomes and effects.
//!
//! A key has eras: a new era starts when its outcome is reopened or expires, and when the key is claimed
//! for different input after a call without effect.

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
use crate::process::ProcessState;
use crate::properties::{Property, answer_text, has_code, kept_text};

/// A violated property and a description.
pub(crate) type Finding = (Property, String);
/// The violations of one step.
type Findings = Vec<Finding>;

#[derive(Debug)]
pub(crate) struct Key {
    item: u64,
    kind: Kind,
    era: u32,
    epoch: u64,
    fingerprint: Option<Fingerprint>,
    /// Whether the last completion reported no effect.
    without_effect: bool,
    lease: Option<Held>,
    /// Earlier holders, and when each lost the key.
    holders: Vec<(Uuid, i64)>,
    /// Epochs of leases that ended without their holders knowing: these calls may still run.
    unnoticed_ends: BTreeSet<u64>,
    /// Eras whose holder lost the key without a crash, and may still run.
    contested_eras: BTreeSet<u32>,
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
    pub(crate) fn new(item: u64, kind: Kind) -> Self {
        Self {
            item,
            kind,
            era: 0,
            epoch: 0,
            fingerprint: None,
            without_effect: false,
            lease: None,
            holders: Vec::new(),
            unnoticed_ends: BTreeSet::new(),
            contested_eras: BTreeSet::new(),
            outcomes: BTreeMap::new(),
            effects: BTreeMap::new(),
        }
    }

    pub(crate) fn item(&self) -> u64 {
        self.item
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

    pub(crate) fn mark_disturbed(&mut self, holder: Holder) {
        let Some(held) = &mut self.lease else {
            if let Holder::Lease(lease) = holder {
                self.unnoticed_ends.insert(lease.epoch);
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
        process: Option<&ProcessState>,
        now_ms: i64,
    ) -> Findings {
        let kept = self.outcomes.get(&self.era);
        if kept.is_some_and(|kept| kept.expires_ms <= now_ms) {
            self.start_era();
            self.fingerprint = None;
        }
        let mut found: Findings = self.accepts_different_input(claim).into_iter().collect();
        found.extend(self.contradicts(claim, claimed));
        if let Claimed::Held { lease, .. } = claimed {
            self.without_effect = false;
            self.unnoticed_ends.clear();
            found.extend(self.takeover(process, now_ms));
            found.extend(self.epoch_rises(*lease));
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

    /// A key whose call had no effect accepts different input.
    fn accepts_different_input(&mut self, claim: &Claim) -> Option<Finding> {
        let is_other = self
            .fingerprint
            .is_some_and(|first| first != claim.fingerprint);
        if !is_other || !self.without_effect {
            return None;
        }
        let happened = self.kind.is_harmful() && self.effect(self.era).is_some();
        self.start_era();
        self.fingerprint = None;
        let text = "claimed for different input after an effect".to_owned();
        happened.then_some((Property::OneEffect, text))
    }

    /// Compares the result of a claim with the known input and outcome.
    fn contradicts(&mut self, claim: &Claim, claimed: &Claimed) -> Option<Finding> {
        let first = *self.fingerprint.get_or_insert(claim.fingerprint);
        if (first != claim.fingerprint) != (*claimed == Claimed::Reused) {
            return finding(Property::OneOutcome, "two inputs under one key");
        }
        let kept = self.outcomes.get(&self.era).map(|kept| &*kept.text);
        match claimed {
            Claimed::Held { .. } | Claimed::InFlight { .. } if kept.is_some() => finding(
                Property::OutcomeKept,
                "an outcome disappeared before it expired",
            ),
            Claimed::Replay(replayed) if kept != Some(&kept_text(&replayed.outcome)) => {
                finding(Property::OneOutcome, "a replay differs from the record")
            }
            _ => None,
        }
    }

    /// Checks that the previous holder lost the key for a reason.
    fn takeover(&mut self, process: Option<&ProcessState>, now_ms: i64) -> Option<Finding> {
        let held = self.lease.take()?;
        self.holders.push((held.call, now_ms));
        let process = process.expect("a holder is registered");
        if !process.is_dead() {
            self.contested_eras.insert(self.era);
        }
        if now_ms < held.until_ms {
            return finding(Property::OneLease, "two valid leases");
        }
        let cause = held.disturbed || process.is_dead() || process.stalled_after(held.since_ms);
        let text = format!(
            "epoch {} was taken over from a healthy holder",
            held.lease.epoch
        );
        (!cause).then_some((Property::JustifiedTakeover, text))
    }

    fn epoch_rises(&mut self, lease: Lease) -> Option<Finding> {
        let last = std::mem::replace(&mut self.epoch, lease.epoch);
        let text = format!("epoch {} after {last}", lease.epoch);
        (lease.epoch <= last).then_some((Property::OneLease, text))
    }

    pub(crate) fn extended(
        &mut self,
        lease: Lease,
        until_ms: i64,
        extended: bool,
    ) -> Option<Finding> {
        match &mut self.lease {
            Some(held) if held.lease == lease && extended => {
                held.until_ms = until_ms;
                None
            }
            Some(held) if held.lease == lease => {
                finding(Property::OneLease, "the holder could not extend its lease")
            }
            _ if extended => finding(Property::OneLease, "a lost lease was extended"),
            _ => None,
        }
    }

    pub(crate) fn completed(
        &mut self,
        completion: &Completion,
        completed: &Completed,
        now_ms: i64,
    ) -> Findings {
        let Completion { lease, end, .. } = completion;
        self.unnoticed_ends.remove(&lease.epoch);
        let is_holder = self.lease.as_ref().is_some_and(|held| held.lease == *lease);
        let Completed::Recorded { expires_at } = completed else {
            let refused =
                is_holder.then(|| finding(Property::OneLease, "the holder was superseded"));
            return refused.into_iter().flatten().collect();
        };
        let mut found = Findings::new();
        if !is_holder {
            found.extend(finding(
                Property::OneLease,
                "a superseded holder completed the key",
            ));
        }
        self.without_effect = completion.without_effect;
        let held = self.lease.take();
        self.holders.extend(held.map(|held| (held.call, now_ms)));
        if let (End::Keep { outcome, .. }, Some(expires_at)) = (end, expires_at) {
            found.extend(self.record(outcome, expires_at.as_millisecond()));
        }
        found
    }

    fn record(&mut self, outcome: &KeptOutcome, expires_ms: i64) -> Option<Finding> {
        let is_success = !matches!(outcome, KeptOutcome::Failure(_));
        let text = kept_text(outcome);
        let before = self
            .outcomes
            .insert(self.era, Recorded { text, expires_ms });
        if before.is_some() {
            return finding(Property::OneOutcome, "a second outcome was recorded");
        }
        let without_effect_recorded =
            is_success && self.kind != Kind::Read && self.effect(self.era).is_none();
        let text = "a success without an effect".to_owned();
        without_effect_recorded.then_some((Property::OneEffect, text))
    }

    pub(crate) fn reopened(&mut self, reopened: Reopened) {
        if let Reopened::Free { .. } = reopened {
            self.without_effect = false;
            self.start_era();
        }
    }

    pub(crate) fn took_effect(&mut self, era: u32, output: Value) -> Option<Finding> {
        let effects = self.effects.entry(era).or_default();
        effects.push(output);
        // A reconciliation cannot know that a stalled process will continue: this is not the runtime's
        // fault.
        let excused = self.kind == Kind::Book && self.contested_eras.contains(&era);
        let twice = effects.len() > 1 && self.kind.is_harmful() && !excused;
        let text = format!("item {}: {} effects", self.item, effects.len());
        twice.then_some((Property::OneEffect, text))
    }

    pub(crate) fn answered(
        &self,
        era: Option<u32>,
        answer: &Answer,
        asked_ms: i64,
    ) -> Option<Finding> {
        if has_code(answer, codes::ERR_IDEMPOTENCY_IN_FLIGHT)
            && !self.was_held_by_others(answer.call, asked_ms)
        {
            return finding(
                Property::TruthfulFailure,
                "reported in flight without another call",
            );
        }
        match era.and_then(|era| self.outcomes.get(&era)) {
            _ if answer.expires_at.is_none() && answer.outcome.is_err() => None,
            _ if answer.expires_at.is_none() => {
                finding(Property::OutcomeKept, "a success that is not kept")
            }
            None => finding(Property::OutcomeKept, "answered but not recorded"),
            Some(recorded) if recorded.text != answer_text(answer) => {
                let text = format!(
                    "answered {}, recorded {}",
                    answer_text(answer),
                    recorded.text
                );
                finding(Property::OneOutcome, text)
            }
            Some(_) => None,
        }
    }

    /// Whether a different call held the key at some time since then.
    fn was_held_by_others(&self, call: Uuid, since_ms: i64) -> bool {
        let holders = self.holders.iter().copied();
        let holders = holders.chain(self.holder().map(|call| (call, i64::MAX)));
        let held = |(holder, until_ms)| holder != call && until_ms >= since_ms;
        !self.unnoticed_ends.is_empty() || holders.into_iter().any(held)
    }

    fn start_era(&mut self) {
        self.era += 1;
    }
}

fn finding(property: Property, text: impl Into<String>) -> Option<Finding> {
    Some((property, text.into()))
}
