//! References in the inputs of a task: `{"$from": "<task id>", "pointer": "/a/b"}` is replaced by a value in the
//! result of a dependency. The inputs as a whole may be a reference to an object.
//!
//! [`references`] finds them when a plan is validated, [`resolve_stored`] replaces them before the task runs.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::str::FromStr as _;
use std::sync::Arc;

use panpan_failure::pointer::{is_pointer, joined};
use panpan_failure::read::type_name;
use panpan_failure::{Failure, Violation, codes, size};
use panpan_runtime::shown;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::kept::read_kept;
use crate::task::{TaskId, result_object};

/// The most bytes that references may add to the inputs of a task. Many references to one large result would otherwise
/// multiply it.
pub(crate) const RESOLVED_BYTES_LIMIT: usize = 16 * 1024 * 1024;

/// The most bytes of the results that the inputs of one task may refer to. They are read as a whole, whatever part of
/// them is needed.
pub(crate) const REFERRED_BYTES_LIMIT: usize = 64 * 1024 * 1024;

const FROM: &str = "$from";
const POINTER: &str = "pointer";

/// A reference to a value in the result of a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Reference {
    /// The task.
    pub(crate) task: TaskId,
    /// RFC 6901 pointer into its result; empty for the whole result.
    pub(crate) pointer: String,
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => write!(formatter, "the result of task {}", self.task),
            pointer => write!(formatter, "{pointer} in the result of task {}", self.task),
        }
    }
}

/// An object that has `$from` but is not a reference. The pointer of the violation starts at the inputs.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{}: {}", .0.pointer, .0.reason)]
pub(crate) struct InvalidReference(pub(crate) Violation);

/// A reference and where it is in the inputs; or why it is invalid.
pub(crate) type Found = Result<(String, Reference), InvalidReference>;

/// Finds the references in inputs, in the order of the members. Pointers start at the inputs.
pub(crate) fn references(inputs: &Map<String, Value>) -> impl Iterator<Item = Found> + use<> {
    let mut found = Vec::new();
    collect_members(inputs, &mut Path::default(), &mut found);
    found.into_iter()
}

/// Whether the inputs of a stored definition can have references. Fast, and wrong only for other data with a
/// member of this name.
pub(crate) fn may_have_references(definition: &str) -> bool {
    definition.contains("\"$from\":")
}

fn collect(value: &Value, path: &mut Path, found: &mut Vec<Found>) {
    match value {
        Value::Object(members) => collect_members(members, path, found),
        Value::Array(items) => {
            for (position, item) in items.iter().enumerate() {
                path.within(&position.to_string(), |path| collect(item, path, found));
            }
        }
        _ => {}
    }
}

fn collect_members(members: &Map<String, Value>, path: &mut Path, found: &mut Vec<Found>) {
    if members.contains_key(FROM) {
        let reference = read(members, &path.0);
        found.push(reference.map(|reference| (path.0.clone(), reference)));
        return;
    }
    for (name, value) in members {
        path.within(name, |path| collect(value, path, found));
    }
}

/// The pointer to the value that is visited.
#[derive(Default)]
struct Path(String);

impl Path {
    fn within<T>(&mut self, step: &str, visit: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.0.len();
        self.0.push('/');
        self.0.push_str(&panpan_failure::pointer::escaped(step));
        let visited = visit(self);
        self.0.truncate(length);
        visited
    }
}

/// Reads an object with the member `$from`.
fn read(members: &Map<String, Value>, at: &str) -> Result<Reference, InvalidReference> {
    let invalid = |name: &str, reason: String, expected: &str, actual: &Value| {
        let violation = Violation::value(joined(at, name), reason).expected(expected);
        InvalidReference(Violation {
            actual: shown(actual),
            ..violation
        })
    };
    let unknown = members
        .keys()
        .find(|it| ![FROM, POINTER].contains(&it.as_str()));
    if let Some(name) = unknown {
        let reason = "a reference has no other member".to_owned();
        return Err(invalid(name, reason, "only $from and pointer", &Value::Null).without_actual());
    }
    let from = &members[FROM];
    let task = from.as_str().and_then(|it| TaskId::from_str(it).ok());
    let Some(task) = task else {
        let reason = "Invalid UUID format".to_owned();
        return Err(invalid(FROM, reason, "the id of a dependency", from));
    };
    let pointer = members.get(POINTER).map_or(Some(""), Value::as_str);
    match (pointer.filter(|it| is_pointer(it)), members.get(POINTER)) {
        (Some(pointer), _) => Ok(Reference {
            task,
            pointer: pointer.to_owned(),
        }),
        (None, stated) => {
            let stated = stated.unwrap_or(&Value::Null);
            let reason = format!("not a JSON Pointer: found {}", type_name(stated));
            let expected = "a JSON Pointer such as /a/0, or an empty text";
            Err(invalid(POINTER, reason, expected, stated))
        }
    }
}

