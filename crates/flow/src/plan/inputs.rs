//! The inputs of tasks: references to dependencies, and the `input_schema` of the task.

use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;
use panpan_failure::Violation;
use panpan_runtime::{Checked, SentSchema, check_once};
use serde_json::{Map, Value};

use super::{Draft, Methods, ProblemKind};
use crate::references::references;
use crate::task::{Definition, TaskId};

/// The draft of schemas that state none.
const DEFAULT_DRAFT: &str = "http://json-schema.org/draft-07/schema#";

/// The most schemas that are kept compiled.
const SCHEMAS_LIMIT: usize = 64;

impl Draft<'_> {
    pub(super) fn check_inputs(&mut self, methods: &dyn Methods) {
        let mut schemas = Schemas::default();
        for at in 0..self.tasks.len() {
            let has_references = self.check_references(at);
            self.check_input_schema(at, has_references, &mut schemas);
            if !has_references {
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
        let task = &self.tasks[at].task;
        let mut found = references(&task.definition.inputs).peekable();
        if found.peek().is_none() {
            return false;
        }
        let dependencies = task.dependencies.iter().map(|it| it.id);
        let dependencies: HashSet<TaskId, FixedState> = dependencies.collect();
        let inputs = self.pointer(at, "inputs");
        for found in found {
            match found {
                Ok((_, reference)) if dependencies.contains(&reference.task) => {}
                Ok((pointer, reference)) => self.note(ProblemKind::Dependency, at, || {
                    let reason = "the reference is not to a dependency of this task";
                    Violation::value(format!("{inputs}{pointer}/$from"), reason)
                        .expected("the id of a task in its dependencies")
                        .actual(reference.task.to_string())
                }),
                Err(invalid) => self.note(ProblemKind::Schema, at, || under(&inputs, invalid.0)),
            }
        }
        true
    }

    /// Inputs with references are only known when the task runs.
    fn check_input_schema(&mut self, at: usize, has_references: bool, compiled: &mut Schemas) {
        let definition = &self.tasks[at].task.definition;
        let schemas = definition.schemas.as_ref();
        let Some(schema) = schemas.and_then(|it| it.input_schema()) else {
            return;
        };
        let inputs = match has_references {
            true => Map::new(),
            false => definition.inputs.clone(),
        };
        match compiled.check(schema, &Value::Object(inputs)) {
            Err(reason) => {
                let pointer = format!("{}/input_schema", self.pointer(at, "schemas"));
                self.note(ProblemKind::Schema, at, || {
                    Violation::value(pointer, format!("invalid JSON Schema: {reason}"))
                        .expected("a JSON Schema, draft-07 unless $schema states another")
                });
            }
            Ok(checked) if !has_references => {
                let inputs = self.pointer(at, "inputs");
                for violation in checked.violations {
                    self.note(ProblemKind::Schema, at, || under(&inputs, violation));
                }
            }
            Ok(_) => {}
        }
    }
}

/// Schemas that are compiled already: tasks often have the same one.
#[derive(Debug, Default)]
struct Schemas(HashMap<String, Result<SentSchema, String>, FixedState>);

impl Schemas {
    fn check(&mut self, schema: &Value, inputs: &Value) -> Result<Checked, String> {
        if self.0.len() >= SCHEMAS_LIMIT {
            self.0.clear();
        }
        let compile = || SentSchema::compile(with_draft(schema));
        let compiled = self.0.entry(schema.to_string()).or_insert_with(compile);
        let compiled = compiled.as_ref().map_err(String::clone)?;
        Ok(compiled.check(inputs))
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
