//! Reads tasks from the parameters of a request, with all violations at once.
//!
//! A wrong type, format or range is a malformed parameter; a broken rule for tasks is an invalid task schema.

mod members;
#[cfg(test)]
mod tests;
mod updates;
mod webhook;

use std::str::FromStr as _;

use panpan_failure::Violation;
use panpan_failure::pointer::joined;
use panpan_runtime::shown;
use serde_json::{Map, Value};

use super::members::{RequestPlace, is_known, is_of_one_task, whole_number, wrong_type};
use super::{Definition, NAME_CHARACTERS_LIMIT, NewTask, Priority, TaskId};
use crate::plan::{PlanError, PlanProblem, ProblemKind, Problems, TASKS_LIMIT};

pub(crate) use updates::{Updates, read_updates};
pub(crate) use webhook::{read_webhook, refused_webhook};

/// A task of a request, and where it was.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadTask {
    /// The task.
    pub task: NewTask,
    /// Where it was.
    pub place: RequestPlace,
    /// Whether the client chose the id. It could be in use already.
    pub id_is_given: bool,
    /// What could not be read: nothing that follows from it is a problem of its own.
    pub unread: Unread,
}

/// The members of a task that could not be read, as far as others depend on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// `parent_id`.
    pub parent: bool,
    /// `inputs`.
    pub inputs: bool,
}

const UUID: &str = "UUID v4 format";
const LIST: &str = "tasks";

/// Reads the tasks of a request: the parameters are one task, or have a list of them in `tasks`.
///
/// `new_id` provides the ids of tasks without one. Members that the protocol does not know are preserved.
pub fn read_tasks(
    params: &Value,
    new_id: &mut dyn FnMut() -> TaskId,
) -> Result<Vec<ReadTask>, PlanError> {
    let (tasks, problems) = read_as_far(params, new_id);
    problems.or_err(|| tasks)
}

/// Reads the tasks of a request as far as that is possible, with all problems.
pub(crate) fn read_as_far(
    params: &Value,
    new_id: &mut dyn FnMut() -> TaskId,
) -> (Vec<ReadTask>, Problems) {
    let mut problems = Problems::default();
    let mut tasks = Vec::new();
    match params.as_object().map(|it| (it, it.get(LIST))) {
        Some((members, None)) => {
            let mut reader = Reader::of(members, RequestPlace::Only, &mut problems);
            tasks.push(reader.task(new_id));
        }
        Some((_, Some(Value::Array(items)))) if items.len() > TASKS_LIMIT => {
            problems.add(too_many_tasks(items.len()));
        }
        Some((members, Some(Value::Array(items)))) => {
            note_beside_list(members, &mut problems);
            for (position, item) in items.iter().enumerate() {
                let place = RequestPlace::Item(position);
                let Some(members) = item.as_object() else {
                    malformed(&mut problems, || {
                        wrong_type(place.pointer(), "a task object", item)
                    });
                    continue;
                };
                let mut reader = Reader::of(members, place, &mut problems);
                tasks.push(reader.task(new_id));
            }
        }
        Some((_, Some(other))) => {
            malformed(&mut problems, || {
                wrong_type(joined("", LIST), "a list of tasks", other)
            });
        }
        None => malformed(&mut problems, || {
            let expected = "the members of one task, or a list of tasks in `tasks`";
            wrong_type(String::new(), expected, params)
        }),
    }
    (tasks, problems)
}

/// Members of a task beside a list of tasks would not be used.
fn note_beside_list(members: &Map<String, Value>, problems: &mut Problems) {
    let beside = members.keys().filter(|name| is_of_one_task(name));
    for name in beside {
        malformed(problems, || {
            let reason = format!("{name} belongs to one task, not beside a list of tasks");
            Violation::value(joined("", name), reason).expected("no value")
        });
    }
}

/// Reads the id of a task from a member of the parameters, such as `task_id`.
pub fn read_task_id(params: &Value, name: &str) -> Result<TaskId, PlanError> {
    let pointer = joined("", name);
    let read = match params.get(name) {
        Some(value) => task_id(value, pointer),
        None => Err(Violation::missing(pointer).expected(UUID)),
    };
    read.map_err(|violation| {
        PlanError::one(PlanProblem::new(ProblemKind::Malformed, None, violation))
    })
}

pub(crate) fn too_many_tasks(count: usize) -> PlanError {
    let violation = Violation::value(joined("", LIST), "too many tasks")
        .expected(format!("at most {TASKS_LIMIT} tasks"))
        .actual(count);
    PlanError::one(PlanProblem::new(ProblemKind::Malformed, None, violation))
}

fn malformed(problems: &mut Problems, violation: impl FnOnce() -> Violation) {
    let kind = ProblemKind::Malformed;
    problems.note(kind, || PlanProblem::new(kind, None, violation()));
}

fn task_id(value: &Value, pointer: String) -> Result<TaskId, Violation> {
    let Some(text) = value.as_str() else {
        return Err(wrong_type(pointer, UUID, value));
    };
    TaskId::from_str(text).map_err(|_| Violation {
        actual: shown(value),
        ..Violation::value(pointer, "Invalid UUID format").expected(UUID)
    })
}

/// Reads one task. After a problem it goes on with a default, so that all problems are found; the task is then
/// never used.
struct Reader<'a> {
    members: &'a Map<String, Value>,
    place: RequestPlace,
    id: Option<TaskId>,
    problems: &'a mut Problems,
}

