//! Collects operations and holds them against each other.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use panpan_contract::operation::{OperationName, OperationSpec, OperationType};
use panpan_failure::catalogue::nearest;
use panpan_failure::{Code, Kind, NumberOwners};
use panpan_redact::Markers;

use super::registration::{Registration, Work};
use super::{Declared, Lazy, Operation, Problem, Problems, Registry};
use crate::handler::Handler;

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

impl Builder {
    /// Adds an operation that gives one answer and needs nothing else.
    pub fn register(self, spec: OperationSpec, handler: impl Handler) -> Self {
        self.add(Registration::new(spec, handler))
    }

    /// Adds an operation.
    #[expect(clippy::should_implement_trait, reason = "what is added is no number")]
    pub fn add(mut self, registration: Registration) -> Self {
        self.check_work(&registration);
        let declared = self.declarations(&registration.spec);
        let name = registration.spec.name.clone();
        match self.operations.entry(name.as_str().to_owned()) {
            Entry::Occupied(_) => self.problems.push(Problem::DuplicateOperation(name)),
            Entry::Vacant(place) => {
                place.insert(Arc::new(operation(registration, declared)));
            }
        }
        self
    }

    /// What was added, in the order of the names, to be changed and added again.
    pub fn into_registrations(self) -> Vec<Registration> {
        let operations = self.operations.into_values();
        operations.map(|it| it.given.clone()).collect()
    }

    /// The operations, or everything that is wrong with them.
    pub fn build(mut self) -> Result<Registry, Problems> {
        self.check_callees();
        if self.problems.is_empty() {
            Ok(Registry::of(self.operations))
        } else {
            Err(Problems(self.problems))
        }
    }

    fn check_work(&mut self, registration: &Registration) {
        let operation = &registration.spec.name;
        let mismatch = match (registration.spec.op_type, &registration.work) {
            (OperationType::Subscription, Work::Once(_)) => {
                Some(("subscription", "one answer", "register it as streaming"))
            }
            (OperationType::Query, Work::Stream(_)) => {
                Some(("query", "a stream", "make it a subscription"))
            }
            (OperationType::Mutation, Work::Stream(_)) => {
                Some(("mutation", "a stream", "make it a subscription"))
            }
            _ => None,
        };
        if let Some((op_type, gives, advice)) = mismatch {
            self.problems.push(Problem::HandlerKind {
                operation: operation.clone(),
                op_type,
                gives,
                advice,
            });
        }
        let declared = registration.spec.idempotency.reconcilable;
        let problem = match (declared, registration.reconcile.is_some()) {
            (true, false) => {
                "it is declared reconcilable and has nothing to reconcile with; register it with \
                 reconciled_by, or take the declaration back"
            }
            (false, true) => {
                "it can reconcile and is not declared reconcilable; declare it, so that callers know"
            }
            _ => return,
        };
        self.problems.push(Problem::Reconciliation {
            operation: operation.clone(),
            problem,
        });
    }

    fn check_callees(&mut self) {
        for operation in self.operations.values() {
            let reach = operation.composition().reach.iter();
            for callee in reach.filter(|callee| !self.operations.contains_key(callee.as_str())) {
                let near = nearest(callee.as_str(), self.operations.keys().map(String::as_str));
                let hint = near.first().map(|name| format!("; did you mean {name}?"));
                self.problems.push(Problem::UnknownCallee {
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

fn operation(given: Registration, declared: BTreeMap<Code, Declared>) -> Operation {
    Operation {
        input_markers: Markers::from_schema(&given.spec.input_schema),
        behind: given.upstream.as_ref().map(|it| it.serve(&given.spec)),
        given,
        declared,
        input: Lazy::new(),
        output: Lazy::new(),
        successes: Default::default(),
        looked_at: Default::default(),
    }
}