impl InvalidReference {
    fn without_actual(mut self) -> Self {
        self.0.actual = None;
        self
    }
}

/// The inputs with references to other tasks: `new` returns the id that replaces one.
pub(crate) fn redirect(
    inputs: &Map<String, Value>,
    new: &impl Fn(TaskId) -> Option<TaskId>,
) -> Map<String, Value> {
    let members = inputs.iter();
    let members = members.map(|(name, value)| (name.clone(), redirected(value, new)));
    let mut members: Map<String, Value> = members.collect();
    let from = members.get(FROM).and_then(Value::as_str);
    let from = from.and_then(|it| TaskId::from_str(it).ok());
    if let Some(id) = from.and_then(new) {
        members.insert(FROM.to_owned(), id.to_string().into());
    }
    members
}

fn redirected(value: &Value, new: &impl Fn(TaskId) -> Option<TaskId>) -> Value {
    match value {
        Value::Object(members) => Value::Object(redirect(members, new)),
        Value::Array(items) => items.iter().map(|it| redirected(it, new)).collect(),
        other => other.clone(),
    }
}

/// Why references cannot be resolved.
#[derive(Clone, Debug, PartialEq, Error)]
pub(crate) enum ReferenceError {
    /// An object is not a reference.
    #[error("inputs{0}")]
    Invalid(InvalidReference),
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
            ReferenceError::ResultsTooLarge { .. } => {
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
    let mut referred: BTreeMap<TaskId, Vec<(String, Reference)>> = BTreeMap::new();
    for (at, reference) in references(inputs).filter_map(Result::ok) {
        let of_task = referred.entry(reference.task).or_default();
        of_task.push((at, reference));
    }
    let mut values: HashMap<Reference, Option<Value>> = HashMap::new();
    let mut room = RESOLVED_BYTES_LIMIT;
    for (task, references) in referred {
        let Some(Some(text)) = results.get(&task) else {
            continue;
        };
        let kept = read_kept(text)?;
        let result = result_object(&kept.value);
        for (at, reference) in references {
            if values.contains_key(&reference) {
                continue;
            }
            let value = result.pointer(&reference.pointer);
            if let Some(value) = value {
                let Some(left) = size::remaining_bytes(value, room) else {
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
    path: Path,
}

impl<'a, F: Fn(&Reference) -> Option<Option<&'a Value>>> Resolver<F> {
    fn of(value: F) -> Self {
        Self {
            value,
            room: RESOLVED_BYTES_LIMIT,
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
                reference: read(inputs, "").map_err(ReferenceError::Invalid)?,
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
            resolved.insert(name.clone(), self.within(name, value)?);
        }
        Ok(resolved)
    }

    fn within(&mut self, step: &str, value: &Value) -> Result<Value, ReferenceError> {
        let length = self.path.0.len();
        self.path.0 = joined(&self.path.0, step);
        let resolved = self.value(value)?;
        self.path.0.truncate(length);
        Ok(resolved)
    }

    fn value(&mut self, value: &Value) -> Result<Value, ReferenceError> {
        match value {
            Value::Object(members) if members.contains_key(FROM) => self.reference(members),
            Value::Object(members) => self.members(members).map(Value::Object),
            Value::Array(items) => {
                let items = items.iter().enumerate();
                let items = items.map(|(position, it)| self.within(&position.to_string(), it));
                items.collect::<Result<_, _>>().map(Value::Array)
            }
            other => Ok(other.clone()),
        }
    }

    fn reference(&mut self, members: &Map<String, Value>) -> Result<Value, ReferenceError> {
        let at = &self.path.0;
        let reference = read(members, at).map_err(ReferenceError::Invalid)?;
        let Some(value) = (self.value)(&reference) else {
            return Ok(Value::Null);
        };
        let at = at.clone();
        let Some(value) = value else {
            return Err(ReferenceError::Missing { at, reference });
        };
        let Some(room) = size::remaining_bytes(value, self.room) else {
            return Err(ReferenceError::TooLarge { at, reference });
        };
        self.room = room;
        Ok(value.clone())
    }
}

#[cfg(test)]
mod tests;
