//! The rules of flows in their simplest form: nothing is counted or queued ahead, everything is derived from the
//! states of all tasks whenever it is needed.
//!
//! A defect changes one rule, to prove that a difference is noticed. Only the turns of ready tasks have a past: `turns`
//! gives them after each event.

#[path = "defect.rs"]
mod defect;
#[path = "turns.rs"]
mod turns;

use panpan_flow::State;

pub(crate) use defect::Defect;

/// The lease of claimed tasks.
pub(crate) const LEASE_MS: u64 = 1000;

/// A task of the model.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    /// The position of the root of its flow.
    pub(crate) root: usize,
    pub(crate) priority: u8,
    /// The positions of its dependencies, and whether they are required.
    pub(crate) on: Vec<(usize, bool)>,
    pub(crate) state: State,
    pub(crate) generation: u32,
    pub(crate) attempts: u32,
    pub(crate) recoveries: u32,
    pub(crate) is_released: bool,
    /// The number of the lease under which it is held.
    pub(crate) lease: Option<usize>,
    /// When an unfinished attempt can be followed by another one.
    pub(crate) due_ms: u64,
    /// Its place among ready tasks of its priority, once it has one.
    pub(crate) turn: Option<i64>,
    /// How its generations ended.
    pub(crate) endings: Vec<State>,
}

impl Task {
    pub(crate) fn new(root: usize, priority: u8, on: Vec<(usize, bool)>) -> Self {
        Self {
            root,
            priority,
            on,
            state: State::Pending,
            generation: 1,
            attempts: 0,
            recoveries: 0,
            is_released: false,
            lease: None,
            due_ms: 0,
            turn: None,
            endings: Vec::new(),
        }
    }

    fn end(&mut self, state: State) {
        self.state = state;
        self.lease = None;
        self.endings.push(state);
    }
}

/// How an attempt ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    Completed,
    Failed,
    RetryIn(u64),
}

/// The code of a refusal.
pub(crate) type Code = &'static str;

/// All tasks, and the time.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) tasks: Vec<Task>,
    pub(crate) now_ms: u64,
    pub(crate) leases: usize,
    pub(crate) defect: Option<Defect>,
}

impl Model {
    fn has(&self, defect: Defect) -> bool {
        self.defect == Some(defect)
    }

    fn is_satisfied(&self, on: usize, required: bool) -> bool {
        let state = self.tasks[on].state;
        let ended = state.is_terminal();
        let succeeded = state == State::Completed;
        match required {
            true => succeeded || (ended && self.has(Defect::RequiredTakesAnyEnd)),
            false => succeeded || (ended && !self.has(Defect::OptionalNeedsSuccess)),
        }
    }

    /// How many dependencies are not satisfied.
    pub(crate) fn waiting(&self, at: usize) -> usize {
        let on = self.tasks[at].on.iter();
        on.filter(|(on, required)| !self.is_satisfied(*on, *required))
            .count()
    }

    /// The tasks that ended without success and keep a pending task from running, also through other pending ones.
    pub(crate) fn blocked_by(&self, at: usize) -> Vec<usize> {
        let mut causes = Vec::new();
        if self.tasks[at].state != State::Pending {
            return causes;
        }
        for (on, required) in &self.tasks[at].on {
            let counts = *required || self.has(Defect::OptionalBlocks);
            let new = match self.tasks[*on].state {
                State::Failed | State::Cancelled if counts => vec![*on],
                _ => self.blocked_by(*on),
            };
            for cause in new {
                if !causes.contains(&cause) {
                    causes.push(cause);
                }
            }
        }
        causes
    }

    /// Whether the task can be claimed now.
    pub(crate) fn is_ready(&self, at: usize) -> bool {
        let task = &self.tasks[at];
        match task.state {
            State::Pending => task.is_released && self.waiting(at) == 0,
            State::InProgress => {
                let is_held_for_ever = self.has(Defect::NoTakeover) && task.lease.is_some();
                task.due_ms <= self.now_ms && !is_held_for_ever
            }
            _ => false,
        }
    }