impl<'a> Reader<'a> {
    fn of(
        members: &'a Map<String, Value>,
        place: RequestPlace,
        problems: &'a mut Problems,
    ) -> Self {
        Self {
            members,
            place,
            id: None,
            problems,
        }
    }

    fn task(&mut self, new_id: &mut dyn FnMut() -> TaskId) -> ReadTask {
        self.id = self.read_id("id", ProblemKind::Malformed);
        let id_is_given = self.id.is_some();
        let id = self.id.unwrap_or_else(new_id);
        let task = NewTask {
            id,
            parent: self.nullable_id("parent_id", ProblemKind::Malformed),
            dependencies: self.dependencies(),
            definition: self.definition(),
        };
        self.server_set();
        self.misplaced_webhook();
        self.nesting();
        let unread = Unread {
            parent: self.nullable("parent_id").is_some() && task.parent.is_none(),
            inputs: self.members.get("inputs").is_some_and(|it| !it.is_object()),
        };
        ReadTask {
            task,
            place: self.place,
            id_is_given,
            unread,
        }
    }

    fn definition(&mut self) -> Definition {
        let mut definition = Definition::new(self.name()).expect("the name was checked");
        definition.priority = self.priority();
        definition.inputs = self.object("inputs", false).unwrap_or_default();
        definition.schemas = self.schemas();
        definition.params = self.params();
        definition.retry = self.retry();
        definition.origin = self.origin();
        let extra = self.members.iter().filter(|(name, _)| !is_known(name));
        let extra = extra.map(|(name, it)| (name.clone(), it.clone()));
        definition
            .with_user_id(self.non_empty(&[], "user_id").unwrap_or_default())
            .with_extra(extra.collect())
    }

    fn note(&mut self, kind: ProblemKind, violation: impl FnOnce() -> Violation) {
        let task = self.id;
        let problem = || PlanProblem::new(kind, task, violation());
        self.problems.note(kind, problem);
    }

    fn malformed(&mut self, violation: impl FnOnce() -> Violation) {
        self.note(ProblemKind::Malformed, violation);
    }

    /// A member whose default is null.
    fn nullable(&self, name: &str) -> Option<&'a Value> {
        self.members.get(name).filter(|it| !it.is_null())
    }

    fn read_id(&mut self, name: &str, kind: ProblemKind) -> Option<TaskId> {
        let value = self.members.get(name)?;
        let read = task_id(value, self.place.member(name));
        read.map_err(|violation| self.note(kind, || violation)).ok()
    }

    fn nullable_id(&mut self, name: &str, kind: ProblemKind) -> Option<TaskId> {
        self.nullable(name)?;
        self.read_id(name, kind)
    }

    fn name(&mut self) -> &'a str {
        const FALLBACK: &str = "-";
        let (place, expected) = (
            self.place,
            format!("a text of 1 to {NAME_CHARACTERS_LIMIT} characters"),
        );
        match self.members.get("name") {
            Some(Value::String(name)) => {
                let characters = name.chars().count();
                if (1..=NAME_CHARACTERS_LIMIT).contains(&characters) {
                    return name;
                }
                self.malformed(|| {
                    let reason = format!("the name has {characters} characters");
                    Violation::value(place.member("name"), reason).expected(expected)
                });
            }
            Some(other) => self.malformed(|| wrong_type(place.member("name"), &expected, other)),
            None => self.malformed(|| Violation::missing(place.member("name")).expected(expected)),
        }
        FALLBACK
    }

    fn priority(&mut self) -> Priority {
        const EXPECTED: &str = "0-3";
        let Some(value) = self.members.get("priority") else {
            return Priority::default();
        };
        let number = whole_number(value).and_then(|it| u8::try_from(it).ok());
        if let Some(priority) = number.and_then(|it| Priority::try_from(it).ok()) {
            return priority;
        }
        let pointer = self.place.member("priority");
        self.malformed(|| match value.is_i64() || value.is_u64() {
            true => Violation::value(pointer, "Value out of range")
                .expected(EXPECTED)
                .actual(value.clone()),
            false => wrong_type(pointer, "a whole number, 0-3", value),
        });
        Priority::default()
    }

    fn object(&mut self, name: &str, is_nullable: bool) -> Option<Map<String, Value>> {
        match self.members.get(name)? {
            Value::Object(members) => return Some(members.clone()),
            Value::Null if is_nullable => {}
            other => {
                let pointer = self.place.member(name);
                self.malformed(|| wrong_type(pointer, "an object", other));
            }
        }
        None
    }

    /// A text that may be null but not empty: a member of the task or, with the path to it, of an object in it.
    fn non_empty(&mut self, path: &[&str], name: &str) -> Option<&'a str> {
        let mut members = self.members;
        let mut pointer = self.place.pointer();
        for step in path {
            members = members.get(*step)?.as_object()?;
            pointer = joined(&pointer, step);
        }
        let value = members.get(name).filter(|it| !it.is_null())?;
        let pointer = joined(&pointer, name);
        match value.as_str() {
            Some("") => {
                self.malformed(|| Violation::value(pointer, "empty text").expected("a text"));
            }
            Some(text) => return Some(text),
            None => self.malformed(|| wrong_type(pointer, "a text", value)),
        }
        None
    }
}
