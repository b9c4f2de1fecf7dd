//! The members of a task that have a form of their own.

use panpan_contract::retry::RetryPolicy;
use panpan_failure::Violation;
use panpan_failure::pointer::joined;
use panpan_runtime::shown;
use serde_json::{Map, Value};

use super::{Reader, UUID, task_id};
use crate::plan::ProblemKind;
use crate::task::call_options::TaskCallOptions;
use crate::task::definition::SCHEMA_TYPES;
use crate::task::members::{NESTING_LIMIT, SET_BY_SERVER, is_deeper_than, wrong_type};
use crate::task::retry::read_retry;
use crate::task::{Dependency, Provenance, Schemas, TaskId};

impl Reader<'_> {
    pub(super) fn schemas(&mut self) -> Option<Schemas> {
        const NAME: &str = "schemas";
        const KNOWN: [&str; 4] = ["method", "type", "input_schema", "model"];
        let at = self.place.member(NAME);
        let members = match self.nullable(NAME)? {
            Value::Object(members) => members,
            other => {
                self.malformed(|| wrong_type(at, "an object with `method`, or null", other));
                return None;
            }
        };
        let method = self.non_empty(&[NAME], "method");
        if members.get("method").is_none_or(Value::is_null) {
            let missing = Violation::missing(joined(&at, "method"));
            self.malformed(|| missing.expected("the name of an operation"));
        }
        let kind = self.non_empty(&[NAME], "type");
        if let Some(kind) = kind.filter(|it| !SCHEMA_TYPES.contains(it)) {
            let violation = Violation::value(joined(&at, "type"), "unknown type");
            let expected = SCHEMA_TYPES.join(", ");
            self.malformed(|| violation.expected(expected).actual(shown_text(kind)));
        }
        let model = self.non_empty(&[NAME], "model");
        let extra = members
            .iter()
            .filter(|(it, _)| !KNOWN.contains(&it.as_str()));
        let schemas = Schemas::new(method?)?
            .with_kind(kind.map(str::to_owned))
            .with_model(model.map(str::to_owned))
            .with_extra(
                extra
                    .map(|(it, value)| (it.clone(), value.clone()))
                    .collect(),
            );
        let input_schema = members.get("input_schema").unwrap_or(&Value::Null);
        Some(schemas.with_input_schema(input_schema.clone()))
    }

    pub(super) fn dependencies(&mut self) -> Vec<Dependency> {
        let items = match self.members.get("dependencies") {
            None => return Vec::new(),
            Some(Value::Array(items)) => items,
            Some(other) => {
                let pointer = self.place.member("dependencies");
                self.malformed(|| wrong_type(pointer, "a list of dependencies", other));
                return Vec::new();
            }
        };
        let mut dependencies = Vec::with_capacity(items.len());
        for (position, item) in items.iter().enumerate() {
            match dependency(item) {
                Ok(dependency) => dependencies.push(dependency),
                Err(violation) => {
                    let at = self.place.member("dependencies");
                    let pointer = format!("{at}/{position}{}", violation.pointer);
                    self.malformed(|| Violation {
                        pointer,
                        ..violation
                    });
                }
            }
        }
        dependencies
    }

    pub(super) fn retry(&mut self) -> Option<RetryPolicy> {
        let read = read_retry(self.nullable("retry")?, &self.place.member("retry"));
        let violations = match read {
            Ok(policy) => return Some(policy),
            Err(violations) => violations,
        };
        for violation in violations {
            self.malformed(|| violation);
        }
        None
    }

    pub(super) fn params(&mut self) -> Option<Map<String, Value>> {
        let params = self.object("params", true)?;
        let at = self.place.member("params");
        if let Err(violations) = TaskCallOptions::of(Some(&params)) {
            for mut violation in violations {
                violation.pointer.insert_str(0, &at);
                self.malformed(|| violation);
            }
        }
        Some(params)
    }

    /// Everything wrong with an origin is an invalid task schema, also a malformed id.
    pub(super) fn origin(&mut self) -> Provenance {
        const TYPES: [&str; 4] = ["create", "link", "copy", "archive"];
        const ORIGINAL: &str = "original_task_id";
        let kind = ProblemKind::Schema;
        let original = self.nullable_id(ORIGINAL, kind);
        let is_stated = self.nullable(ORIGINAL).is_some();
        let place = self.place;
        let origin_type = self.nullable("origin_type");
        let word = origin_type.map_or(Some(TYPES[0]), Value::as_str);
        let make: fn(TaskId) -> Provenance = match word {
            Some("link") => Provenance::Link,
            Some("copy") => Provenance::Copy,
            Some("archive") => Provenance::Archive,
            Some("create") => {
                if is_stated {
                    let reason = "a task with origin_type create has no original";
                    let violation = Violation::value(place.member(ORIGINAL), reason);
                    let expected = "no value, or origin_type link, copy or archive";
                    self.note(kind, || violation.expected(expected));
                }
                return Provenance::Create;
            }
            _ => {
                let violation = Violation::value(place.member("origin_type"), "unknown origin");
                self.note(kind, || Violation {
                    actual: origin_type.and_then(shown),
                    ..violation.expected(TYPES.join(", "))
                });
                return Provenance::Create;
            }
        };
        if !is_stated {
            let missing = Violation::missing(place.member(ORIGINAL));
            self.note(kind, || missing.expected("the id of the original task"));
        }
        original.map_or(Provenance::Create, make)
    }

    pub(super) fn server_set(&mut self) {
        for member in SET_BY_SERVER {
            let value = self.members.get(member.name);
            let Some(value) = value.filter(|it| !member.initial.allows(it)) else {
                continue;
            };
            let pointer = self.place.member(member.name);
            let reason = format!("{} of a new task is set by the server", member.name);
            self.note(ProblemKind::Schema, || Violation {
                actual: shown(value),
                ..Violation::value(pointer, reason).expected(member.initial.word())
            });
        }
    }

    pub(super) fn nesting(&mut self) {
        for (name, value) in self.members {
            if is_deeper_than(value, NESTING_LIMIT) {
                let pointer = self.place.member(name);
                self.malformed(|| {
                    let expected = format!("at most {NESTING_LIMIT} levels");
                    Violation::value(pointer, "nested too deeply").expected(expected)
                });
            }
        }
    }
}

fn shown_text(text: &str) -> Value {
    shown(&text.into()).unwrap_or_default()
}

/// Reads a dependency; the pointer of a violation starts at the dependency.
fn dependency(item: &Value) -> Result<Dependency, Violation> {
    let Some(members) = item.as_object() else {
        return Err(wrong_type(String::new(), "an object with `id`", item));
    };
    let id = match members.get("id") {
        Some(id) => task_id(id, "/id".to_owned())?,
        None => return Err(Violation::missing("/id").expected(UUID)),
    };
    match members.get("required").unwrap_or(&Value::Bool(true)) {
        Value::Bool(required) => Ok(Dependency {
            id,
            required: *required,
        }),
        other => Err(wrong_type("/required".to_owned(), "true or false", other)),
    }
}
