//! Builds a registry: collects operations and checks them against each other.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use panpan_contract::operation::{OperationName, OperationSpec, OperationType};
use panpan_failure::catalogue::nearest;
use panpan_failure::{Code, Kind, NumberOwners};
use panpan_redact::Markers;
use serde_json::Value;

use super::registration::{Registration, Work};
use super::{Declared, Lazy, Operation, Registry, RegistryProblem, RegistryProblems};
use crate::handler::Handler;

/// Collects operations; see [`Registry::builder`].
#[derive(Debug, Default)]
pub struct Builder {
    operations: BTreeMap<String, Arc<Operation>>,
    problems: Vec<RegistryProblem>,
    /// The first declaration of each code.
    first: BTreeMap<Code, (OperationName, Kind)>,
    /// The JSON-RPC numbers of declared codes, and their owners.
    owners: NumberOwners,
}

impl Builder {
    /// Adds a query or mutation.
    pub fn register(self, spec: OperationSpec, handler: impl Handler) -> Self {
        self.add(Registration::new(spec, handler))
    }

    /// Adds an operation.
    #[expect(
        clippy::should_implement_trait,
        reason = "the argument is not a number"
    )]
    pub fn add(mut self, registration: Registration) -> Self {
        self.check_work(&registration);
        self.check_argument_order(&registration.spec);
        let declared = self.declarations(&registration.spec);
        let name = registration.spec.name.clone();
        match self.operations.entry(name.as_str().to_owned()) {
            Entry::Occupied(_) => self
                .problems
                .push(RegistryProblem::DuplicateOperation(name)),
            Entry::Vacant(entry) => {
                entry.insert(Arc::new(operation(registration, declared)));
            }
        }
        self
    }

    /// The registrations ordered by name, to be changed and added again.
    pub fn into_registrations(self) -> Vec<Registration> {
        let operations = self.operations.into_values();
        operations.map(|it| it.registration.clone()).collect()
    }

    /// Returns the registry, or all problems.
    pub fn build(mut self) -> Result<Registry, RegistryProblems> {
        self.check_callees();
        if self.problems.is_empty() {
            Ok(Registry::of(self.operations))
        } else {
            Err(RegistryProblems(self.problems))
        }
    }

    fn check_work(&mut self, registration: &Registration) {
        let operation = &registration.spec.name;
        let mismatch = match (registration.spec.op_type, &registration.work) {
            (OperationType::Subscription, Work::Once(_)) => {
                Some(("subscription", "one response", "register it as streaming"))
            }
            (OperationType::Query, Work::Stream(_)) => {
                Some(("query", "a stream", "make it a subscription"))
            }
            (OperationType::Mutation, Work::Stream(_)) => {
                Some(("mutation", "a stream", "make it a subscription"))
            }
            _ => None,
        };
        if let Some((op_type, returns, advice)) = mismatch {
            self.problems.push(RegistryProblem::HandlerKind {
                operation: operation.clone(),
                op_type,
                returns,
                advice,
            });
        }
        let declared = registration.spec.idempotency.reconcilable;
        let problem = match (declared, registration.reconcile.is_some()) {
            (true, false) => {
                "it is declared reconcilable but has no reconcile handler; add one with reconciled_by, or \
                 remove the declaration"
            }
            (false, true) => {
                "it has a reconcile handler but is not declared reconcilable; declare it"
            }
            _ => return,
        };
        self.problems.push(RegistryProblem::Reconciliation {
            operation: operation.clone(),
            problem,
        });
    }

    fn check_argument_order(&mut self, spec: &OperationSpec) {
        // Other keywords may describe further properties, so every name is possible.
        const OPEN: [&str; 5] = ["$ref", "allOf", "anyOf", "oneOf", "patternProperties"];
        let schema = &spec.input_schema;
        let is_open = OPEN.iter().any(|keyword| schema.get(keyword).is_some());
        let properties = schema.get("properties").filter(|_| !is_open);
        let properties = properties.and_then(Value::as_object);
        for (index, argument) in spec.argument_order.iter().enumerate() {
            let is_known = properties.is_none_or(|it| it.contains_key(argument));
            let problem = match spec.argument_order[..index].contains(argument) {
                true => "it is there twice; keep one of the two",
                false if !is_known => "the input schema has no such property; correct the name",
                false => continue,
            };
            self.problems.push(RegistryProblem::ArgumentOrder {
                operation: spec.name.clone(),
                argument: argument.clone(),
                problem,
            });
        }
    }

    fn check_callees(&mut self) {
        for operation in self.operations.values() {
            let reach = operation.registration.composition.reach.iter();
            for callee in reach.filter(|callee| !self.operations.contains_key(callee.as_str())) {
                let near = nearest(callee.as_str(), self.operations.keys().map(String::as_str));
                let hint = near.first().map(|name| format!("; did you mean {name}?"));
                self.problems.push(RegistryProblem::UnknownCallee {
                    operation: operation.name().clone(),
                    callee: callee.clone(),
                    hint: hint.unwrap_or_default(),
                });
            }
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
                        RegistryProblem::Declaration { operation, problem }
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
                    .push(RegistryProblem::DuplicateCode { operation, code });
            }
        }
        declared
    }

    /// A code has the same facts in every operation; only status and schema may differ.
    fn compare(&mut self, second: &OperationName, kind: &Kind) {
        let (first, before) = self
            .first
            .entry(kind.code().clone())
            .or_insert_with(|| (second.clone(), kind.clone()));
        for (fact, theirs, ours) in before.disagreements(kind) {
            self.problems.push(RegistryProblem::Contradiction {
                code: kind.code().clone(),
                fact: fact.word(),
                first: first.clone(),
                theirs,
                second: second.clone(),
                ours,
            });
        }
    }

    /// A JSON-RPC number that identifies a code can belong to one code only.
    fn check_owner(&mut self, operation: &OperationName, kind: &Kind) {
        if let Some(owner) = self.owners.other_owner(kind) {
            self.problems.push(RegistryProblem::SharedNumber {
                operation: operation.clone(),
                code: kind.code().clone(),
                number: kind.jsonrpc_code(),
                owner: owner.clone(),
            });
        }
    }
}

fn operation(registration: Registration, declared: BTreeMap<Code, Declared>) -> Operation {
    let spec = &registration.spec;
    Operation {
        input_markers: Markers::from_schema(&spec.input_schema),
        upstream: registration.upstream.as_ref().map(|it| it.serve(spec)),
        registration,
        declared,
        input: Lazy::new(),
        output: Lazy::new(),
        successes: Default::default(),
        sampling_counter: Default::default(),
    }
}
