//! What the parent knows about every call, and the checks across runs.
//!
//! A run is one child from its start to its end. Within one run, the order of messages from different callers
//! means nothing; across runs it does.

use std::collections::{BTreeMap, BTreeSet};

use crate::call::{Acknowledged, Call, is_failure};
use crate::message::{Answered, Message};
use crate::operations::EffectRecord;
use crate::plan::{Plan, Random};

/// Codes of temporary failures. A holder that is stalled for longer than its lease can lose it.
const TEMPORARY: [&str; 2] = ["ERR_RESOURCE_BUSY", "ERR_IDEMPOTENCY_IN_FLIGHT"];

/// The known calls and the violations.
#[derive(Debug)]
pub(crate) struct Ledger {
    seed: u64,
    run_number: u64,
    pub(crate) kills: u64,
    pub(crate) taken_over: u64,
    /// How often an outcome was the same as in an earlier run.
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
            run_number: 0,
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

    /// Calls that were made since the last time that every call had an outcome.
    pub(crate) fn unsettled(&self) -> Vec<u64> {
        let unsettled = self.calls.range(self.settled_below..);
        unsettled.map(|(number, _)| *number).collect()
    }

    /// Calls without an outcome, calls acknowledged in the last run, and a sample of all others.
    pub(crate) fn to_repeat(&self, sample: u64, random: &mut Random) -> Vec<u64> {
        let open = self.calls.range(self.settled_below..);
        let open = open.filter(|(_, call)| call.acknowledged.is_none());
        let mut numbers: BTreeSet<u64> = open.map(|(number, _)| *number).collect();
        numbers.extend(&self.newest);
        for _ in 0..sample.min(self.next_number()) {
            numbers.insert(random.below(self.next_number()));
        }
        numbers.into_iter().collect()
    }

    pub(crate) fn receive(&mut self, message: Message) {
        match message {
            Message::Calling(number) => _ = self.calls.entry(number).or_default(),
            Message::TakenOver => self.taken_over += 1,
            Message::Answered(answered) if answered.kept => self.acknowledge(answered),
            Message::Answered(answered) => self.check_temporary(&answered),
            Message::Started | Message::Done => {}
        }
    }

    /// Adds a violation that is not about one call.
    pub(crate) fn add_violation(&mut self, violation: String) {
        self.violations.push(violation);
    }

    fn acknowledge(&mut self, answered: Answered) {
        let Answered {
            number,
            replayed,
            outcome,
            ..
        } = answered;
        self.touched.insert(number);
        let run_number = self.run_number;
        let call = self.calls.entry(number).or_default();
        call.own_runs += u32::from(!replayed);
        match &call.acknowledged {
            Some(before) if before.outcome != outcome => {
                let violation =
                    format!("call {number} had {} and now has {outcome}", before.outcome);
                self.violations.push(violation);
            }
            Some(before) => self.confirmed += u64::from(before.run_number < run_number),
            None => {
                self.newest.push(number);
                call.acknowledged = Some(Acknowledged {
                    outcome,
                    run_number,
                    effects: None,
                });
            }
        }
    }

    /// Checks an answer whose outcome was not recorded.
    fn check_temporary(&mut self, answered: &Answered) {
        let Answered {
            number, outcome, ..
        } = answered;
        let before = self
            .calls
            .get(number)
            .and_then(|call| call.acknowledged.as_ref());
        if let Some(lost) = before.filter(|before| before.run_number < self.run_number) {
            let violation = format!("call {number} had {} and lost it: {outcome}", lost.outcome);
            self.violations.push(violation);
        }
        if !TEMPORARY.iter().any(|code| is_failure(outcome, code)) {
            let violation = format!("call {number} was answered without a record: {outcome}");
            self.violations.push(violation);
        }
    }

    /// Adds the new effects.
    pub(crate) fn add_effects(&mut self, effects: impl Iterator<Item = EffectRecord>) {
        for effect in effects.skip(self.effects_seen) {
            self.effects_seen += 1;
            self.touched.insert(effect.number);
            let call = self.calls.entry(effect.number).or_default();
            call.effects.push(effect.by);
        }
    }

    /// Checks that every one of these calls has an outcome.
    pub(crate) fn settled(&mut self, numbers: Vec<u64>) {
        for number in numbers {
            if self.calls[&number].acknowledged.is_none() {
                self.violations.push(format!("call {number} is stuck"));
            }
        }
        self.settled_below = self.next_number();
    }

    /// Checks everything that changed in this run, which has ended.
    pub(crate) fn end_run(&mut self) {
        let run_number = self.run_number;
        for number in std::mem::take(&mut self.touched) {
            let kind = Plan::of(self.seed, number).kind;
            let Some(call) = self.calls.get_mut(&number) else {
                continue;
            };
            let violation = call.violation(number, kind);
            self.violations
                .extend(violation.map(|violation| format!("call {number} {violation}")));
            if let Some(acknowledged) = &mut call.acknowledged {
                acknowledged.effects = Some(call.effects.len());
            }
        }
        let this_life = |number: &u64| {
            let acknowledged = self.calls[number].acknowledged.as_ref();
            acknowledged.is_some_and(|it| it.run_number == run_number)
        };
        self.newest.retain(this_life);
        self.run_number += 1;
    }

    /// The numbers of kills, keys, outcomes and effects.
    pub(crate) fn summary(&self) -> String {
        let acknowledged = self
            .calls
            .values()
            .filter_map(|call| call.acknowledged.as_ref());
        format!(
            "{} kills, {} keys, {} acknowledged, {} unknown, {} taken over, {} effects, \
             {} answers as in an earlier run",
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
