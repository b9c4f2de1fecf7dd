//! The five states of a task and the six transitions between them.

use std::fmt;

use panpan_failure::{Failure, codes};
use serde_json::{Map, Value};

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Not started.
    Pending,
    /// Being executed.
    InProgress,
    /// Done.
    Completed,
    /// Ended by a failure.
    Failed,
    /// Cancelled on request.
    Cancelled,
}

impl State {
    /// All five.
    pub const ALL: [State; 5] = [
        State::Pending,
        State::InProgress,
        State::Completed,
        State::Failed,
        State::Cancelled,
    ];

    /// The name of the state.
    pub const fn word(self) -> &'static str {
        match self {
            State::Pending => "pending",
            State::InProgress => "in_progress",
            State::Completed => "completed",
            State::Failed => "failed",
            State::Cancelled => "cancelled",
        }
    }

    /// The number of the state in a store: its index in [`State::ALL`].
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The state with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.number() == number)
    }

    /// The state of this name.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }

    /// How many tasks are in each state, by its name.
    pub(crate) fn counts(counts: [u64; 5]) -> Map<String, Value> {
        let words = Self::ALL.iter().map(|state| state.word().to_owned());
        words.zip(counts.map(Value::from)).collect()
    }

    /// The states that may follow. This is the whole transition table.
    pub const fn next(self) -> &'static [State] {
        match self {
            State::Pending => &[State::InProgress, State::Cancelled],
            State::InProgress => &[State::Completed, State::Failed, State::Cancelled],
            State::Failed => &[State::Pending],
            State::Completed | State::Cancelled => &[],
        }
    }

    /// Whether the task has ended; only executing it again changes it.
    pub const fn is_terminal(self) -> bool {
        matches!(self, State::Completed | State::Failed | State::Cancelled)
    }

    /// The requested state, if the table allows the transition.
    ///
    /// ```
    /// use panpan_flow::State;
    ///
    /// assert_eq!(State::Failed.to(State::Pending), Ok(State::Pending));
    /// assert!(State::Completed.to(State::Pending).is_err());
    /// ```
    pub fn to(self, requested: State) -> Result<State, Transition> {
        match self.next().contains(&requested) {
            true => Ok(requested),
            false => Err(Transition::new(self, requested)),
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.word())
    }
}

/// A transition that the table does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The current state.
    pub current: State,
    /// The requested state.
    pub requested: State,
}

impl Transition {
    /// A transition from one state to another.
    pub fn new(current: State, requested: State) -> Self {
        Self { current, requested }
    }

    /// Why the transition is not allowed.
    pub fn reason(&self) -> String {
        let next = self.current.next().iter().map(|state| state.word());
        let next: Vec<&str> = next.collect();
        if next.is_empty() {
            format!("{} is a terminal state", self.current)
        } else {
            format!(
                "after {} only {} is allowed",
                self.current,
                next.join(" or ")
            )
        }
    }

    /// INVALID_STATE_TRANSITION for a task.
    pub fn failure(&self, task_id: impl fmt::Display, reason: &str) -> Failure {
        let attempted = format!("{} -> {}", self.current, self.requested);
        let task_id = task_id.to_string();
        Failure::new(codes::INVALID_STATE_TRANSITION)
            .with_message(format!(
                "task {task_id} cannot change state {attempted}: {reason}"
            ))
            .with_detail("task_id", task_id)
            .with_detail("current_status", self.current.word())
            .with_detail("attempted_transition", attempted)
            .with_detail("reason", reason)
    }
}

#[cfg(test)]
mod tests {
    use panpan_failure::dialect::{Dialect, Envelope};
    use serde_json::json;

    use super::*;
    use crate::step::Announcement;

    #[test]
    fn exactly_six_of_the_twenty_five_transitions_are_allowed() {
        use State::*;
        let allowed = [
            (Pending, InProgress),
            (Pending, Cancelled),
            (InProgress, Completed),
            (InProgress, Failed),
            (InProgress, Cancelled),
            (Failed, Pending),
        ];
        let mut pairs = 0;
        for current in State::ALL {
            for requested in State::ALL {
                pairs += 1;
                let expected = allowed.contains(&(current, requested)).then_some(requested);
                assert_eq!(
                    current.to(requested).ok(),
                    expected,
                    "{current} -> {requested}"
                );
            }
        }
        assert_eq!(pairs, 25);
    }

    #[test]
    fn an_invalid_transition_has_the_members_of_the_protocol() {
        let invalid = State::Completed.to(State::InProgress).unwrap_err();
        let failure = invalid.failure("t-1", &invalid.reason()).redacted();
        let shown = Dialect::JsonRpc.render_failure(&failure, Envelope::default());
        let error = &shown["error"];
        assert_eq!(error["code"], json!(-32006));
        for (member, value) in [
            ("task_id", "t-1"),
            ("current_status", "completed"),
            ("attempted_transition", "completed -> in_progress"),
            ("reason", "completed is a terminal state"),
        ] {
            assert_eq!(error["data"][member], json!(value), "{member}");
        }
        assert_eq!(failure.details().unwrap().len(), 4);
    }

    /// Stored tasks have these numbers.
    #[test]
    fn the_numbers_of_states_and_announcements_never_change() {
        let states = State::ALL.map(|state| (state.number(), state.word()));
        let words = ["pending", "in_progress", "completed", "failed", "cancelled"];
        assert!((0..).zip(words).eq(states));
        let announcements = Announcement::ALL.map(|it| (it.number(), it.word()));
        let words = [
            "task_status_update",
            "task_progress_update",
            "task_completed",
            "task_failed",
            "task_cancelled",
            "events_dropped",
        ];
        assert!((0..).zip(words).eq(announcements));
        for number in 0..=u8::MAX {
            let state = State::from_number(number).map(State::number);
            assert_eq!(state, (number < 5).then_some(number));
            let announcement = Announcement::from_number(number).map(Announcement::number);
            assert_eq!(announcement, (number < 6).then_some(number));
        }
    }

    #[test]
    fn every_name_is_parsed_back_to_its_state() {
        for state in State::ALL {
            assert_eq!(State::from_word(state.word()), Some(state));
        }
        assert_eq!(State::from_word("done"), None);
    }
}
