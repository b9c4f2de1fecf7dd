//! How an input is corrected, said in one sentence.

use panpan_failure::{Failure, ViolationKind};

use crate::schema::{INSIDE, NO_SUCH_MEMBER};

/// How many members an action names that have to be corrected.
const CORRECTIONS_LIMIT: usize = 5;
/// The member that names a key where a call is described, and that inputs have no use for.
const KEY_MEMBER: &str = "idempotency_key";
/// The longest rule for a member that an action repeats, in bytes.
const EXPECTED_BYTES_LIMIT: usize = 120;

/// Which members to correct, and what they must be, where a few are named. If the caller sent its input
/// inside an argument, the names start with that argument: `input/limit`.
pub(super) fn correction(failure: &Failure, stands_in: Option<&str>) -> Option<String> {
    let mut wrong: Vec<Wrong<'_>> = Vec::new();
    for violation in failure.violations() {
        let name = violation.pointer.trim_start_matches('/');
        let is_new = wrong.iter().all(|known| known.name != name);
        if !name.is_empty() && is_new {
            let expected = violation.expected.as_deref();
            wrong.push(Wrong {
                name,
                stands_in,
                is_missing: violation.kind == ViolationKind::Missing,
                expected,
            });
        }
    }
    // What members belong into need not be asked for by itself.
    let places: Vec<&str> = wrong.iter().filter_map(Wrong::place).collect();
    wrong.retain(|it| !(it.is_missing && places.contains(&it.name)));
    if wrong.is_empty() || wrong.len() > CORRECTIONS_LIMIT {
        return None;
    }
    let rules: String = wrong.iter().filter_map(Wrong::rule).collect();
    let mut steps = vec![Step::Correct, Step::Add, Step::MoveOut, Step::LeaveOut];
    let mut places: Vec<&str> = wrong.iter().filter_map(Wrong::place).collect();
    places.sort_unstable();
    places.dedup();
    steps.extend(places.into_iter().map(Step::MoveInto));
    let steps = steps.into_iter().filter_map(|step| {
        let names = wrong.iter().filter(|it| it.step() == step);
        let names: Vec<String> = names.map(Wrong::shown).collect();
        (!names.is_empty()).then(|| step.said_of(&names.join(", "), stands_in))
    });
    let steps: Vec<String> = steps.collect();
    let steps = capitalised(&steps.join(", "));
    Some(format!("{rules}{steps}, then call again"))
}

/// A member of the input that is wrong.
struct Wrong<'a> {
    name: &'a str,
    stands_in: Option<&'a str>,
    is_missing: bool,
    expected: Option<&'a str>,
}

/// What to do about a member that is wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step<'a> {
    Correct,
    Add,
    /// It belongs into this member.
    MoveInto(&'a str),
    /// It belongs beside the argument that holds the input.
    MoveOut,
    LeaveOut,
}

impl Step<'_> {
    fn said_of(self, names: &str, stands_in: Option<&str>) -> String {
        match self {
            Step::Correct => format!("correct {names}"),
            Step::Add => format!("add {names}"),
            Step::MoveInto(place) => {
                let place = within(stands_in, place);
                format!("write {names} inside {place}")
            }
            Step::MoveOut => {
                let stands_in = stands_in.unwrap_or_default();
                format!("write {KEY_MEMBER} beside {stands_in}, not in it")
            }
            Step::LeaveOut => format!("leave out {names}"),
        }
    }
}

impl<'a> Wrong<'a> {
    /// The member it belongs into.
    fn place(&self) -> Option<&'a str> {
        self.expected?.strip_prefix(INSIDE)
    }

    fn step(&self) -> Step<'a> {
        if let Some(place) = self.place() {
            return Step::MoveInto(place);
        }
        match self.expected {
            _ if self.is_missing => Step::Add,
            Some(NO_SUCH_MEMBER) if self.stands_in.is_some() && self.name == KEY_MEMBER => {
                Step::MoveOut
            }
            Some(NO_SUCH_MEMBER) => Step::LeaveOut,
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

    /// Its name as the caller wrote it.
    fn shown(&self) -> String {
        within(self.stands_in, self.name)
    }
}

/// The name of a member, under the argument that holds the input.
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

/// The name of a type as a sentence needs it.
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
        )
    }

    #[test]
    fn each_member_is_corrected_added_or_left_out() {
        let wrong = |pointer: &str| Violation::value(pointer, "no");
        for (violations, said) in [
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
            (vec![wrong("")], None),
        ] {
            assert_eq!(corrected(violations).as_deref(), said);
        }
        assert_eq!(corrected((0..9).map(|it| wrong(&format!("/{it}")))), None);
    }

    #[test]
    fn members_are_named_where_their_caller_wrote_them() {
        let failure = Failure::new(codes::INVALID_INPUT).with_violations([
            Violation::missing("/body/sku"),
            Violation::value("/idempotency_key", "no").expected(NO_SUCH_MEMBER),
        ]);
        for (stands_in, said) in [
            (
                None,
                "Add body/sku, leave out idempotency_key, then call again",
            ),
            (
                Some("input"),
                "Add input/body/sku, write idempotency_key beside input, not in it, then call again",
            ),
        ] {
            assert_eq!(correction(&failure, stands_in).as_deref(), Some(said));
        }
    }
}
