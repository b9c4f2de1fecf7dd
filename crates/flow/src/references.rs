//! References in the inputs of a task: `{"$from": "<task id>", "pointer": "/a/b"}` is replaced by a value in the
//! result of a dependency. The inputs as a whole may be a reference to an object.
//!
//! [`visit_references`] finds them when a plan is validated, [`resolve_stored`] replaces them before the task runs.

mod resolve;

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::ops::ControlFlow;
use std::str::FromStr as _;

use panpan_failure::Violation;
use panpan_failure::pointer::{escaped, is_pointer};
use panpan_failure::read::type_name;
use panpan_runtime::shown;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::plan::DEPENDENCIES_LIMIT;
use crate::task::TaskId;
pub(crate) use resolve::{ReferenceError, Unresolved, resolve_stored};

/// The most bytes that references may add to the inputs of a task. Many references to one large result would otherwise
/// multiply it.
pub(crate) const RESOLVED_BYTES_LIMIT: usize = 16 * 1024 * 1024;

/// The most bytes of the results that the inputs of one task may refer to. They are read as a whole, whatever part of
/// them is needed.
pub(crate) const REFERRED_BYTES_LIMIT: usize = 64 * 1024 * 1024;

/// The most references in the inputs of one task: as many as it can have dependencies.
pub(crate) const REFERENCES_LIMIT: usize = DEPENDENCIES_LIMIT;

/// The most bytes that are shown of a pointer into inputs.
pub(crate) const SHOWN_POINTER_BYTES_LIMIT: usize = 1000;

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

/// An object that has `$from` but is not a reference. The pointer of the violation starts at the object.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{}: {}", .0.pointer, .0.reason)]
pub(crate) struct InvalidReference(pub(crate) Violation);

/// Visits the references in inputs, in the order of the members, until the visitor breaks. Nothing is allocated for a
/// reference unless the visitor does: a path can be long, and there can be many references below it.
pub(crate) fn visit_references<B>(
    inputs: &Map<String, Value>,
    mut visit: impl FnMut(&FoundReference<'_>) -> ControlFlow<B>,
) -> ControlFlow<B> {
    visit_object(inputs, &mut Path::default(), &mut visit)
}

/// Whether inputs have references, valid or not.
pub(crate) fn has_references(inputs: &Map<String, Value>) -> bool {
    visit_references(inputs, |_| ControlFlow::Break(())).is_break()
}

/// The tasks that inputs refer to.
pub(crate) fn referred(inputs: &Map<String, Value>) -> BTreeSet<TaskId> {
    let mut tasks = BTreeSet::new();
    let _ = visit_references(inputs, |found| {
        tasks.extend(found.read().ok().map(|it| it.task));
        ControlFlow::<()>::Continue(())
    });
    tasks
}

/// Whether the inputs of a stored definition can have references. Fast, and wrong only for other data with a
/// member of this name.
pub(crate) fn may_have_references(definition: &str) -> bool {
    definition.contains("\"$from\":")
}

/// An object with `$from`, and where it is.
#[derive(Debug)]
pub(crate) struct FoundReference<'a> {
    members: &'a Map<String, Value>,
    path: &'a Path,
}

impl FoundReference<'_> {
    /// The reference, or why it is invalid. The pointer of the violation starts at this object.
    pub(crate) fn read(&self) -> Result<Reference, InvalidReference> {
        read(self.members)
    }

    /// The pointer to this object from the inputs; its beginning if it is longer than [`SHOWN_POINTER_BYTES_LIMIT`].
    pub(crate) fn pointer(&self) -> String {
        self.path.shown()
    }
}

fn visit_object<B>(
    members: &Map<String, Value>,
    path: &mut Path,
    visit: &mut impl FnMut(&FoundReference<'_>) -> ControlFlow<B>,
) -> ControlFlow<B> {
    if members.contains_key(FROM) {
        return visit(&FoundReference { members, path });
    }
    for (name, value) in members.iter().filter(|(_, it)| is_container(it)) {
        let length = path.push(name);
        visit_value(value, path, visit)?;
        path.truncate(length);
    }
    ControlFlow::Continue(())
}

fn visit_value<B>(
    value: &Value,
    path: &mut Path,
    visit: &mut impl FnMut(&FoundReference<'_>) -> ControlFlow<B>,
) -> ControlFlow<B> {
    match value {
        Value::Object(members) => visit_object(members, path, visit),
        Value::Array(items) => {
            for (position, item) in items.iter().enumerate().filter(|(_, it)| is_container(it)) {
                let length = path.push_position(position);
                visit_value(item, path, visit)?;
                path.truncate(length);
            }
            ControlFlow::Continue(())
        }
        _ => ControlFlow::Continue(()),
    }
}

/// Whether a value can have references in it.
fn is_container(value: &Value) -> bool {
    matches!(value, Value::Array(_) | Value::Object(_))
}

/// The pointer to the value that is visited. One buffer serves a whole visit.
#[derive(Debug, Default)]
struct Path(String);

impl Path {
    /// Adds the name of a member; returns the length before.
    fn push(&mut self, name: &str) -> usize {
        let length = self.0.len();
        self.0.push('/');
        self.0.push_str(&escaped(name));
        length
    }

    /// Adds the position of an item; returns the length before.
    fn push_position(&mut self, position: usize) -> usize {
        let length = self.0.len();
        let _ = write!(self.0, "/{position}");
        length
    }

    fn truncate(&mut self, length: usize) {
        self.0.truncate(length);
    }

    fn shown(&self) -> String {
        if self.0.len() <= SHOWN_POINTER_BYTES_LIMIT {
            return self.0.clone();
        }
        let end = self.0.floor_char_boundary(SHOWN_POINTER_BYTES_LIMIT);
        format!("{}…", &self.0[..end])
    }
}

/// Reads an object with the member `$from`.
fn read(members: &Map<String, Value>) -> Result<Reference, InvalidReference> {
    let invalid = |name: &str, reason: String, expected: &str, actual: &Value| {
        let mut path = Path::default();
        path.push(name);
        let violation = Violation::value(path.shown(), reason).expected(expected);
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
    /// The same, with a pointer that starts above the place of the object.
    pub(crate) fn below(mut self, pointer: &str) -> Violation {
        self.0.pointer.insert_str(0, pointer);
        self.0
    }

    fn without_actual(mut self) -> Self {
        self.0.actual = None;
        self
    }
}

/// Redirects the references in inputs to other tasks: `new` returns the id that replaces one.
pub(crate) fn redirect(inputs: &mut Map<String, Value>, new: &impl Fn(TaskId) -> Option<TaskId>) {
    for value in inputs.values_mut() {
        redirect_value(value, new);
    }
    let from = inputs.get(FROM).and_then(Value::as_str);
    let from = from.and_then(|it| TaskId::from_str(it).ok());
    if let Some(id) = from.and_then(new) {
        inputs.insert(FROM.to_owned(), id.to_string().into());
    }
}

fn redirect_value(value: &mut Value, new: &impl Fn(TaskId) -> Option<TaskId>) {
    match value {
        Value::Object(members) => redirect(members, new),
        Value::Array(items) => items.iter_mut().for_each(|it| redirect_value(it, new)),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
