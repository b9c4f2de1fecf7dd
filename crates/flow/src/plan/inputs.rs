//! The inputs of tasks: references to dependencies, and the `input_schema` of the task.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher as _;
use std::ops::ControlFlow;

use foldhash::fast::FixedState;
use panpan_failure::Violation;
use panpan_runtime::{SentSchema, check_once};
use serde_json::{Map, Value};

use super::{Draft, Methods, PlanProblem, ProblemKind, Problems};
use crate::references::{REFERENCES_LIMIT, has_references, visit_references};
use crate::task::{Definition, ReadTask, TaskId};

/// The draft of schemas that state none.
const DEFAULT_DRAFT: &str = "http://json-schema.org/draft-07/schema#";

/// The most different values of `input_schema` in a request.
pub const SCHEMAS_LIMIT: usize = 1000;

/// Checks the `input_schema` of each task, and the inputs against it. This needs neither stored tasks nor operations,
/// and takes long if there are many schemas.
pub(crate) fn check_schemas(tasks: &[ReadTask]) -> Problems {
    let (mut problems, mut compiled) = (Problems::default(), Schemas::default());
    for read in tasks {
        compiled.check_task(read, &mut problems);
    }
    let count = compiled.seen.len();
    if count > SCHEMAS_LIMIT {
        let kind = ProblemKind::Malformed;
        problems.note(kind, || {
            let violation = Violation::value("/tasks", "too many different input_schemas")
                .expected(format!(
                    "at most {SCHEMAS_LIMIT} different ones in a request"
                ))
                .actual(count);
            PlanProblem::new(kind, None, violation)
        });
    }
    problems
}

impl Draft<'_> {
    pub(super) fn check_inputs(&mut self, methods: &dyn Methods) {
        for at in 0..self.tasks.len() {
            if !self.check_references(at) {
                self.check_against_operation(at, methods);
            }
        }
    }

    /// What the operation itself would refuse when the task runs.
    fn check_against_operation(&mut self, at: usize, methods: &dyn Methods) {
        let definition = &self.tasks[at].task.definition;
        let Some(method) = definition.operation().filter(|it| methods.exists(it)) else {
            return;
        };
        let violations = methods.violations(&method, &definition.inputs);
        let inputs = self.pointer(at, "inputs");
        for violation in violations {
            self.note(ProblemKind::Malformed, at, || under(&inputs, violation));
        }
    }

    /// Checks the references of a task, and returns whether it has any.
    fn check_references(&mut self, at: usize) -> bool {
        let tasks = self.tasks;
        let task = &tasks[at].task;
        if !has_references(&task.definition.inputs) {
            return false;
        }
        let dependencies = task.dependencies.iter().map(|it| it.id);
        let dependencies: HashSet<TaskId, FixedState> = dependencies.collect();
        let inputs = self.pointer(at, "inputs");
        let mut count = 0;
        let visited = visit_references(&task.definition.inputs, |found| {
            count += 1;
            if count > REFERENCES_LIMIT {
                return ControlFlow::Break(());
            }
            match found.read() {
                Ok(reference) if dependencies.contains(&reference.task) => {}
                Ok(reference) => self.note(ProblemKind::Dependency, at, || {
                    let reason = "the reference is not to a dependency of this task";
                    Violation::value(format!("{inputs}{}/$from", found.pointer()), reason)
                        .expected("the id of a task in its dependencies")
                        .actual(reference.task.to_string())
                }),
                Err(invalid) => self.note(ProblemKind::Schema, at, || {
                    invalid.below(&format!("{inputs}{}", found.pointer()))
                }),
            }
            ControlFlow::Continue(())
        });
        if visited.is_break() {
            self.note(ProblemKind::Malformed, at, || {
                Violation::value(inputs, "too many references")
                    .expected(format!("at most {REFERENCES_LIMIT} references in a task"))
            });
        }
        true
    }
}

/// Schemas that are compiled already: tasks often have the same one.
#[derive(Debug, Default)]
struct Schemas {
    compiled: HashMap<String, Result<SentSchema, String>, FixedState>,
    /// The hashes of all schemas, also of those beyond the limit.
    seen: HashSet<u64, FixedState>,
}

impl Schemas {
    /// Inputs with references are only known when the task runs.
    fn check_task(&mut self, read: &ReadTask, problems: &mut Problems) {
        let definition = &read.task.definition;
        let schemas = definition.schemas.as_ref();
        let Some(schema) = schemas.and_then(|it| it.input_schema()) else {
            return;
        };
        let has_references = has_references(&definition.inputs);
        let inputs = match has_references {
            true => Map::new(),
            false => definition.inputs.clone(),
        };
        let kind = ProblemKind::Schema;
        let violations = match self.check(schema, &Value::Object(inputs)) {
            Err(reason) => {
                let pointer = format!("{}/input_schema", read.place.member("schemas"));
                let violation = Violation::value(pointer, format!("invalid JSON Schema: {reason}"))
                    .expected("a JSON Schema, draft-07 unless $schema states another");
                vec![violation]
            }
            Ok(_) if has_references => Vec::new(),
            Ok(violations) => {
                let inputs = read.place.member("inputs");
                let violations = violations.into_iter();
                violations.map(|it| under(&inputs, it)).collect()
            }
        };
        for violation in violations {
            problems.note(kind, || PlanProblem::new(kind, read.task.id, violation));
        }
    }

    /// The violations by these inputs. A schema beyond the limit is only counted.
    fn check(&mut self, schema: &Value, inputs: &Value) -> Result<Vec<Violation>, String> {
        let text = schema.to_string();
        self.seen.insert(FixedState::default().hash_one(&text));
        let compiled = match self.compiled.len() {
            SCHEMAS_LIMIT => self.compiled.get(&text),
            _ => {
                let compile = || SentSchema::compile(with_draft(schema));
                Some(&*self.compiled.entry(text).or_insert_with(compile))
            }
        };
        match compiled {
            Some(compiled) => {
                let compiled = compiled.as_ref().map_err(String::clone)?;
                Ok(compiled.check(inputs).violations)
            }
            None => Ok(Vec::new()),
        }
    }
}

fn under(inputs: &str, mut violation: Violation) -> Violation {
    violation.pointer.insert_str(0, inputs);
    violation
}

/// The violations of the `input_schema` of a task by inputs whose references are resolved.
pub(crate) fn input_violations(
    definition: &Definition,
    inputs: &Map<String, Value>,
) -> Vec<Violation> {
    let schemas = definition.schemas.as_ref();
    let Some(schema) = schemas.and_then(|it| it.input_schema()) else {
        return Vec::new();
    };
    let checked = check_once(&with_draft(schema), &Value::Object(inputs.clone()));
    checked.map_or_else(|_| Vec::new(), |checked| checked.violations)
}

/// The schema with the draft of the protocol, unless it states one.
fn with_draft(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(keywords) = &mut schema {
        let draft = keywords.entry("$schema").or_insert(Value::Null);
        if draft.is_null() {
            *draft = DEFAULT_DRAFT.into();
        }
    }
    schema
}
