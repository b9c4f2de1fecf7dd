//! Reads the members of `updates`: what a request changes in a task.

use panpan_contract::retry::RetryPolicy;
use panpan_failure::Violation;
use panpan_runtime::shown;
use serde_json::{Map, Value};

use super::{Reader, malformed};
use crate::plan::{PlanError, Problems};
use crate::state::State;
use crate::task::members::{RequestPlace, SET_BY_SERVER, is_known, wrong_type};
use crate::task::{Definition, Dependency, Priority, Schemas};

const UPDATES: &str = "updates";
const STATUS: &str = "status";
const DEPENDENCIES: &str = "dependencies";

/// The members that a client sets once, when it creates a task.
const SET_AT_CREATION: [&str; 4] = ["id", "parent_id", "origin_type", "original_task_id"];

/// What a request changes in a task. A part that is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Updates {
    pub(crate) status: Option<State>,
    pub(crate) dependencies: Option<Vec<Dependency>>,
    /// The names of all members except `status`.
    pub(crate) members: Vec<String>,
    name: Option<String>,
    user_id: Option<Option<String>>,
    priority: Option<Priority>,
    inputs: Option<Map<String, Value>>,
    schemas: Option<Option<Schemas>>,
    params: Option<Option<Map<String, Value>>>,
    retry: Option<Option<RetryPolicy>>,
    extra: Map<String, Value>,
}

/// Reads the member `updates` of the parameters, or returns all problems.
pub(crate) fn read_updates(params: &Value) -> Result<Updates, PlanError> {
    const EXPECTED: &str = "an object with the members to change";
    let mut problems = Problems::default();
    let pointer = RequestPlace::Updates.pointer();
    let mut updates = Updates::default();
    match params.get(UPDATES) {
        Some(Value::Object(members)) => {
            let mut reader = Reader::of(members, RequestPlace::Updates, &mut problems);
            updates = reader.updates();
        }
        Some(other) => malformed(&mut problems, || wrong_type(pointer, EXPECTED, other)),
        None => malformed(&mut problems, || {
            Violation::missing(pointer).expected(EXPECTED)
        }),
    }
    problems.or_err(|| updates)
}

impl Updates {
    /// Whether the plan of the task has to be checked again.
    pub(crate) fn concern_the_plan(&self) -> bool {
        self.dependencies.is_some() || self.inputs.is_some() || self.schemas.is_some()
    }

    /// Whether anything but the state and the dependencies changes.
    pub(crate) fn concern_the_definition(&self) -> bool {
        self.members.iter().any(|name| name != DEPENDENCIES)
    }

    /// The definition with these changes.
    pub(crate) fn applied_to(&self, definition: &Definition) -> Definition {
        let mut changed = definition.clone();
        if let Some(name) = &self.name {
            changed = changed.with_name(name).expect("the name was checked");
        }
        if let Some(user_id) = &self.user_id {
            changed = changed.with_user_id(user_id.clone().unwrap_or_default());
        }
        if let Some(priority) = self.priority {
            changed.priority = priority;
        }
        if let Some(inputs) = &self.inputs {
            changed.inputs.clone_from(inputs);
        }
        if let Some(schemas) = &self.schemas {
            changed.schemas.clone_from(schemas);
        }
        if let Some(params) = &self.params {
            changed.params.clone_from(params);
        }
        if let Some(retry) = self.retry {
            changed.retry = retry;
        }
        let mut extra = changed.extra().clone();
        extra.extend(self.extra.clone());
        changed.with_extra(extra)
    }
}

