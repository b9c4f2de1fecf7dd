//! The action that says how to correct an input.

use panpan_failure::{Failure, ViolationKind};

use super::argument_order::LIST_OF_AT_MOST;
use crate::schema::{INSIDE, NAMED, NO_SUCH_MEMBER};

/// The maximum number of members that an action names.
const CORRECTIONS_LIMIT: usize = 5;
/// An argument of the call itself, which callers sometimes write into the input.
const KEY_MEMBER: &str = "idempotency_key";
/// What is expected of a member that is known, but must not be sent.
const NO_VALUE: &str = "no value";
/// The longest expected value that an action repeats, in bytes.
const EXPECTED_BYTES_LIMIT: usize = 120;

/// Names the members to correct and their expected values, unless there are too many. If the caller sent its
/// input inside an argument, the names start with that argument: `input/limit`. `takes_key` says whether the call can
/// have an idempotency key.
pub(super) fn correction(
    failure: &Failure,
    argument: Option<&str>,
    takes_key: bool,
) -> Option<String> {
    let mut wrong: Vec<WrongMember<'_>> = Vec::new();
    for violation in failure.violations() {
        let name = violation.pointer.trim_start_matches('/');
        let is_new = wrong.iter().all(|known| known.name != name);
        if !name.is_empty() && is_new {
            let expected = violation.expected.as_deref();
            wrong.push(WrongMember {
                name,
                argument,
                takes_key,
                is_missing: violation.kind == ViolationKind::Missing,
                expected,
            });
        }
    }
    // A missing parent of misplaced members is not listed separately.
    let parents: Vec<&str> = wrong.iter().filter_map(WrongMember::parent).collect();
    wrong.retain(|it| !(it.is_missing && parents.contains(&it.name)));
    // A missing member that was sent under another name is not added as well.
    let renamed: Vec<String> = wrong.iter().filter_map(WrongMember::right_name).collect();
    wrong.retain(|it| !(it.is_missing && renamed.iter().any(|name| name == it.name)));
    let of_input = rule_of_input(failure, argument);
    if wrong.is_empty() {
        return of_input.map(|rule| format!("{rule}Correct it, then call again"));
    }
    if wrong.len() > CORRECTIONS_LIMIT {
        return None;
    }
    let rules = wrong.iter().filter_map(WrongMember::rule);
    let rules: String = of_input.into_iter().chain(rules).collect();
    let mut steps = vec![
        Step::Correct,
        Step::Add,
        Step::Rename,
        Step::RenameKey,
        Step::MoveOut,
        Step::LeaveOut,
    ];
    let mut parents: Vec<&str> = wrong.iter().filter_map(WrongMember::parent).collect();
    parents.sort_unstable();
    parents.dedup();
    steps.extend(parents.into_iter().map(Step::MoveInto));
    let steps = steps.into_iter().filter_map(|step| {
        let names = wrong.iter().filter(|it| it.step() == step);
        let names: Vec<String> = names.map(WrongMember::named).collect();
        (!names.is_empty()).then(|| step.instruction(&names.join(", "), argument))
    });
    let steps: Vec<String> = steps.collect();
    let steps = capitalised(&steps.join(", "));
    Some(format!("{rules}{steps}, then call again"))
}

/// What the input as a whole must be, if its type is wrong or it has too many arguments.
fn rule_of_input(failure: &Failure, argument: Option<&str>) -> Option<String> {
    let violation = failure
        .violations()
        .iter()
        .find(|it| it.pointer.is_empty())?;
    let expected = violation.expected.as_deref()?;
    let is_about_form =
        violation.kind == ViolationKind::Type || expected.starts_with(LIST_OF_AT_MOST);
    let named = argument.unwrap_or("The input");
    is_about_form.then(|| format!("{named} must be {}. ", with_article(expected)))
}

/// An invalid member of the input.
struct WrongMember<'a> {
    name: &'a str,
    argument: Option<&'a str>,
    takes_key: bool,
    is_missing: bool,
    expected: Option<&'a str>,
}

/// What to do about an invalid member.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step<'a> {
    Correct,
    Add,
    /// It is known under a similar name.
    Rename,
    /// It is the key of the call under another name, such as that of the header.
    RenameKey,
    /// It belongs inside this member.
    MoveInto(&'a str),
    /// It belongs next to the argument that contains the input.
    MoveOut,
    LeaveOut,
}

impl Step<'_> {
    fn instruction(self, names: &str, argument: Option<&str>) -> String {
        match self {
            Step::Correct => format!("correct {names}"),
            Step::Add => format!("add {names}"),
            Step::Rename => format!("rename {names}"),
            Step::RenameKey => match argument {
                Some(argument) => {
                    format!("write {names} as {KEY_MEMBER} next to {argument}, not inside it")
                }
                None => format!("rename {names} to {KEY_MEMBER}"),
            },
            Step::MoveInto(parent) => {
                let parent = within(argument, parent);
                format!("write {names} inside {parent}")
            }
            Step::MoveOut => {
                let argument = argument.unwrap_or_default();
                format!("write {KEY_MEMBER} next to {argument}, not inside it")
            }
            Step::LeaveOut => format!("leave out {names}"),
        }
    }
}

