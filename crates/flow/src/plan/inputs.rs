//! The inputs of tasks: references to dependencies, and the `input_schema` of the task.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher as _;
use std::ops::ControlFlow;

use foldhash::fast::FixedState;
use panpan_failure::Violation;
use panpan_runtime::{SentSchema, check_once};
use serde_json::{Map, Value};

use super::{Draft, Methods, PlanProblem, ProblemKind, Problems};
use crate::references::{
    REFERENCES_LIMIT, SHOWN_POINTER_BYTES_LIMIT, has_references, visit_references,
};
use crate::task::{Definition, ReadTask, TaskId};

/// The draft of schemas that state none.
const DEFAULT_DRAFT: &str = "http://json-schema.org/draft-07/schema#";

/// The most different values of `input_schema` in a request.
pub const SCHEMAS_LIMIT: usize = 1000;

/// Checks the `input_schema` of each task, and the inputs against it. This needs neither stored tasks nor operations,
/// and takes long if there are many schemas.
pub(crate) fn check_schemas(tasks: &[ReadTask], problems: &mut Problems) {
    let mut compiled = Schemas::default();
    for read in tasks {
        compiled.check_task(read, problems);
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
}

impl Draft<'_> {
    pub(super) fn check_inputs(&mut self, methods: &dyn Methods) {
        for at in 0..self.tasks.len() {
            let referring = self.check_references(at);
            if !self.tasks[at].unread.inputs {
                self.check_against_operation(at, &referring, methods);
            }
        }
    }

    /// What the operation itself would refuse when the task runs, whatever the references stand for.
    fn check_against_operation(&mut self, at: usize, referring: &[String], methods: &dyn Methods) {
        let definition = &self.tasks[at].task.definition;
        let Some(method) = definition.operation().filter(|it| methods.exists(it)) else {
            return;
        };
        let mut violations = methods.violations(&method, &definition.inputs);
        if !referring.is_empty() {
            let schema = methods.input_schema(&method).unwrap_or(&Value::Null);
            retain_certain(&mut violations, referring, schema);
        }
        let inputs = self.pointer(at, "inputs");
        for violation in violations {
            self.note(ProblemKind::Malformed, at, || under(&inputs, violation));
        }
    }

    /// Checks the references of a task, and returns where they are in the inputs.
    fn check_references(&mut self, at: usize) -> Vec<String> {
        let tasks = self.tasks;
        let task = &tasks[at].task;
        // The references of a link and of an archive are not resolved.
        let is_not_run = task.definition.origin.needs_completed();
        if is_not_run || !has_references(&task.definition.inputs) {
            return Vec::new();
        }
        let dependencies = task.dependencies.iter().map(|it| it.id);
        let dependencies: HashSet<TaskId, FixedState> = dependencies.collect();
        let inputs = self.pointer(at, "inputs");
        let mut referring = Vec::new();
        let visited = visit_references(&task.definition.inputs, |found| {
            if referring.len() == REFERENCES_LIMIT {
                return ControlFlow::Break(());
            }
            let pointer = found.pointer();
            match found.read() {
                Ok(reference) if dependencies.contains(&reference.task) => {}
                Ok(reference) => self.note(ProblemKind::Dependency, at, || {
                    let reason = "the reference is not to a dependency of this task";
                    Violation::value(format!("{inputs}{pointer}/$from"), reason)
                        .expected("the id of a task in its dependencies")
                        .actual(reference.task.to_string())
                }),
                Err(invalid) => self.note(ProblemKind::Schema, at, || {
                    invalid.below(&format!("{inputs}{pointer}"))
                }),
            }
            referring.push(pointer);
            ControlFlow::Continue(())
        });
        if visited.is_break() {
            self.note(ProblemKind::Malformed, at, || {
                Violation::value(inputs, "too many references")
                    .expected(format!("at most {REFERENCES_LIMIT} references in a task"))
            });
        }
        referring
    }
}

/// Where inputs have references, up to the most that a task can have.
fn referring(inputs: &Map<String, Value>) -> Vec<String> {
    let mut referring = Vec::new();
    let _ = visit_references(inputs, |found| {
        referring.push(found.pointer());
        match referring.len() < REFERENCES_LIMIT {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    referring
}

/// Keeps the violations that remain whatever the references stand for.
fn retain_certain(violations: &mut Vec<Violation>, referring: &[String], schema: &Value) {
    let open: HashSet<&str, FixedState> = referring
        .iter()
        .map(|reference| first_condition(reference, schema))
        .collect();
    violations.retain(|violation| {
        let pointer = violation.pointer.as_str();
        // A longer pointer cannot be compared: those of references are cut.
        let is_comparable = pointer.len() < SHOWN_POINTER_BYTES_LIMIT;
        let is_above = referring.iter().any(|it| is_within(it, pointer));
        is_comparable && !is_above && !open.iter().any(|it| is_within(pointer, it))
    });
}

/// Whether a pointer is to a value or to a part of it.
fn is_within(pointer: &str, value: &str) -> bool {
    let rest = pointer.strip_prefix(value);
    rest.is_some_and(|it| it.is_empty() || it.starts_with('/'))
}

/// The pointer to the outermost value on the way to a reference whose schema can depend on what the reference stands for;
/// the reference itself if no other one does.
fn first_condition<'a>(reference: &'a str, schema: &Value) -> &'a str {
    const CONDITIONS: [&str; 11] = [
        "$ref",
        "$dynamicRef",
        "allOf",
        "anyOf",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "if",
        "not",
        "oneOf",
        "unevaluatedProperties",
    ];
    let (mut schema, mut end) = (schema, 0);
    for step in reference.split('/').skip(1) {
        let has_condition = CONDITIONS.iter().any(|it| schema.get(it).is_some());
        let name = step.replace("~1", "/").replace("~0", "~");
        let next = schema.get("properties").and_then(|it| it.get(&name));
        match next.filter(|_| !has_condition) {
            Some(next) => schema = next,
            None if has_condition => return &reference[..end],
            None => schema = &Value::Null,
        }
        end += 1 + step.len();
    }
    reference
}

/// Schemas that are compiled already: tasks often have the same one.
#[derive(Debug, Default)]
struct Schemas {
    compiled: HashMap<String, Result<SentSchema, String>, FixedState>,
    /// The hashes of all schemas, also of those beyond the limit.
    seen: HashSet<u64, FixedState>,
}

impl Schemas {
    /// What references stand for is only known when the task runs.
    fn check_task(&mut self, read: &ReadTask, problems: &mut Problems) {
        let definition = &read.task.definition;
        let schemas = definition.schemas.as_ref();
        let Some(schema) = schemas.and_then(|it| it.input_schema()) else {
            return;
        };
        let inputs = Value::Object(definition.inputs.clone());
        let kind = ProblemKind::Schema;
        let violations = match self.check(schema, &inputs) {
            Err(reason) => {
                let pointer = format!("{}/input_schema", read.place.member("schemas"));
                let violation = Violation::value(pointer, format!("invalid JSON Schema: {reason}"))
                    .expected("a JSON Schema, draft-07 unless $schema states another");
                vec![violation]
            }
            Ok(_) if read.unread.inputs => Vec::new(),
            Ok(mut violations) => {
                let referring = referring(&definition.inputs);
                if !referring.is_empty() {
                    retain_certain(&mut violations, &referring, schema);
                }
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
