//! The arguments of the tools that are no operations, read with every problem told at once.

use panpan_failure::pointer::joined;
use panpan_failure::{Failure, Violation, codes};
use panpan_runtime::{VIOLATIONS_LIMIT, shown};
use serde_json::{Map, Value};

/// Arguments that are being read.
#[derive(Debug)]
pub(super) struct Arguments<'a> {
    /// Where they stand among all arguments.
    at: String,
    members: Map<String, Value>,
    problems: &'a mut Problems,
}

/// What is wrong with arguments.
#[derive(Debug, Default)]
pub(super) struct Problems(Vec<Violation>);

impl Problems {
    pub(super) fn add(&mut self, violation: Violation) {
        if self.0.len() < VIOLATIONS_LIMIT {
            self.0.push(violation);
        }
    }

    /// The failure they make, if there are any.
    pub(super) fn failure(self) -> Option<Failure> {
        let first = self.0.first()?;
        let message = match first.pointer.as_str() {
            "" => first.reason.clone(),
            pointer => format!("{pointer}: {}", first.reason),
        };
        let failure = Failure::new(codes::INVALID_INPUT).with_message(message);
        Some(self.0.into_iter().fold(failure, Failure::with_violation))
    }
}

impl<'a> Arguments<'a> {
    /// Begins to read what stands at a pointer.
    pub(super) fn of(input: Value, at: &str, problems: &'a mut Problems) -> Self {
        let members = match input {
            Value::Object(members) => members,
            other => {
                problems.add(wrong_type(at.to_owned(), "object", &other));
                Map::new()
            }
        };
        Self {
            at: at.to_owned(),
            members,
            problems,
        }
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.members.remove(name)
    }

    /// A text that may be left out.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text),
            other => {
                self.problems
                    .add(wrong_type(self.place(name), "string", &other));
                None
            }
        }
    }

    /// A text that has to be there.
    pub(super) fn required_text(&mut self, name: &str) -> String {
        if !self.members.contains_key(name) {
            self.problems.add(Violation::missing(self.place(name)));
        }
        self.text(name).unwrap_or_default()
    }

    /// A whole number from one up that may be left out.
    pub(super) fn count(&mut self, name: &str) -> Option<u64> {
        let value = self.take(name)?;
        let count = value.as_u64().filter(|count| *count > 0);
        if count.is_none() {
            let reason = "not a whole number from 1 up";
            self.problem(name, reason, "integer from 1 up", &value);
        }
        count
    }

    /// Says what is wrong with an argument.
    pub(super) fn problem(&mut self, name: &str, reason: &str, expected: &str, actual: &Value) {
        let violation = Violation::value(self.place(name), reason).expected(expected);
        self.problems.add(Violation {
            actual: shown(actual),
            ..violation
        });
    }

    /// Says what is wrong with arguments nobody asked for.
    pub(super) fn finish(self) -> &'a mut Problems {
        for name in self.members.keys() {
            let place = self.place(name);
            self.problems
                .add(Violation::value(place, "there is no such argument"));
        }
        self.problems
    }

    fn place(&self, name: &str) -> String {
        joined(&self.at, name)
    }
}

fn wrong_type(pointer: String, expected: &str, actual: &Value) -> Violation {
    Violation {
        actual: shown(actual),
        ..Violation::wrong_type(pointer, expected, Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_problem_is_told_at_once() {
        let mut problems = Problems::default();
        let input = json!({"limit": 0, "query": 7, "a/b": 1});
        let mut arguments = Arguments::of(input, "/calls/2", &mut problems);
        arguments.required_text("operation");
        assert_eq!(
            (arguments.text("query"), arguments.count("limit")),
            (None, None)
        );
        arguments.finish();
        let failure = problems.failure().unwrap();
        let pointers: Vec<&str> = failure.violations().iter().map(|it| &*it.pointer).collect();
        assert_eq!(
            pointers,
            [
                "/calls/2/operation",
                "/calls/2/query",
                "/calls/2/limit",
                "/calls/2/a~1b"
            ]
        );
    }

    #[test]
    fn arguments_that_are_no_object_are_one_problem() {
        let mut problems = Problems::default();
        let arguments = Arguments::of(json!([1]), "", &mut problems);
        arguments.finish();
        let failure = problems.failure().unwrap();
        assert_eq!(failure.violations()[0].expected.as_deref(), Some("object"));
        assert!(Problems::default().failure().is_none());
    }

    #[test]
    fn only_so_many_problems_are_told() {
        let told = |count: usize| {
            let mut problems = Problems::default();
            let members = (0..count).map(|at| (at.to_string(), Value::Null)).collect();
            Arguments::of(Value::Object(members), "", &mut problems).finish();
            problems.failure().unwrap().violations().len()
        };
        assert_eq!(told(VIOLATIONS_LIMIT), VIOLATIONS_LIMIT);
        assert_eq!(told(VIOLATIONS_LIMIT + 1), VIOLATIONS_LIMIT);
    }
}
