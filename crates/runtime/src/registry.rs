//! Which operations there are: each with its handler, all checked against each other.
//!
//! Refuses all problems at once. Schemas are compiled when they are first needed.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::{Arc, OnceLock};

use panpan_contract::operation::{OperationName, OperationSpec};
use panpan_contract::redact::Markers;
use panpan_contract::{Code, Kind, KindError, NumberOwners};
use serde_json::Value;

use crate::handler::Handler;
use crate::schema::Schema;

/// The operations that can be called.
#[derive(Debug, Default)]
pub struct Registry {
    operations: BTreeMap<String, Arc<Operation>>,
}

/// An operation with its handler.
#[derive(Debug)]
pub struct Operation {
    spec: OperationSpec,
    handler: Arc<dyn Handler>,
    declared: BTreeMap<Code, Declared>,
    input: Lazy,
    input_markers: Markers,
}

/// A declared code: its facts, and the schema of its details.
#[derive(Debug)]
pub(crate) struct Declared {
    pub(crate) kind: Kind,
    details: Lazy,
    details_markers: Markers,
}

/// A schema that is compiled when it is first asked for.
type Lazy = OnceLock<Result<Schema, String>>;

/// Collects operations; see [`Registry::builder`].
#[derive(Debug, Default)]
pub struct Builder {
    operations: BTreeMap<String, Arc<Operation>>,
    problems: Vec<Problem>,
    /// Who declared a code first, and with which facts.
    first: BTreeMap<Code, (OperationName, Kind)>,
    /// The JSON-RPC numbers of declared codes, and whose they are.
    owners: NumberOwners,
}

/// Why operations are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Two operations have one name.
    #[error("operation {0} is registered twice; give one of them another name")]
    DuplicateOperation(OperationName),
    /// A declaration breaks a rule of codes.
    #[error("operation {operation}: {problem}")]
    Declaration {
        /// The operation that declares it.
        operation: OperationName,
        /// What is wrong.
        problem: KindError,
    },
    /// One operation declares a code twice.
    #[error("operation {operation} declares {code} twice; keep one of the two")]
    DuplicateCode {
        /// The operation that declares it.
        operation: OperationName,
        /// The code.
        code: Code,
    },
    /// Two operations give one code different facts.
    #[error(
        "{code} has {fact} {theirs} in operation {first} and {ours} in operation {second}; \
         make them agree or choose another code"
    )]
    Contradiction {
        /// The code.
        code: Code,
        /// Which fact.
        fact: &'static str,
        /// The operation that declared it first.
        first: OperationName,
        /// What it said.
        theirs: String,
        /// The operation that declared it differently.
        second: OperationName,
        /// What that one said.
        ours: String,
    },
    /// Two codes have one JSON-RPC number.
    #[error(
        "operation {operation}: {code} has JSON-RPC code {number}, which is that of {owner}; give \
         one of the two another number, or leave it out"
    )]
    SharedNumber {
        /// The operation that declares it.
        operation: OperationName,
        /// The code.
        code: Code,
        /// The number.
        number: i64,
        /// The code that had it first.
        owner: Code,
    },
    /// A schema is none.
    #[error("operation {operation}: the schema of {of} does not compile: {problem}")]
    Schema {
        /// The operation it belongs to.
        operation: OperationName,
        /// What it describes.
        of: String,
        /// What is wrong.
        problem: String,
    },
}

/// Every reason why a set of operations is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(Problem::to_string).collect();
        formatter.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Problems {}

impl Registry {
    /// Starts collecting operations.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The operation of a name; a leading slash makes no difference.
    pub fn get(&self, name: &str) -> Option<&Arc<Operation>> {
        self.operations.get(name.strip_prefix('/').unwrap_or(name))
    }

    /// Every operation, by name.
    pub fn operations(&self) -> impl Iterator<Item = &Arc<Operation>> {
        self.operations.values()
    }

    /// Compiles every schema now and says which do not compile.
    ///
    /// For authors and tests; a running gateway compiles a schema when it is first needed.
    pub fn schema_problems(&self) -> Vec<Problem> {
        self.operations()
            .flat_map(|it| it.schema_problems())
            .collect()
    }
}

impl Operation {
    /// The contract.
    pub fn spec(&self) -> &OperationSpec {
        &self.spec
    }

    /// The name.
    pub fn name(&self) -> &OperationName {
        &self.spec.name
    }

    pub(crate) fn handler(&self) -> &dyn Handler {
        &*self.handler
    }

    pub(crate) fn declared(&self, code: &Code) -> Option<&Declared> {
        self.declared.get(code)
    }

