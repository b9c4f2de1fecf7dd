//! Reads statements that are certain from a text: a delay, an effect of none, what an input has to be.
//!
//! Tables of forms (`delays`, `effects`, `demands`, `conditions`, `passing`) read the text; each form is proven by samples
//! and by innocents that look like it. Other text is ignored: a wrong delay or effect is worse than none.
//! Works on declared and received texts; the caller decides which takes precedence.

mod amounts;
mod compared;
mod conditions;
mod delays;
mod demands;
mod done;
mod effects;
mod expected;
mod form;
mod invitations;
mod members;
mod moments;
mod polling;
mod quoted;
mod reported;
mod sentences;
mod unfinished;

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::Value;

pub use conditions::Condition;
pub use expected::Expectation;
pub use members::InputMembers;

use crate::failure::Violation;
use conditions::conditions;
use delays::DELAYS;
use demands::DEMANDS;
use effects::EFFECTS;
use form::{Form, Reading};
use polling::POLLING;
use unfinished::UNFINISHED;

/// Longest text that is read, in bytes. A longer text is ignored, because a cut could remove words that
/// revoke a statement.
pub const STATEMENTS_BYTES_LIMIT: usize = 2_000;

/// Most demands that are read from one text.
const DEMANDS_LIMIT: usize = 16;

/// The statements of a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statements {
    /// How long to wait before the call is repeated; the longest of several delays.
    pub delay_ms: Option<u64>,
    /// How long to wait before a call that reads is repeated; [`of_read`](Self::of_read) makes it the delay.
    pub poll_ms: Option<u64>,
    /// Whether the text says that something is still in progress.
    pub is_in_progress: bool,
    /// The time after which the call may be repeated, as written; [`at`](Self::at) makes it a delay.
    pub moment: Option<String>,
    /// Whether the text states a time to repeat the call that no clock can compare, such as `tomorrow`.
    pub states_uncertain_moment: bool,
    /// Whether the text states that nothing was changed, and does not report any effect.
    pub nothing_happened: bool,
    /// Whether the text reports an effect.
    pub something_happened: bool,
    /// Whether the text reports finished work with certainty.
    pub work_done: bool,
    /// Whether the text reports that this call did its work before it failed.
    pub done_before_failure: bool,
    /// Whether the text reports that one part was done and another failed.
    pub done_in_part: bool,
    /// The condition that the text reports.
    pub condition: Option<Condition>,
    /// The address at which a person has to sign in.
    pub sign_in_url: Option<String>,
    /// What members of the input have to be.
    pub demands: Vec<Demand>,
}

/// A statement about what one member of the input has to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// JSON pointer to the member in the input.
    pub pointer: String,
    /// The expected value.
    pub expectation: Expectation,
    /// The clause that states it.
    pub clause: String,
}

/// Reads the statements of a received text.
///
/// Demands are only read for known members of the input.
///
/// ```
/// use panpan_failure::classify::{InputMembers, statements};
///
/// let members = InputMembers::of_schema(&serde_json::json!({"properties": {"limit": {}}}));
/// let read = statements("An export is running, nothing was changed, retry in 5 seconds.", &members);
/// assert_eq!((read.delay_ms, read.nothing_happened), (Some(5_000), true));
/// let read = statements("`limit` may not exceed 100", &members);
/// assert_eq!(read.demands[0].expectation.to_string(), "at most 100");
/// ```
pub fn statements(text: &str, members: &InputMembers) -> Statements {
    read(text, members, |reading| {
        !matches!(reading, Reading::DeclaredNoEffect)
    })
}

/// Reads the statements of a declared text. It describes the whole operation: if nothing was charged, nothing
/// was changed.
pub fn declared_statements(text: &str, members: &InputMembers) -> Statements {
    read(text, members, |_| true)
}

fn read(text: &str, members: &InputMembers, applies: impl Fn(Reading) -> bool) -> Statements {
    let mut statements = Statements::default();
    if text.len() > STATEMENTS_BYTES_LIMIT {
        return statements;
    }
    for sentence in sentences::of(text) {
        for form in forms().filter(|it| applies(it.reading)) {
            form.read(&sentence, members, &mut statements);
        }
    }
    statements.states_uncertain_moment &= statements.moment.is_none();
    statements.something_happened = reported::effect(text);
    statements.work_done = reported::work_done(text);
    statements.done_before_failure = done::before_failure(text);
    statements.done_in_part = reported::partial_effect(text);
    statements.add_invitation(text);
    if statements.condition == Some(Condition::SignIn) {
        statements.sign_in_url = invitations::sign_in_url(text);
    }
    statements.nothing_happened &= !statements.something_happened;
    statements.demands.truncate(DEMANDS_LIMIT);
    statements
}

