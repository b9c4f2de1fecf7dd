//! Parses the arguments of the gateway tools and reports all violations at once.

use panpan_failure::pointer::joined;
use panpan_failure::{Failure, Violation, codes};
use panpan_runtime::{VIOLATIONS_LIMIT, shown};
use serde_json::{Map, Value};

/// Arguments that are being parsed.
#[derive(Debug)]
pub(super) struct Arguments<'a> {
    /// The pointer to these arguments within all arguments.
    pointer: String,
    members: Map<String, Value>,
    violations: &'a mut Violations,
}

/// The violations found so far.
#[derive(Debug, Default)]
pub(super) struct Violations(Vec<Violation>);

impl Violations {
    pub(super) fn add(&mut self, violation: Violation) {
        if self.0.len() < VIOLATIONS_LIMIT {
            self.0.push(violation);
        }
    }

    /// The failure that reports the violations, if there are any.
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
    /// Starts to parse the object at a pointer.
    pub(super) fn new(input: Value, pointer: &str, violations: &'a mut Violations) -> Self {
        let members = match input {
            Value::Object(members) => members,
            other => {
                violations.add(wrong_type(pointer.to_owned(), "object", &other));
                Map::new()
            }
        };
        Self {
            pointer: pointer.to_owned(),
            members,
            violations,
        }
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.members.remove(name)
    }

    /// An optional string.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text),
            other => {
                self.violations
                    .add(wrong_type(self.pointer_to(name), "string", &other));
                None
            }
        }
    }

    /// A required string.
    pub(super) fn required_text(&mut self, name: &str) -> String {
        if !self.members.contains_key(name) {
            self.violations
                .add(Violation::missing(self.pointer_to(name)));
        }
        self.text(name).unwrap_or_default()
    }

    /// An optional integer of at least 1.
    pub(super) fn count(&mut self, name: &str) -> Option<u64> {
        let value = self.take(name)?;
        let count = value.as_u64().filter(|count| *count > 0);
        if count.is_none() {
            let reason = "not an integer of at least 1";
            self.violation(name, reason, "integer of at least 1", &value);
        }
        count
    }

    /// Records a violation of one argument.
    pub(super) fn violation(&mut self, name: &str, reason: &str, expected: &str, actual: &Value) {
        let violation = Violation::value(self.pointer_to(name), reason).expected(expected);
        self.violations.add(Violation {
            actual: shown(actual),
            ..violation
        });
    }

    /// Records the arguments that no parser took as violations.
    pub(super) fn finish(self) -> &'a mut Violations {
        for name in self.members.keys() {
            let pointer = self.pointer_to(name);
            self.violations
                .add(Violation::value(pointer, "unknown argument"));
        }
        self.violations
    }

    fn pointer_to(&self, name: &str) -> String {
        joined(&self.pointer, name)
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
    fn all_violations_are_reported_at_once() {
        let mut violations = Violations::default();
        let input = json!({"limit": 0, "query": 7, "a/b": 1});
        let mut arguments = Arguments::new(input, "/calls/2", &mut violations);
        arguments.required_text("operation");
        assert_eq!(
            (arguments.text("query"), arguments.count("limit")),
            (None, None)
        );
        arguments.finish();
        let failure = violations.failure().unwrap();
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
    fn arguments_that_are_not_an_object_are_one_violation() {
        let mut violations = Violations::default();
        let arguments = Arguments::new(json!([1]), "", &mut violations);
        arguments.finish();
        let failure = violations.failure().unwrap();
        assert_eq!(failure.violations()[0].expected.as_deref(), Some("object"));
        assert!(Violations::default().failure().is_none());
    }

    #[test]
    fn the_number_of_reported_violations_is_limited() {
        let reported = |count: usize| {
            let mut violations = Violations::default();
            let members = (0..count).map(|at| (at.to_string(), Value::Null)).collect();
            Arguments::new(Value::Object(members), "", &mut violations).finish();
            violations.failure().unwrap().violations().len()
        };
        assert_eq!(reported(VIOLATIONS_LIMIT), VIOLATIONS_LIMIT);
        assert_eq!(reported(VIOLATIONS_LIMIT + 1), VIOLATIONS_LIMIT);
    }
}