    /// Claims the first ready tasks.
    pub(crate) fn claim(&mut self, limit: usize) -> Vec<usize> {
        self.give_turns_to_due();
        let ready = (0..self.tasks.len()).filter(|at| self.is_ready(*at));
        let mut ready: Vec<usize> = ready.collect();
        let ignores_priority = self.has(Defect::NoPriority);
        ready.sort_by_key(|at| {
            let task = &self.tasks[*at];
            let priority = if ignores_priority { 0 } else { task.priority };
            (priority, task.turn, *at)
        });
        ready.truncate(limit);
        let counts_recoveries = !self.has(Defect::NoRecoveries);
        for at in &ready {
            let task = &mut self.tasks[*at];
            task.recoveries += u32::from(task.lease.is_some() && counts_recoveries);
            task.state = State::InProgress;
            task.attempts += 1;
            task.due_ms = self.now_ms + LEASE_MS;
            task.lease = Some(self.leases);
            self.leases += 1;
        }
        ready
    }

    /// Ends an attempt that was begun under a lease.
    pub(crate) fn finish(&mut self, at: usize, lease: usize, ends: Ends) {
        let (no_fencing, loses_race) = (
            self.has(Defect::NoFencing),
            self.has(Defect::CancelLosesRace),
        );
        let delays = if self.has(Defect::LateRetry) { 2 } else { 1 };
        let Some(task) = self.tasks.get_mut(at) else {
            return;
        };
        let is_held = task.state == State::InProgress && task.lease == Some(lease);
        let is_late = no_fencing && task.state == State::InProgress && task.lease.is_some();
        if loses_race && task.state == State::Cancelled && ends == Ends::Completed {
            task.state = State::Completed;
        }
        if !is_held && !is_late {
            return;
        }
        match ends {
            Ends::Completed => task.end(State::Completed),
            Ends::Failed => task.end(State::Failed),
            Ends::RetryIn(ms) => {
                task.lease = None;
                task.due_ms = self.now_ms + delays * ms;
            }
        }
    }

    /// Extends a lease, and returns whether it is still held.
    pub(crate) fn extend(&mut self, at: usize, lease: usize) -> bool {
        let Some(task) = self.tasks.get_mut(at) else {
            return false;
        };
        let is_held = task.state == State::InProgress && task.lease == Some(lease);
        if is_held {
            task.due_ms = self.now_ms + LEASE_MS;
        }
        is_held
    }

    pub(crate) fn cancel(&mut self, at: usize) -> Result<(), Code> {
        match self.tasks[at].state {
            State::Pending | State::InProgress => {
                self.tasks[at].end(State::Cancelled);
                Ok(())
            }
            _ => Err("INVALID_STATE_TRANSITION"),
        }
    }

    /// Executes a task, or a flow from its root; returns how many tasks begin a new generation.
    pub(crate) fn execute(&mut self, at: usize, cascade: bool) -> Result<usize, Code> {
        let is_root = self.tasks[at].root == at && !self.has(Defect::RootRunsAlone);
        match is_root {
            true => self.execute_flow(at, cascade),
            false => self.execute_task(at, cascade),
        }
    }

    fn execute_flow(&mut self, root: usize, cascade: bool) -> Result<usize, Code> {
        let of_flow = |at: &usize| self.tasks[*at].root == root;
        let flow: Vec<usize> = (0..self.tasks.len()).filter(of_flow).collect();
        let states: Vec<State> = flow.iter().map(|at| self.tasks[*at].state).collect();
        if states.contains(&State::InProgress) {
            return Err("TASK_ALREADY_EXECUTING");
        }
        let is_done = states.iter().all(|it| *it == State::Completed);
        let again = flow
            .iter()
            .copied()
            .filter(|at| match self.tasks[*at].state {
                State::Completed => is_done,
                state => state.is_terminal(),
            });
        let again = self.with_dependents(again.collect(), cascade);
        for at in &again {
            self.reset(*at);
        }
        for at in flow {
            let task = &mut self.tasks[at];
            task.is_released |= task.state == State::Pending;
        }
        Ok(again.len())
    }

    fn execute_task(&mut self, at: usize, cascade: bool) -> Result<usize, Code> {
        if self.tasks[at].state == State::InProgress || self.is_ready(at) {
            return Err("TASK_ALREADY_EXECUTING");
        }
        if self.waiting(at) > 0 {
            return Err("DEPENDENCY_NOT_SATISFIED");
        }
        let again: Vec<usize> = Some(at)
            .filter(|_| self.tasks[at].state.is_terminal())
            .into_iter()
            .collect();
        let again = self.with_dependents(again, cascade);
        for at in &again {
            self.reset(*at);
        }
        self.tasks[at].is_released = true;
        Ok(again.len())
    }

