//! Replaces the references in the inputs of a task by values in the results of its dependencies.
//!
//! What a reference is, and how references are found, is in the module above.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use panpan_failure::read::type_name;
use panpan_failure::{Failure, Violation, codes, size};
use serde_json::{Map, Value};
use thiserror::Error;

use super::{
    FROM, InvalidReference, Path, REFERENCES_LIMIT, REFERRED_BYTES_LIMIT, RESOLVED_BYTES_LIMIT,
    Reference, read, visit_references,
};
use crate::kept::read_kept;
use crate::task::{TaskId, result_object};

/// Why references cannot be resolved.
#[derive(Clone, Debug, PartialEq, Error)]
pub(crate) enum ReferenceError {
    /// An object is not a reference. The pointer starts at the inputs.
    #[error("inputs{0}")]
    Invalid(InvalidReference),
    /// There are too many references.
    #[error("the inputs have more than {REFERENCES_LIMIT} references")]
    TooMany,
    /// The result has no value at the pointer.
    #[error("inputs{at}: there is no value at {reference}")]
    Missing {
        /// Where the reference is in the inputs.
        at: String,
        /// The reference.
        reference: Reference,
    },
    /// The inputs are a reference as a whole, and the value is not an object.
    #[error("inputs have to be an object, and {reference} is {found}")]
    NotAnObject {
        /// The reference.
        reference: Reference,
        /// The type of the value.
        found: &'static str,
    },
    /// The values of the references are too large together.
    #[error(
        "inputs{at}: with {reference}, the values of the references exceed {RESOLVED_BYTES_LIMIT} bytes"
    )]
    TooLarge {
        /// Where the first reference beyond the limit is in the inputs.
        at: String,
        /// The reference.
        reference: Reference,
    },
    /// The results that the inputs refer to are too large.
    #[error(
        "the results that the inputs refer to have {bytes} bytes together, and at most {REFERRED_BYTES_LIMIT} are read"
    )]
    ResultsTooLarge {
        /// Their bytes.
        bytes: usize,
    },
}

impl From<ReferenceError> for Failure {
    fn from(error: ReferenceError) -> Self {
        let failure = Failure::new(codes::INVALID_INPUT_ERROR).with_message(error.to_string());
        let (at, reference, reason) = match error {
            ReferenceError::Invalid(InvalidReference(mut violation)) => {
                violation.pointer.insert_str(0, "/inputs");
                return failure.with_violation(violation);
            }
            ReferenceError::Missing { at, reference } => (at, reference, "no such value"),
            ReferenceError::NotAnObject { reference, .. } => {
                (String::new(), reference, "not an object")
            }
            ReferenceError::TooLarge { at, reference } => (at, reference, "too large"),
            ReferenceError::TooMany | ReferenceError::ResultsTooLarge { .. } => {
                return failure
                    .with_violation(Violation::value("/inputs".to_owned(), "too large"))
                    .with_actions([
                        "Refer to fewer or smaller results in the inputs of the task, then execute it again",
                    ]);
            }
        };
        failure
            .with_violation(Violation::value(format!("/inputs{at}"), reason))
            .with_detail("dependency_id", reference.task.to_string())
            .with_detail("pointer", reference.pointer)
            .with_actions([
                "Correct the reference in the inputs of the task, then execute it again",
            ])
    }
}

/// The inputs with the values that the references stand for. A reference to a task without a result is `null`: that is
/// an optional dependency that did not complete.
///
/// Of the stored results, only what the inputs refer to stays in memory: a parsed result can take many times the memory
/// of its text.
pub(crate) fn resolve_stored(
    inputs: &Map<String, Value>,
    results: &BTreeMap<TaskId, Option<Arc<str>>>,
) -> Result<Map<String, Value>, Unresolved> {
    let mut referred: BTreeMap<TaskId, Vec<Reference>> = BTreeMap::new();
    for reference in distinct(inputs)? {
        referred.entry(reference.task).or_default().push(reference);
    }
    let mut values: HashMap<Reference, Option<Value>> = HashMap::new();
    let mut room = RESOLVED_BYTES_LIMIT;
    for (task, references) in referred {
        let Some(Some(text)) = results.get(&task) else {
            continue;
        };
        let kept = read_kept(text)?;
        let result = result_object(&kept.value);
        for reference in references {
            let value = result.pointer(&reference.pointer);
            if let Some(value) = value {
                let Some(left) = size::remaining_bytes(value, room) else {
                    let at = place_of(inputs, &reference);
                    return Err(ReferenceError::TooLarge { at, reference }.into());
                };
                room = left;
            }
            values.insert(reference, value.cloned());
        }
    }
    let value = |it: &Reference| Some(values.get(it)?.as_ref());
    Ok(Resolver::of(value).inputs(inputs)?)
}