impl Reader<'_> {
    fn updates(&mut self) -> Updates {
        self.unchangeable();
        self.misplaced_webhook();
        self.nesting();
        let has = |name: &str| self.members.contains_key(name);
        let names = self.members.keys().filter(|name| *name != STATUS);
        let extra = self.members.iter().filter(|(name, _)| !is_known(name));
        let mut updates = Updates {
            members: names.cloned().collect(),
            extra: extra.map(|(name, it)| (name.clone(), it.clone())).collect(),
            ..Updates::default()
        };
        let (user_id, schemas, params) = (has("user_id"), has("schemas"), has("params"));
        let (retry, priority, inputs) = (has("retry"), has("priority"), has("inputs"));
        let (name, dependencies) = (has("name"), has(DEPENDENCIES));
        updates.status = self.status();
        updates.name = name.then(|| self.name().to_owned());
        updates.priority = priority.then(|| self.priority());
        updates.inputs = inputs.then(|| self.object("inputs", false).unwrap_or_default());
        updates.schemas = schemas.then(|| self.schemas());
        updates.params = params.then(|| self.params());
        updates.retry = retry.then(|| self.retry());
        updates.dependencies = dependencies.then(|| self.dependencies());
        updates.user_id = user_id.then(|| self.non_empty(&[], "user_id").map(str::to_owned));
        updates
    }

    fn status(&mut self) -> Option<State> {
        let value = self.members.get(STATUS)?;
        let state = value.as_str().and_then(State::from_word);
        if state.is_none() {
            let pointer = self.place.member(STATUS);
            self.malformed(|| Violation {
                actual: shown(value),
                ..Violation::value(pointer, "unknown status")
                    .expected(State::ALL.map(State::word).join(", "))
            });
        }
        state
    }

    fn unchangeable(&mut self) {
        for name in SET_AT_CREATION {
            self.refuse(name, "is set when the task is created and never changes");
        }
        for member in SET_BY_SERVER.iter().filter(|it| it.name != STATUS) {
            self.refuse(member.name, "is set by the server");
        }
    }

    pub(super) fn refuse(&mut self, name: &str, reason: &str) {
        if self.members.contains_key(name) {
            let violation = Violation::value(self.place.member(name), format!("{name} {reason}"));
            self.malformed(|| violation.expected("no value"));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_part_that_is_not_named_stays_as_it_is() {
        let mut before = Definition::new("before").unwrap().with_user_id("ann");
        before.inputs = Map::from_iter([("a".to_owned(), json!(1))]);
        let updates = json!({"updates": {"name": "after", "params": {"b": 2}, "colour": "red"}});
        let updates = read_updates(&updates).unwrap();
        assert!(updates.concern_the_definition() && !updates.concern_the_plan());
        let after = updates.applied_to(&before);
        assert_eq!((after.name(), after.user_id()), ("after", Some("ann")));
        assert_eq!(after.inputs, before.inputs);
        assert_eq!(
            after.params,
            Some(Map::from_iter([("b".to_owned(), json!(2))]))
        );
        assert_eq!(after.extra()["colour"], "red");
    }

    #[test]
    fn null_removes_what_may_be_absent() {
        let before = Definition::new("one").unwrap().with_user_id("ann");
        let updates = json!({"updates": {"user_id": null, "retry": null, "schemas": null}});
        let after = read_updates(&updates).unwrap().applied_to(&before);
        assert_eq!(
            (after.user_id(), after.retry, after.schemas.clone()),
            (None, None, None)
        );
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        let updates = json!({"updates": {
            "id": "x", "parent_id": null, "created_at": "now", "priority": 5, "name": "",
            "status": "done", "dependencies": [{"id": "y"}], "origin_type": "copy",
        }});
        let error = read_updates(&updates).unwrap_err();
        let pointers = error
            .problems()
            .iter()
            .map(|it| it.violation.pointer.as_str());
        let mut pointers: Vec<&str> = pointers.collect();
        pointers.sort_unstable();
        let expected = [
            "/updates/created_at",
            "/updates/dependencies/0/id",
            "/updates/id",
            "/updates/name",
            "/updates/origin_type",
            "/updates/parent_id",
            "/updates/priority",
            "/updates/status",
        ];
        assert_eq!(pointers, expected);
    }
}
