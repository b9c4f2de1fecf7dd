//! How an event changes the run of a task: a pure function over the transition table.
//!
//! Nothing here knows time, storage or other tasks. The engine applies the actions.

use jiff::Timestamp;

use crate::state::{State, Transition};

/// The part of a task that changes while it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The state.
    pub state: State,
    /// 1, plus one for each time that the task was executed again.
    pub generation: u32,
    /// Rises with every claim and with everything that ends one. Only the holder of the newest epoch can end the
    /// task.
    pub epoch: u64,
    /// The number of attempts in this generation.
    pub attempts: u32,
    /// How often a process stopped while it held the task, in this generation.
    pub recoveries: u32,
    /// Whether a process holds the task. If its time comes meanwhile, that process has stopped.
    pub is_held: bool,
    /// Whether the task was released. Until then it waits, even if its dependencies are satisfied.
    pub is_released: bool,
    /// How many dependencies are not satisfied.
    pub waiting: u32,
    /// When the task can be claimed.
    pub queued: Queued,
    /// The share of the work that is done, from 0 to 1.
    pub progress: f64,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// When this generation started.
    pub started_at: Option<Timestamp>,
    /// When this generation ended.
    pub completed_at: Option<Timestamp>,
}

/// When a task can be claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queued {
    /// Not before something else happens.
    No,
    /// Now.
    Ready,
    /// From this time on: the end of a lease, or the time of a retry.
    At(Timestamp),
}

impl Queued {
    /// What a store keeps: a number, and a time.
    pub fn parts(self) -> (u8, Option<Timestamp>) {
        match self {
            Queued::No => (0, None),
            Queued::Ready => (1, None),
            Queued::At(at) => (2, Some(at)),
        }
    }

    /// The reverse of [`Queued::parts`].
    pub fn from_parts(number: u8, at: Option<Timestamp>) -> Option<Self> {
        match (number, at) {
            (0, _) => Some(Queued::No),
            (1, _) => Some(Queued::Ready),
            (2, Some(at)) => Some(Queued::At(at)),
            _ => None,
        }
    }
}

/// What happens to a task.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskEvent {
    /// A caller releases it.
    Released,
    /// A process takes it until the end of a lease.
    Claimed {
        /// The end of the lease.
        until: Timestamp,
    },
    /// Its process is still working on it.
    Extended {
        /// The new end of the lease.
        until: Timestamp,
        /// The share of the work that is done, if the handler reported one.
        progress: Option<f64>,
    },
    /// The attempt failed, and another one follows.
    RetryAt(Timestamp),
    /// The attempt succeeded.
    Completed,
    /// The last attempt failed.
    Failed,
    /// A caller cancelled it.
    Cancelled,
    /// A caller executes it again after it ended.
    Reset,
    /// Its release is taken back: it waits until it is released again.
    Withheld,
    /// A dependency became satisfied (negative) or unsatisfied (positive).
    DependenciesChanged(i64),
}

/// What follows from an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Add an entry to the journal.
    Announce(Announcement),
    /// Count the satisfied dependencies of dependents again.
    UpdateDependents {
        /// The state before.
        before: State,
        /// The state after.
        after: State,
    },
    /// Stop the handler that is working on it.
    StopHandler,
}

/// What an entry of the journal says about a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Announcement {
    /// It started, or it is pending again.
    StatusUpdate,
    /// More of the work is done, or a retry follows.
    ProgressUpdate,
    /// It succeeded.
    Completed,
    /// It failed.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// Announcements up to this one are no longer kept.
    Dropped,
}

impl Announcement {
    /// All of them.
    pub const ALL: [Announcement; 6] = [
        Announcement::StatusUpdate,
        Announcement::ProgressUpdate,
        Announcement::Completed,
        Announcement::Failed,
        Announcement::Cancelled,
        Announcement::Dropped,
    ];

    /// The name of the event in the protocol.
    pub const fn word(self) -> &'static str {
        match self {
            Announcement::StatusUpdate => "task_status_update",
            Announcement::ProgressUpdate => "task_progress_update",
            Announcement::Completed => "task_completed",
            Announcement::Failed => "task_failed",
            Announcement::Cancelled => "task_cancelled",
            Announcement::Dropped => "events_dropped",
        }
    }

    /// The number of the announcement in a store: its index in [`Announcement::ALL`].
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The announcement with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.number() == number)
    }

    /// The announcement of this name.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.word() == word)
    }
}

impl Run {
    /// A task that was just created.
    pub fn new(waiting: u32, now: Timestamp) -> Self {
        Self {
            state: State::Pending,
            generation: 1,
            epoch: 0,
            attempts: 0,
            recoveries: 0,
            is_held: false,
            is_released: false,
            waiting,
            queued: Queued::No,
            progress: 0.0,
            updated_at: now,
            started_at: None,
            completed_at: None,
        }
    }

    /// A task that was just created and released.
    pub(crate) fn released(waiting: u32, now: Timestamp) -> Self {
        let mut run = Self {
            is_released: true,
            ..Self::new(waiting, now)
        };
        run.queued = run.queued_if_ready();
        run
    }