    pub(crate) fn input_schema(&self) -> Result<&Schema, &str> {
        compiled(&self.input, &self.spec.input_schema)
    }

    /// What the input schema marks as sensitive.
    pub(crate) fn input_markers(&self) -> &Markers {
        &self.input_markers
    }

    /// What the schema of a declared code's details marks as sensitive.
    pub(crate) fn details_markers(&self, code: &Code) -> Option<&Markers> {
        self.declared
            .get(code)
            .map(|declared| &declared.details_markers)
    }

    /// The schema of a declared code's details; `None` when none was declared.
    pub(crate) fn details_schema(&self, code: &Code) -> Option<Result<&Schema, &str>> {
        let declared = self.declared.get(code)?;
        let schema = &self.spec.definition(code.as_str())?.schema;
        describes_something(schema).then(|| compiled(&declared.details, schema))
    }

    fn schema_problems(&self) -> Vec<Problem> {
        let problem = |of: String, problem: &str| Problem::Schema {
            operation: self.name().clone(),
            of,
            problem: problem.to_owned(),
        };
        let input = self.input_schema().err();
        let details = self.declared.keys().filter_map(|code| {
            let broken = self.details_schema(code)?.err()?;
            Some(problem(code.to_string(), broken))
        });
        input
            .map(|broken| problem("the input".to_owned(), broken))
            .into_iter()
            .chain(details)
            .collect()
    }
}

fn compiled<'a>(place: &'a Lazy, schema: &Value) -> Result<&'a Schema, &'a str> {
    place
        .get_or_init(|| Schema::compile(schema))
        .as_ref()
        .map_err(String::as_str)
}

/// Whether a schema says anything: `{}` and `true` take whatever comes, so nothing was declared.
fn describes_something(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => !members.is_empty(),
        Value::Bool(anything) => !anything,
        _ => true,
    }
}

impl Builder {
    /// Adds an operation.
    pub fn register(mut self, spec: OperationSpec, handler: impl Handler) -> Self {
        let declared = self.declarations(&spec);
        match self.operations.entry(spec.name.as_str().to_owned()) {
            Entry::Occupied(_) => self.problems.push(Problem::DuplicateOperation(spec.name)),
            Entry::Vacant(place) => {
                place.insert(Arc::new(Operation {
                    input_markers: Markers::from_schema(&spec.input_schema),
                    spec,
                    handler: Arc::new(handler),
                    declared,
                    input: Lazy::new(),
                }));
            }
        }
        self
    }

    /// The operations, or everything that is wrong with them.
    pub fn build(self) -> Result<Registry, Problems> {
        if self.problems.is_empty() {
            Ok(Registry {
                operations: self.operations,
            })
        } else {
            Err(Problems(self.problems))
        }
    }

    fn declarations(&mut self, spec: &OperationSpec) -> BTreeMap<Code, Declared> {
        let mut declared = BTreeMap::new();
        for definition in &spec.error_schemas {
            let operation = spec.name.clone();
            let kind = match definition.kind() {
                Ok(kind) => kind,
                Err(problems) => {
                    self.problems.extend(problems.into_iter().map(|problem| {
                        let operation = operation.clone();
                        Problem::Declaration { operation, problem }
                    }));
                    continue;
                }
            };
            self.compare(&operation, &kind);
            self.check_owner(&operation, &kind);
            let code = kind.code().clone();
            let known = Declared {
                kind,
                details: Lazy::new(),
                details_markers: Markers::from_schema(&definition.schema),
            };
            if declared.insert(code.clone(), known).is_some() {
                self.problems
                    .push(Problem::DuplicateCode { operation, code });
            }
        }
        declared
    }

    /// A code means the same in every operation; only status and schema may differ.
    fn compare(&mut self, second: &OperationName, kind: &Kind) {
        let (first, before) = self
            .first
            .entry(kind.code().clone())
            .or_insert_with(|| (second.clone(), kind.clone()));
        for (fact, theirs, ours) in before.disagreements(kind) {
            self.problems.push(Problem::Contradiction {
                code: kind.code().clone(),
                fact: fact.word(),
                first: first.clone(),
                theirs,
                second: second.clone(),
                ours,
            });
        }
    }

    /// A number that says which code it is can be that of one code only.
    fn check_owner(&mut self, operation: &OperationName, kind: &Kind) {
        if let Some(owner) = self.owners.other_owner(kind) {
            self.problems.push(Problem::SharedNumber {
                operation: operation.clone(),
                code: kind.code().clone(),
                number: kind.jsonrpc_code(),
                owner: owner.clone(),
            });
        }
    }
}

#[cfg(test)]
mod tests;
