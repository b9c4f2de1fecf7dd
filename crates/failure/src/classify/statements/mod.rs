//! What a text states beyond doubt: a delay, that nothing happened, what an input has to be.
//!
//! Prose is read by one table of forms (`forms`), each proven by samples and by innocents that look
//! like it. Text that no form matches is ignored: a wrong delay or a wrong effect is worse than none.
//! Works on any text, declared or received; which of the two wins is decided by the caller.

mod affirmed;
mod amounts;
mod conditions;
mod expected;
mod form;
mod forms;
mod members;
mod sentences;

use serde_json::Value;

pub use conditions::Condition;
pub use expected::Expectation;
pub use members::InputMembers;

use crate::failure::Violation;
use conditions::CONDITIONS;
use form::Says;
use forms::FORMS;

/// The longest text that is read, in bytes. A longer one is not read at all: a cut could remove the
/// words that take a statement back.
pub const STATEMENTS_BYTES_LIMIT: usize = 2_000;

/// How many places of an input one text can name.
const VIOLATIONS_LIMIT: usize = 16;

/// What a text states.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statements {
    /// How long to wait before the call is repeated; the longest, where several are stated.
    pub delay_ms: Option<u64>,
    /// Whether it says that nothing was changed, and nothing else in it says that something was.
    pub nothing_happened: bool,
    /// Whether it says that something was done.
    pub something_happened: bool,
    /// Whether it says that a part was done, and that another failed.
    pub done_in_part: bool,
    /// What it says has happened.
    pub condition: Option<Condition>,
    /// What members of the input have to be.
    pub demands: Vec<Demand>,
}

/// What a text says one member of the input has to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Where the member is, as a JSON pointer into the input.
    pub pointer: String,
    /// What it has to be.
    pub expectation: Expectation,
    /// The clause that says so.
    pub clause: String,
}

/// Reads the statements of a received text that are certain to parse.
///
/// Demands are read only of members the input has.
///
/// ```
/// use crate::classify::{InputMembers, statements};
///
/// let members = InputMembers::of_schema(&serde_json::json!({"properties": {"limit": {}}}));
/// let said = statements("An export is running, nothing was changed, retry in 5 seconds.", &members);
/// assert_eq!((said.delay_ms, said.nothing_happened), (Some(5_000), true));
/// let said = statements("`limit` may not exceed 100", &members);
/// assert_eq!(said.demands[0].expectation.to_string(), "at most 100");
/// ```
pub fn statements(text: &str, members: &InputMembers) -> Statements {
    read(text, members, |says| !matches!(says, Says::NothingDeclared))
}

/// Reads the statements of a declared text that are certain to parse. It speaks of the operation as a
/// whole: where nothing was charged, nothing happened.
pub fn declared_statements(text: &str, members: &InputMembers) -> Statements {
    read(text, members, |_| true)
}

fn read(text: &str, members: &InputMembers, counts: impl Fn(Says) -> bool) -> Statements {
    let mut statements = Statements::default();
    if text.len() > STATEMENTS_BYTES_LIMIT {
        return statements;
    }
    for sentence in sentences::of(text) {
        for form in FORMS.iter().chain(&CONDITIONS).filter(|it| counts(it.says)) {
            form.read(&sentence, members, &mut statements);
        }
    }
    statements.something_happened = affirmed::affirms(text);
    statements.done_in_part = affirmed::affirms_a_part(text);
    statements.nothing_happened &= !statements.something_happened;
    statements.demands.truncate(VIOLATIONS_LIMIT);
    statements
}

/// What one member has to be, by what is said about it where it is named: `must be an integer`.
pub fn expectation(said: &str) -> Option<Expectation> {
    let mut members = InputMembers::default();
    members.add("member", "/member");
    let said = statements(&format!("{ANY_MEMBER} {said}"), &members);
    said.demands.into_iter().next().map(|it| it.expectation)
}

/// Stands for a member that is named elsewhere.
const ANY_MEMBER: &str = "`member`";

impl Statements {
    /// Whether nothing was read.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The demands as violations, with the values they are about.
    pub fn violations(&self, input: &Value) -> Vec<Violation> {
        let demands = self.demands.iter();
        demands.map(|it| it.violation(input)).collect()
    }

    /// The demands this input breaks, as violations. A description tells of every way to fail; only
    /// what the input breaks can be what happened.
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

/// Only values that fit into a line are repeated.
fn is_scalar(value: &&Value) -> bool {
    !value.is_object() && !value.is_array()
}

#[cfg(test)]
mod tests;