    /// Adds dependents that have ended, until there are no more.
    fn with_dependents(&self, mut found: Vec<usize>, cascade: bool) -> Vec<usize> {
        let mut rounds = match cascade && !self.has(Defect::NoCascade) {
            true => usize::MAX,
            false => 0,
        };
        if self.has(Defect::ShortCascade) {
            rounds = rounds.min(1);
        }
        while rounds > 0 {
            rounds -= 1;
            let depends = |task: &Task| task.on.iter().any(|(on, _)| found.contains(on));
            let has_ended = |task: &Task| {
                let is_running = task.state == State::InProgress;
                task.state.is_terminal() || (is_running && self.has(Defect::CascadeResetsRunning))
            };
            let new = (0..self.tasks.len()).filter(|at| {
                let task = &self.tasks[*at];
                !found.contains(at) && has_ended(task) && depends(task)
            });
            let new: Vec<usize> = new.collect();
            if new.is_empty() {
                break;
            }
            found.extend(new);
        }
        found
    }

    fn reset(&mut self, at: usize) {
        let keeps_generation = self.has(Defect::ResetKeepsGeneration);
        let task = &mut self.tasks[at];
        task.state = State::Pending;
        task.generation += u32::from(!keeps_generation);
        task.attempts = 0;
        task.recoveries = 0;
        task.lease = None;
    }

    /// Makes a failed task pending again, until it is executed.
    pub(crate) fn set_pending(&mut self, at: usize) -> Result<(), Code> {
        match self.tasks[at].state {
            State::Pending => Ok(()),
            State::Failed => {
                self.reset(at);
                self.tasks[at].is_released = self.has(Defect::ResetReleases);
                Ok(())
            }
            _ => Err("INVALID_STATE_TRANSITION"),
        }
    }

    /// A copy of a task alone is a flow without dependencies.
    pub(crate) fn copy(&mut self, at: usize) {
        let (root, priority) = (self.tasks.len(), self.tasks[at].priority);
        self.tasks.push(Task::new(root, priority, Vec::new()));
    }

    /// Deletes the newest task. It has no children.
    pub(crate) fn delete_newest(&mut self) -> Result<(), Code> {
        let newest = self.tasks.len() - 1;
        let is_needed = |task: &Task| task.on.iter().any(|(on, _)| *on == newest);
        if self.tasks[newest].state != State::Pending || self.tasks.iter().any(is_needed) {
            return Err("CANNOT_DELETE_TASK");
        }
        self.tasks.pop();
        Ok(())
    }

    pub(crate) fn set_priority(&mut self, at: usize, priority: u8) -> Result<(), Code> {
        if self.tasks[at].state == State::InProgress {
            return Err("TASK_ALREADY_EXECUTING");
        }
        self.tasks[at].priority = priority;
        Ok(())
    }

    pub(crate) fn set_dependencies(
        &mut self,
        at: usize,
        on: Vec<(usize, bool)>,
    ) -> Result<(), Code> {
        match self.tasks[at].state {
            State::Pending => {}
            State::InProgress => return Err("TASK_ALREADY_EXECUTING"),
            _ => return Err("INVALID_STATE_TRANSITION"),
        }
        let leads_back = on.iter().any(|(on, _)| self.reaches(*on, at));
        if leads_back && !self.has(Defect::NoCycleCheck) {
            return Err("CIRCULAR_DEPENDENCY");
        }
        if !self.has(Defect::OldDependenciesCount) {
            self.tasks[at].on = on;
        }
        Ok(())
    }

    /// Whether a task is another one or waits for it, directly or not.
    fn reaches(&self, from: usize, to: usize) -> bool {
        let mut seen = vec![false; self.tasks.len()];
        let mut next = vec![from];
        while let Some(at) = next.pop() {
            if at == to {
                return true;
            }
            if !std::mem::replace(&mut seen[at], true) {
                next.extend(self.tasks[at].on.iter().map(|(on, _)| *on));
            }
        }
        false
    }
}
