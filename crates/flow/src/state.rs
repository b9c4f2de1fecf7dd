//! The five states of a task and the six steps between them.

use std::fmt;

use panpan_failure::{Failure, codes};

/// Where a task stands.
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
    /// Ended by request.
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

    /// The word this state is written as.
    pub const fn word(self) -> &'static str {
        match self {
            State::Pending => "pending",
            State::InProgress => "in_progress",
            State::Completed => "completed",
            State::Failed => "failed",
            State::Cancelled => "cancelled",
        }
    }

    /// The state a word stands for.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }

    /// The states a task may go to from here. This is the whole table.
    pub const fn next(self) -> &'static [State] {
        match self {
            State::Pending => &[State::InProgress, State::Cancelled],
            State::InProgress => &[State::Completed, State::Failed, State::Cancelled],
            State::Failed => &[State::Pending],
            State::Completed | State::Cancelled => &[],
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.word())
    }
}

/// A step the table does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The task that was to take it.
    pub task_id: String,
    /// Where it stands, and stays.
    pub current: State,
    /// Where it was to go.
    pub wanted: State,
}

/// The state after a step, or why it cannot be taken; then the task stays where it is.
///
/// ```
/// use panpan_flow::{State, transition};
///
/// assert_eq!(transition("t-1", State::Failed, State::Pending), Ok(State::Pending));
/// assert!(transition("t-1", State::Completed, State::Pending).is_err());
/// ```
pub fn transition(task_id: &str, current: State, wanted: State) -> Result<State, Refused> {
    if current.next().contains(&wanted) {
        return Ok(wanted);
    }
    Err(Refused {
        task_id: task_id.to_owned(),
        current,
        wanted,
    })
}

impl Refused {
    /// Why the step cannot be taken.
    pub fn reason(&self) -> String {
        let next: Vec<&str> = self
            .current
            .next()
            .iter()
            .map(|state| state.word())
            .collect();
        if next.is_empty() {
            format!("{} is a terminal state", self.current)
        } else {
            format!(
                "from {} a task can only go to {}",
                self.current,
                next.join(" or ")
            )
        }
    }

    fn attempted(&self) -> String {
        format!("{} -> {}", self.current, self.wanted)
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        let (attempted, reason) = (refused.attempted(), refused.reason());
        Failure::new(codes::INVALID_STATE_TRANSITION)
            .with_message(format!(
                "task {} cannot go {attempted}: {reason}",
                refused.task_id
            ))
            .with_detail("task_id", refused.task_id)
            .with_detail("current_status", refused.current.word())
            .with_detail("attempted_transition", attempted)
            .with_detail("reason", reason)
    }
}

#[cfg(test)]
mod tests {
    use panpan_failure::dialect::{Dialect, Envelope};
    use serde_json::json;

    use super::*;

    #[test]
    fn exactly_six_of_the_twenty_five_steps_are_allowed() {
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
            for wanted in State::ALL {
                pairs += 1;
                let expected = allowed.contains(&(current, wanted)).then_some(wanted);
                let found = transition("t", current, wanted).ok();
                assert_eq!(found, expected, "{current} -> {wanted}");
            }
        }
        assert_eq!(pairs, 25);
    }

    #[test]
    fn a_refused_step_is_shown_with_the_members_of_the_protocol() {
        let refused = transition("t-1", State::Completed, State::InProgress).unwrap_err();
        let failure = Failure::from(refused).redacted();
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

    #[test]
    fn every_word_leads_back_to_its_state() {
        for state in State::ALL {
            assert_eq!(State::from_word(state.word()), Some(state));
        }
        assert_eq!(State::from_word("done"), None);
    }
}