    /// A pending task is ready as soon as it is released and all its dependencies are satisfied.
    fn queued_if_ready(&self) -> Queued {
        let is_ready = self.is_released && self.waiting == 0;
        match is_ready {
            true => Queued::Ready,
            false => Queued::No,
        }
    }
}

/// Whether a dependency in this state is satisfied: a required one by success, an optional one by any end.
pub const fn is_satisfied(required: bool, state: State) -> bool {
    match state {
        State::Completed => true,
        State::Failed | State::Cancelled => !required,
        State::Pending | State::InProgress => false,
    }
}

/// Applies an event. The run is unchanged if the transition table forbids it.
pub fn step(
    run: &Run,
    event: &TaskEvent,
    now: Timestamp,
) -> Result<(Run, Vec<Action>), Transition> {
    let mut next = Run {
        updated_at: now,
        ..run.clone()
    };
    let mut actions = Vec::new();
    match event {
        TaskEvent::Released => {
            next.is_released = true;
            if run.state == State::Pending {
                next.queued = next.queued_if_ready();
            }
        }
        TaskEvent::Claimed { until } => claim(run, &mut next, *until, now, &mut actions)?,
        TaskEvent::Extended { until, progress } => {
            next.queued = Queued::At(*until);
            let progress = progress.filter(|it| *it > run.progress && *it <= 1.0);
            if let Some(progress) = progress {
                next.progress = progress;
                actions.push(Action::Announce(Announcement::ProgressUpdate));
            }
        }
        TaskEvent::RetryAt(at) => {
            next.is_held = false;
            next.epoch += 1;
            next.queued = Queued::At(*at);
            actions.push(Action::Announce(Announcement::ProgressUpdate));
        }
        TaskEvent::Completed => {
            end(run, &mut next, State::Completed, now, &mut actions)?;
            next.progress = 1.0;
        }
        TaskEvent::Failed => end(run, &mut next, State::Failed, now, &mut actions)?,
        TaskEvent::Cancelled => {
            end(run, &mut next, State::Cancelled, now, &mut actions)?;
            if run.is_held {
                actions.push(Action::StopHandler);
            }
        }
        TaskEvent::Reset => reset(run, &mut next, &mut actions)?,
        TaskEvent::Withheld => {
            next.is_released = false;
            if run.state == State::Pending {
                next.queued = Queued::No;
            }
        }
        TaskEvent::DependenciesChanged(by) => {
            next.waiting = changed_by(run.waiting, *by);
            if run.state == State::Pending {
                next.queued = next.queued_if_ready();
            }
        }
    }
    Ok((next, actions))
}

fn changed_by(waiting: u32, by: i64) -> u32 {
    let waiting = i64::from(waiting).saturating_add(by);
    debug_assert!(waiting >= 0, "every dependency is counted once");
    u32::try_from(waiting.max(0)).unwrap_or(u32::MAX)
}

fn claim(
    run: &Run,
    next: &mut Run,
    until: Timestamp,
    now: Timestamp,
    actions: &mut Vec<Action>,
) -> Result<(), Transition> {
    match run.state {
        State::Pending => {
            next.state = run.state.to(State::InProgress)?;
            next.started_at = Some(now);
            actions.push(Action::Announce(Announcement::StatusUpdate));
            update_dependents(run, next, actions);
        }
        // A process stopped while it held the task.
        State::InProgress if run.is_held => next.recoveries = run.recoveries.saturating_add(1),
        State::InProgress => {}
        ended => return Err(Transition::new(ended, State::InProgress)),
    }
    next.epoch += 1;
    next.attempts = run.attempts.saturating_add(1);
    next.is_held = true;
    next.queued = Queued::At(until);
    Ok(())
}

fn end(
    run: &Run,
    next: &mut Run,
    state: State,
    now: Timestamp,
    actions: &mut Vec<Action>,
) -> Result<(), Transition> {
    next.state = run.state.to(state)?;
    next.epoch += 1;
    next.is_held = false;
    next.queued = Queued::No;
    next.completed_at = Some(now);
    let announcement = match state {
        State::Completed => Announcement::Completed,
        State::Failed => Announcement::Failed,
        _ => Announcement::Cancelled,
    };
    actions.push(Action::Announce(announcement));
    update_dependents(run, next, actions);
    Ok(())
}

/// Executing an ended task again is not a transition of the table, except after a failure: it begins a new
/// generation, and the outcome of the earlier one is kept.
fn reset(run: &Run, next: &mut Run, actions: &mut Vec<Action>) -> Result<(), Transition> {
    if !run.state.is_terminal() {
        return Err(Transition::new(run.state, State::Pending));
    }
    *next = Run {
        generation: run.generation.saturating_add(1),
        epoch: run.epoch + 1,
        waiting: run.waiting,
        is_released: run.is_released,
        ..Run::new(0, next.updated_at)
    };
    next.waiting = run.waiting;
    next.queued = next.queued_if_ready();
    actions.push(Action::Announce(Announcement::StatusUpdate));
    update_dependents(run, next, actions);
    Ok(())
}

fn update_dependents(run: &Run, next: &Run, actions: &mut Vec<Action>) {
    let (before, after) = (run.state, next.state);
    let matters = |required| is_satisfied(required, before) != is_satisfied(required, after);
    if matters(true) || matters(false) {
        actions.push(Action::UpdateDependents { before, after });
    }
}