/// The different references in inputs, in the order of the members, if there are not too many.
fn distinct(inputs: &Map<String, Value>) -> Result<Vec<Reference>, ReferenceError> {
    let (mut distinct, mut known, mut count) = (Vec::new(), HashSet::new(), 0);
    let visited = visit_references(inputs, |found| {
        count += 1;
        let new = found.read().ok().filter(|it| known.insert(it.clone()));
        distinct.extend(new);
        match count > REFERENCES_LIMIT {
            true => ControlFlow::Break(ReferenceError::TooMany),
            false => ControlFlow::Continue(()),
        }
    });
    match visited {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(distinct),
    }
}

/// Where inputs have a reference first.
fn place_of(inputs: &Map<String, Value>, reference: &Reference) -> String {
    let visited = visit_references(inputs, |found| match found.read() {
        Ok(it) if it == *reference => ControlFlow::Break(found.pointer()),
        _ => ControlFlow::Continue(()),
    });
    visited.break_value().unwrap_or_default()
}

/// Why references to stored results cannot be resolved.
#[derive(Debug, Error)]
pub(crate) enum Unresolved {
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// A stored result cannot be read.
    #[error(transparent)]
    Unreadable(#[from] serde_json::Error),
}

struct Resolver<F> {
    /// The value of a reference: nothing without a result, and no value if the result has none there.
    value: F,
    /// Bytes that are left for values of references; what a client wrote itself is limited by the request.
    room: usize,
    /// How many more references are read.
    left: usize,
    path: Path,
}

impl<'a, F: Fn(&Reference) -> Option<Option<&'a Value>>> Resolver<F> {
    fn of(value: F) -> Self {
        Self {
            value,
            room: RESOLVED_BYTES_LIMIT,
            left: REFERENCES_LIMIT,
            path: Path::default(),
        }
    }

    /// Inputs may be a reference as a whole.
    fn inputs(
        &mut self,
        inputs: &Map<String, Value>,
    ) -> Result<Map<String, Value>, ReferenceError> {
        if !inputs.contains_key(FROM) {
            return self.members(inputs);
        }
        match self.reference(inputs)? {
            Value::Object(members) => Ok(members),
            other => Err(ReferenceError::NotAnObject {
                reference: read(inputs).map_err(ReferenceError::Invalid)?,
                found: type_name(&other),
            }),
        }
    }

    fn members(
        &mut self,
        members: &Map<String, Value>,
    ) -> Result<Map<String, Value>, ReferenceError> {
        let mut resolved = Map::new();
        for (name, value) in members {
            let length = self.path.push(name);
            resolved.insert(name.clone(), self.value(value)?);
            self.path.truncate(length);
        }
        Ok(resolved)
    }

    fn items(&mut self, items: &[Value]) -> Result<Vec<Value>, ReferenceError> {
        let mut resolved = Vec::with_capacity(items.len());
        for (position, item) in items.iter().enumerate() {
            let length = self.path.push_position(position);
            resolved.push(self.value(item)?);
            self.path.truncate(length);
        }
        Ok(resolved)
    }

    fn value(&mut self, value: &Value) -> Result<Value, ReferenceError> {
        match value {
            Value::Object(members) if members.contains_key(FROM) => self.reference(members),
            Value::Object(members) => self.members(members).map(Value::Object),
            Value::Array(items) => self.items(items).map(Value::Array),
            other => Ok(other.clone()),
        }
    }

    fn reference(&mut self, members: &Map<String, Value>) -> Result<Value, ReferenceError> {
        self.left = self.left.checked_sub(1).ok_or(ReferenceError::TooMany)?;
        let reference = read(members).map_err(|invalid| {
            let violation = invalid.below(&self.path.shown());
            ReferenceError::Invalid(InvalidReference(violation))
        })?;
        let Some(value) = (self.value)(&reference) else {
            return Ok(Value::Null);
        };
        let at = || self.path.shown();
        let Some(value) = value else {
            return Err(ReferenceError::Missing {
                at: at(),
                reference,
            });
        };
        let Some(room) = size::remaining_bytes(value, self.room) else {
            return Err(ReferenceError::TooLarge {
                at: at(),
                reference,
            });
        };
        self.room = room;
        Ok(value.clone())
    }
}
