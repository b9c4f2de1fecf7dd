//! Compares stored flows with the rules: which tasks ran, how they ended, and what was recorded of it.

use std::collections::BTreeMap;

use panpan_flow::ports::{Announced, Ending, StoredOutcome};
use panpan_flow::{Announcement, Queued, State};
use panpan_runtime::RECOVERIES_LIMIT;
use serde_json::Value;

use super::plan::{FlowPlan, TaskPlan};
use super::read::{StoredFlow, StoredTask};
use super::rules::{Ends, Model};
use crate::operations::{EffectRecord, output};
use crate::plan::{Ending as PlannedEnding, Kind};

/// The result of comparing flows.
#[derive(Debug, Default)]
pub(super) struct Checked {
    pub(super) violations: Vec<String>,
    pub(super) tasks: usize,
    pub(super) pending: usize,
    /// How many tasks were taken over from a killed worker.
    pub(super) taken_over: usize,
    unknown: usize,
    /// The attempts that had an effect, by the number of the task.
    effects: BTreeMap<u64, Vec<String>>,
}

impl Checked {
    pub(super) fn new(effects: impl Iterator<Item = EffectRecord>) -> Self {
        let mut checked = Self::default();
        for effect in effects {
            checked
                .effects
                .entry(effect.number)
                .or_default()
                .push(effect.by);
        }
        checked
    }

    pub(super) fn summary(&self) -> String {
        let Self {
            tasks,
            pending,
            taken_over,
            unknown,
            ..
        } = self;
        let (effects, violations) = (self.effects.len(), self.violations.len());
        format!(
            "{tasks} tasks, {pending} blocked, {taken_over} taken over, {unknown} unknown, \
             {effects} with an effect, {violations} violations"
        )
    }

    /// Compares a flow.
    pub(super) fn add(&mut self, plan: &FlowPlan, stored: &StoredFlow) {
        let expected = expected(plan, stored);
        for (at, task) in plan.tasks.iter().enumerate() {
            let number = task.number;
            self.tasks += 1;
            let Some(found) = stored.tasks.get(&task.id()) else {
                self.violations.push(format!("task {number} is lost"));
                continue;
            };
            let state = expected.tasks[at].state;
            self.pending += usize::from(state == State::Pending);
            self.taken_over += usize::from(found.row.run.recoveries > 0);
            self.unknown += usize::from(code(found).as_deref() == Some(UNKNOWN));
            let effects = self.effects.get(&number).map_or(&[][..], Vec::as_slice);
            let problems = [
                wrong_state(state, found),
                wrong_waiting(expected.waiting(at), found),
                wrong_outcomes(task, found),
                wrong_effects(task, found, effects),
                wrong_entries(task, found, &stored.journal),
            ];
            let problems = problems.into_iter().flatten();
            self.violations
                .extend(problems.map(|it| format!("task {number} {it}")));
        }
        let order = wrong_order(plan, &stored.journal);
        self.violations.extend(order);
    }
}

const UNKNOWN: &str = "ERR_OUTCOME_UNKNOWN";
const GIVEN_UP: &str = "ERR_RECOVERY_EXHAUSTED";

/// Runs the model of the rules until nothing can run.
fn expected(plan: &FlowPlan, stored: &StoredFlow) -> Model {
    let mut model = Model {
        tasks: plan.model(),
        now_ms: 0,
        leases: 0,
        defect: None,
    };
    loop {
        let claimed = model.claim(usize::MAX);
        if claimed.is_empty() {
            return model;
        }
        for at in claimed {
            let task = &plan.tasks[at];
            let found = stored.tasks.get(&task.id());
            let by_kill = found.and_then(|found| ended_by_kill(task, found));
            let lease = model.tasks[at].lease.expect("it was claimed");
            model.finish(at, lease, by_kill.unwrap_or(task.ends().0));
        }
    }
}

/// How a task ended because of a kill, if that is allowed and not what was planned.
fn ended_by_kill(task: &TaskPlan, found: &StoredTask) -> Option<Ends> {
    let recoveries = found.row.run.recoveries;
    let call = task.call?;
    match code(found).as_deref() {
        Some(UNKNOWN) if call.kind == Kind::Once && recoveries > 0 => Some(Ends::Failed),
        Some(GIVEN_UP) if recoveries > RECOVERIES_LIMIT => Some(Ends::Failed),
        // The effect is found, and not that the handler failed afterwards.
        None if call.kind == Kind::Reconcilable
            && call.ending == PlannedEnding::FailsAfterEffect
            && recoveries > 0 =>
        {
            Some(Ends::Completed)
        }
        _ => None,
    }
}

/// The code of a failed task.
fn code(found: &StoredTask) -> Option<String> {
    match &found.outcomes.first()?.ending {
        Ending::Failed { failure, .. } => {
            let failure: Value = serde_json::from_str(failure).unwrap_or_default();
            failure["code"].as_str().map(str::to_owned)
        }
        _ => None,
    }
}