impl<'a> WrongMember<'a> {
    /// The member that it belongs into.
    fn parent(&self) -> Option<&'a str> {
        self.expected?.strip_prefix(INSIDE)
    }

    /// The pointer of the member that it should have been, without the first slash.
    fn right_name(&self) -> Option<String> {
        let right = self.expected?.strip_prefix(NAMED)?;
        let siblings = self.name.rsplit_once('/').map(|(siblings, _)| siblings);
        Some(siblings.map_or(right.to_owned(), |it| format!("{it}/{right}")))
    }

    /// Whether it is the key of the call in another notation. The key itself would have been taken out of the input.
    fn is_key(&self) -> bool {
        let plain = self.name.replace('-', "_").to_ascii_lowercase();
        self.takes_key && plain == KEY_MEMBER && self.name != KEY_MEMBER
    }

    fn step(&self) -> Step<'a> {
        if let Some(parent) = self.parent() {
            return Step::MoveInto(parent);
        }
        match self.expected {
            _ if self.is_missing => Step::Add,
            Some(NO_SUCH_MEMBER) if self.argument.is_some() && self.name == KEY_MEMBER => {
                Step::MoveOut
            }
            Some(NO_SUCH_MEMBER) if self.is_key() => Step::RenameKey,
            Some(NO_SUCH_MEMBER | NO_VALUE) => Step::LeaveOut,
            Some(expected) if expected.starts_with(NAMED) => Step::Rename,
            _ => Step::Correct,
        }
    }

    fn rule(&self) -> Option<String> {
        let expected = self
            .expected
            .filter(|it| it.len() <= EXPECTED_BYTES_LIMIT)?;
        let has_rule = matches!(self.step(), Step::Correct | Step::Add);
        let rule = format!("{} must be {}. ", self.shown(), with_article(expected));
        has_rule.then_some(rule)
    }

    /// Its name as an instruction has it.
    fn named(&self) -> String {
        match self.expected.and_then(|it| it.strip_prefix(NAMED)) {
            Some(right) => format!("{} to {right}", self.shown()),
            None => self.shown(),
        }
    }

    /// Its name as the caller sees it.
    fn shown(&self) -> String {
        within(self.argument, self.name)
    }
}

/// The name of a member inside the argument that contains the input.
fn within(argument: Option<&str>, name: &str) -> String {
    match argument {
        Some(argument) => format!("{argument}/{name}"),
        None => name.to_owned(),
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|it| it.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// The name of a JSON type with an article.
fn with_article(expected: &str) -> &str {
    match expected {
        "array" => "an array",
        "boolean" => "true or false",
        "integer" => "an integer",
        "number" => "a number",
        "object" => "an object",
        "string" => "a string",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use panpan_failure::{Violation, codes};

    use super::*;

    fn corrected(violations: impl IntoIterator<Item = Violation>) -> Option<String> {
        correction(
            &Failure::new(codes::INVALID_INPUT).with_violations(violations),
            None,
            true,
        )
    }

    #[test]
    fn each_member_is_corrected_added_or_left_out() {
        let wrong = |pointer: &str| Violation::value(pointer, "no");
        for (violations, expected) in [
            (vec![], None),
            (
                vec![wrong("/limit"), wrong("/limit"), wrong("/items/0/name")],
                Some("Correct limit, items/0/name, then call again"),
            ),
            (
                vec![wrong("/limit").expected("at most 100")],
                Some("limit must be at most 100. Correct limit, then call again"),
            ),
            (
                vec![
                    wrong("/body/skuu").expected(NO_SUCH_MEMBER),
                    Violation::missing("/body/sku"),
                ],
                Some("Add body/sku, leave out body/skuu, then call again"),
            ),
            (
                vec![
                    wrong("/item").expected("inside body"),
                    wrong("/count").expected("inside body"),
                    Violation::missing("/body"),
                ],
                Some("Write item, count inside body, then call again"),
            ),
            (
                vec![
                    wrong("/limt").expected("named limit"),
                    wrong("/body/skuu").expected("named sku"),
                    Violation::missing("/body/sku"),
                ],
                Some("Rename limt to limit, body/skuu to sku, then call again"),
            ),
            (
                vec![wrong("/Idempotency-Key").expected(NO_SUCH_MEMBER)],
                Some("Rename Idempotency-Key to idempotency_key, then call again"),
            ),
            (
                vec![wrong("/updates/id").expected(NO_VALUE)],
                Some("Leave out updates/id, then call again"),
            ),
            (vec![wrong("")], None),
            (
                vec![Violation::wrong_type("", "object", "a list".into())],
                Some("The input must be an object. Correct it, then call again"),
            ),
            (
                vec![
                    Violation::missing("/a"),
                    wrong("").expected("a list of at most 1: a"),
                ],
                Some("The input must be a list of at most 1: a. Add a, then call again"),
            ),
        ] {
            assert_eq!(corrected(violations).as_deref(), expected);
        }
        assert_eq!(corrected((0..9).map(|it| wrong(&format!("/{it}")))), None);
    }

    #[test]
    fn members_are_named_as_the_caller_sent_them() {
        let failure = Failure::new(codes::INVALID_INPUT).with_violations([
            Violation::missing("/body/sku"),
            Violation::value("/idempotency_key", "no").expected(NO_SUCH_MEMBER),
        ]);
        for (argument, expected) in [
            (
                None,
                "Add body/sku, leave out idempotency_key, then call again",
            ),
            (
                Some("input"),
                "Add input/body/sku, write idempotency_key next to input, not inside it, then call again",
            ),
        ] {
            assert_eq!(
                correction(&failure, argument, true).as_deref(),
                Some(expected)
            );
        }
    }

    #[test]
    fn a_read_that_takes_no_key_leaves_it_out() {
        let unknown = Violation::value("/Idempotency-Key", "no").expected(NO_SUCH_MEMBER);
        let failure = Failure::new(codes::INVALID_INPUT).with_violations([unknown]);
        for (argument, takes_key, expected) in [
            (None, false, "Leave out Idempotency-Key, then call again"),
            (
                Some("input"),
                true,
                "Write input/Idempotency-Key as idempotency_key next to input, not inside it, then call again",
            ),
        ] {
            let found = correction(&failure, argument, takes_key);
            assert_eq!(found.as_deref(), Some(expected));
        }
    }
}