/// Every form, in the order of reading.
fn forms() -> impl Iterator<Item = &'static Form> {
    DELAYS
        .iter()
        .chain(&EFFECTS)
        .chain(&DEMANDS)
        .chain(conditions())
        .chain(&UNFINISHED)
        .chain(&POLLING)
}

/// The expectation in a text about one member that is named elsewhere: `must be an integer`.
pub fn expectation(text: &str) -> Option<Expectation> {
    let mut members = InputMembers::default();
    members.add("member", "/member");
    let read = statements(&format!("{ANY_MEMBER} {}", predicate(text)), &members);
    read.demands.into_iter().next().map(|it| it.expectation)
}

/// The subject of a text whose member is named elsewhere.
const ANY_MEMBER: &str = "`member`";

/// Beginnings that refer to that member, and what they become behind its name.
const REFERENCES: [(&str, &str); 6] = [
    ("ensure this value is ", "must be "),
    ("ensure this field has ", "must have "),
    ("this field ", ""),
    ("this value ", ""),
    ("this parameter ", ""),
    ("input should ", "should "),
];

/// The text without the words for its subject: `This field is required` becomes `is required`.
fn predicate(text: &str) -> Cow<'_, str> {
    let text = text.trim_start();
    let starts = |it: &&(&str, &str)| {
        let start = text.get(..it.0.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(it.0))
    };
    match REFERENCES.iter().find(starts) {
        Some((start, verb)) => format!("{verb}{}", &text[start.len()..]).into(),
        None => text.into(),
    }
}

impl Statements {
    /// Whether nothing was read.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The statements of a text that was received now: a moment becomes a delay, if it is still to come.
    #[must_use]
    pub fn at(mut self, now: Timestamp) -> Self {
        let moment = self.moment.as_deref();
        let delay_ms = moment.and_then(|it| moments::delay_ms(it, now));
        self.delay_ms = self.delay_ms.max(delay_ms);
        self
    }

    /// The statements of a text about a call that only reads. It has no effect, so every effect in the text is earlier
    /// work, and a time to look again is a time to repeat it.
    #[must_use]
    pub fn of_read(mut self) -> Self {
        self.something_happened = false;
        self.work_done = false;
        self.done_before_failure = false;
        self.done_in_part = false;
        self.delay_ms = self.delay_ms.or(self.poll_ms);
        let in_progress = self.is_in_progress.then_some(Condition::Unfinished);
        self.condition = self.condition.or(in_progress);
        self
    }

    /// Adds the condition of a text that only invites to repeat the call.
    fn add_invitation(&mut self, text: &str) {
        let says_more = self.condition.is_some()
            || !self.demands.is_empty()
            || self.states_uncertain_moment
            || self.something_happened;
        if !says_more && invitations::is_bare(text) {
            self.condition = Some(Condition::Unavailable);
        }
    }

    /// The demands as violations, with the actual values.
    pub fn violations(&self, input: &Value) -> Vec<Violation> {
        let demands = self.demands.iter();
        demands.map(|it| it.violation(input)).collect()
    }

    /// The demands that this input breaks, as violations. A description lists every way to fail; only the
    /// broken demands can be the cause.
    pub fn broken_by(&self, input: &Value) -> Vec<Violation> {
        let broken = |it: &&Demand| !it.expectation.is_met_by(input.pointer(&it.pointer));
        let demands = self.demands.iter().filter(broken);
        demands.map(|it| it.violation(input)).collect()
    }
}

impl Demand {
    fn violation(&self, input: &Value) -> Violation {
        let mut violation = Violation::value(&self.pointer, &self.clause);
        violation.kind = self.expectation.kind();
        violation.expected = Some(self.expectation.to_string());
        violation.actual = input.pointer(&self.pointer).filter(is_scalar).cloned();
        violation
    }
}

/// Only scalars are shown as actual values.
fn is_scalar(value: &&Value) -> bool {
    !value.is_object() && !value.is_array()
}

#[cfg(test)]
mod tests;