fn wrong_state(expected: State, found: &StoredTask) -> Option<String> {
    let run = &found.row.run;
    let rests = run.queued == Queued::No && !run.is_held;
    (run.state != expected || !rests).then(|| {
        let (code, state) = (code(found), run.state);
        format!(
            "has to end as {expected} and is {state} ({code:?}, {:?})",
            run.queued
        )
    })
}

fn wrong_waiting(expected: usize, found: &StoredTask) -> Option<String> {
    let waiting = found.row.run.waiting;
    (usize::try_from(waiting) != Ok(expected))
        .then(|| format!("waits for {waiting} dependencies instead of {expected}"))
}

/// A task that ended has one outcome, with all its attempts; any other has none.
fn wrong_outcomes(task: &TaskPlan, found: &StoredTask) -> Option<String> {
    let run = &found.row.run;
    let is_whole = match found.outcomes.as_slice() {
        [] => !run.state.is_terminal() && run.attempts == 0,
        [
            StoredOutcome {
                generation,
                attempts,
                ending,
                ..
            },
        ] => {
            let planned = task.ends().1 + run.recoveries;
            *generation == 1
                && *attempts == run.attempts
                && ending.state() == run.state
                && (run.attempts == planned || ended_by_kill(task, found).is_some())
        }
        _ => false,
    };
    let outcomes = &found.outcomes;
    (!is_whole).then(|| format!("has the outcomes {outcomes:?} after {run:?}"))
}

/// An operation that must run once has at most one effect, and a result belongs to an effect.
fn wrong_effects(task: &TaskPlan, found: &StoredTask, effects: &[String]) -> Option<String> {
    let call = task.call?;
    let ran = effects.len();
    if call.kind != Kind::Repeatable && ran > 1 {
        return Some(format!("took effect {ran} times"));
    }
    let may_have = found.row.run.attempts > 0 && call.ending != PlannedEnding::FailsBeforeEffect;
    if ran > 0 && !may_have {
        return Some("took effect although it must not".to_owned());
    }
    let Ending::Completed { result } = &found.outcomes.first()?.ending else {
        return None;
    };
    let result: Value = serde_json::from_str(result).unwrap_or_default();
    let is_of = |by: &String| output(task.number, by) == result;
    let is_explained = effects.iter().any(is_of);
    (!is_explained).then(|| format!("has the result {result} after {effects:?}"))
}

/// The journal has one start and one end of a task that ran, and nothing about any other.
fn wrong_entries(task: &TaskPlan, found: &StoredTask, journal: &[Announced]) -> Option<String> {
    let of_task = journal.iter().filter(|it| it.task == Some(task.id()));
    let entries: Vec<Announcement> = of_task.map(|it| it.what).collect();
    let end = match found.row.run.state {
        State::Completed => Announcement::Completed,
        State::Failed => Announcement::Failed,
        _ => return (!entries.is_empty()).then(|| format!("has not run, but has {entries:?}")),
    };
    let is_whole = match entries.as_slice() {
        [Announcement::StatusUpdate, between @ .., last] => {
            let retries = u32::try_from(between.len()).unwrap_or(u32::MAX);
            let planned = task.ends().1 - 1;
            *last == end
                && between.iter().all(|it| *it == Announcement::ProgressUpdate)
                && (retries == planned || ended_by_kill(task, found).is_some())
        }
        _ => false,
    };
    (!is_whole).then(|| format!("has the entries {entries:?}"))
}

/// A task starts after the end of its dependencies, and the flow rests once, after everything else.
fn wrong_order(plan: &FlowPlan, journal: &[Announced]) -> Vec<String> {
    let root = plan.tasks[0].number;
    let position = |task: &TaskPlan, is_wanted: fn(Announcement) -> bool| {
        let id = Some(task.id());
        journal
            .iter()
            .position(|it| it.task == id && is_wanted(it.what))
    };
    let mut wrong = Vec::new();
    for task in &plan.tasks {
        let Some(start) = position(task, |what| what == Announcement::StatusUpdate) else {
            continue;
        };
        for (on, _) in &task.on {
            let end = position(&plan.tasks[*on], |what| {
                matches!(what, Announcement::Completed | Announcement::Failed)
            });
            if end.is_none_or(|end| end > start) {
                let (number, on) = (task.number, plan.tasks[*on].number);
                wrong.push(format!("task {number} started before {on} ended"));
            }
        }
    }
    let rests: Vec<usize> = (0..journal.len())
        .filter(|at| journal[*at].task.is_none())
        .collect();
    if rests != [journal.len().saturating_sub(1)] {
        let length = journal.len();
        wrong.push(format!(
            "the flow of task {root} rests at {rests:?} of {length} entries"
        ));
    }
    wrong
}
