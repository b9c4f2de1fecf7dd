//! What the parent knows of every call, and what may never be.
//!
//! A life is one child from its start to its end. Within one life the order of two callers' lines says
//! nothing; between lives it does.

use std::collections::{BTreeMap, BTreeSet};

use crate::call::{Acknowledged, Call, is_failure};
use crate::line::{Answered, Line};
use crate::operations::Effected;
use crate::plan::{Plan, Random};

/// Codes that may advance. A living holder that was stalled for longer than its lease can lose it.
const PASSING: [&str; 2] = ["ERR_RESOURCE_BUSY", "ERR_IDEMPOTENCY_IN_FLIGHT"];

/// What is known, and what was found to be wrong.
#[derive(Debug)]
pub(crate) struct Ledger {
    seed: u64,
    life: u64,
    pub(crate) kills: u64,
    pub(crate) taken_over: u64,
    /// How often an outcome was the same as in an earlier life.
    pub(crate) confirmed: u64,
    pub(crate) violations: Vec<String>,
    calls: BTreeMap<u64, Call>,
    effects_seen: usize,
    touched: BTreeSet<u64>,
    newest: Vec<u64>,
    settled_below: u64,
}

impl Ledger {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            life: 0,
            kills: 0,
            taken_over: 0,
            confirmed: 0,
            violations: Vec::new(),
            calls: BTreeMap::new(),
            effects_seen: 0,
            touched: BTreeSet::new(),
            newest: Vec::new(),
            settled_below: 0,
        }
    }

    pub(crate) fn next_number(&self) -> u64 {
        self.calls
            .last_key_value()
            .map_or(0, |(number, _)| number + 1)
    }

    pub(crate) fn all(&self) -> Vec<u64> {
        self.calls.keys().copied().collect()
    }

    /// What was asked for since everything had its outcome.
    pub(crate) fn unsettled(&self) -> Vec<u64> {
        let unsettled = self.calls.range(self.settled_below..);
        unsettled.map(|(number, _)| *number).collect()
    }

    /// Calls without an outcome, those acknowledged in the last life, and some of all others.
    pub(crate) fn to_ask_again(&self, sample: u64, random: &mut Random) -> Vec<u64> {
        let open = self.calls.range(self.settled_below..);
        let open = open.filter(|(_, call)| call.acknowledged.is_none());
        let mut numbers: BTreeSet<u64> = open.map(|(number, _)| *number).collect();
        numbers.extend(&self.newest);
        for _ in 0..sample.min(self.next_number()) {
            numbers.insert(random.below(self.next_number()));
        }
        numbers.into_iter().collect()
    }

    pub(crate) fn hear(&mut self, line: Line) {
        match line {
            Line::Asked(number) => _ = self.calls.entry(number).or_default(),
            Line::TakenOver => self.taken_over += 1,
            Line::Answered(answered) if answered.kept => self.acknowledge(answered),
            Line::Answered(answered) => self.advance(&answered),
            Line::Began | Line::Done => {}
        }
    }

    /// Notes something wrong that is about no call in particular.
    pub(crate) fn blame(&mut self, wrong: String) {
        self.violations.push(wrong);
    }

    fn acknowledge(&mut self, answered: Answered) {
        let Answered {
            number,
            replayed,
            outcome,
            ..
        } = answered;
        self.touched.insert(number);
        let life = self.life;
        let call = self.calls.entry(number).or_default();
        call.ran_for_it += u32::from(!replayed);
        match &call.acknowledged {
            Some(before) if before.outcome != outcome => {
                let wrong = format!("call {number} had {} and now has {outcome}", before.outcome);
                self.violations.push(wrong);
            }
            Some(before) => self.confirmed += u64::from(before.life < life),
            None => {
                self.newest.push(number);
                call.acknowledged = Some(Acknowledged {
                    outcome,
                    life,
                    effects: None,
                });
            }
        }
    }

    /// An answer that is not the last word.
    fn advance(&mut self, answered: &Answered) {
        let Answered {
            number, outcome, ..
        } = answered;
        let before = self
            .calls
            .get(number)
            .and_then(|call| call.acknowledged.as_ref());
        if let Some(lost) = before.filter(|before| before.life < self.life) {
            let wrong = format!("call {number} had {} and lost it: {outcome}", lost.outcome);
            self.violations.push(wrong);
        }
        if !PASSING.iter().any(|code| is_failure(outcome, code)) {
            let wrong = format!("call {number} was answered without a record: {outcome}");
            self.violations.push(wrong);
        }
    }

    /// Takes all effects there are.
    pub(crate) fn see(&mut self, effects: impl Iterator<Item = Effected>) {
        for effected in effects.skip(self.effects_seen) {
            self.effects_seen += 1;
            self.touched.insert(effected.number);
            let call = self.calls.entry(effected.number).or_default();
            call.effects.push(effected.by);
        }
    }

    /// Every one of these was asked for until it had an outcome.
    pub(crate) fn settled(&mut self, numbers: Vec<u64>) {
        for number in numbers {
            if self.calls[&number].acknowledged.is_none() {
                self.violations.push(format!("call {number} is stuck"));
            }
        }
        self.settled_below = self.next_number();
    }

    /// Judges what changed; nothing of this life comes any more.
    pub(crate) fn end_life(&mut self) {
        let life = self.life;
        for number in std::mem::take(&mut self.touched) {
            let kind = Plan::of(self.seed, number).kind;
            let Some(call) = self.calls.get_mut(&number) else {
                continue;
            };
            let wrong = call.wrong(number, kind);
            self.violations
                .extend(wrong.map(|wrong| format!("call {number} {wrong}")));
            if let Some(acknowledged) = &mut call.acknowledged {
                acknowledged.effects = Some(call.effects.len());
            }
        }
        let this_life = |number: &u64| {
            let acknowledged = self.calls[number].acknowledged.as_ref();
            acknowledged.is_some_and(|it| it.life == life)
        };
        self.newest.retain(this_life);
        self.life += 1;
    }

    /// How many calls there are, how many acknowledged, and how many with an outcome nobody can tell.
    pub(crate) fn summary(&self) -> String {
        let acknowledged = self
            .calls
            .values()
            .filter_map(|call| call.acknowledged.as_ref());
        format!(
            "{} kills, {} keys, {} acknowledged, {} unknown, {} taken over, {} effects, \
             {} answers as in an earlier life",
            self.kills,
            self.calls.len(),
            acknowledged.clone().count(),
            acknowledged.filter(|it| it.is_unknown()).count(),
            self.taken_over,
            self.effects_seen,
            self.confirmed,
        )
    }
}
