//! Which operations there are: each with its handler, all checked against each other.
//!
//! Refuses all problems at once. Schemas are compiled when they are first needed.

mod builder;
mod problem;
mod registration;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use foldhash::HashMap;
use panpan_contract::operation::{OperationName, OperationSpec};
use panpan_failure::{Code, Failure, Kind, StatusPattern, codes};
use panpan_redact::Markers;
use serde_json::Value;

use crate::credentials::Credentials;
use crate::handler::{Handler, Reconcile, StreamHandler};
use crate::retry::Behind;
use crate::schema::Schema;

pub use builder::Builder;
pub use problem::{Problem, Problems};
pub(crate) use registration::{Composition, Work};
pub use registration::{Registration, Related};

/// The operations that can be called.
#[derive(Debug, Default)]
pub struct Registry {
    by_name: HashMap<String, Arc<Operation>>,
    /// In the order of their names.
    sorted: Vec<Arc<Operation>>,
}

/// An operation with its handler.
#[derive(Debug)]
pub struct Operation {
    given: Registration,
    behind: Option<Behind>,
    declared: BTreeMap<Code, Declared>,
    input: Lazy,
    output: Lazy,
    input_markers: Markers,
    /// Calls that went well at the first attempt and were not counted elsewhere yet.
    pub(crate) successes: AtomicU64,
    /// How many calls were looked at to pick samples of them.
    pub(crate) looked_at: AtomicU64,
}

/// A declared code: its facts, and the schema of its details.
#[derive(Debug)]
pub(crate) struct Declared {
    pub(crate) kind: Kind,
    details: Lazy,
    details_markers: Markers,
}

/// A schema that is compiled when it is first asked for.
pub(crate) type Lazy = OnceLock<Result<Schema, String>>;

impl Registry {
    /// Starts collecting operations.
    pub fn builder() -> Builder {
        Builder::default()
    }

    fn of(operations: BTreeMap<String, Arc<Operation>>) -> Self {
        Self {
            sorted: operations.values().cloned().collect(),
            by_name: operations.into_iter().collect(),
        }
    }

    /// The operation of a name; a leading slash makes no difference.
    pub fn get(&self, name: &str) -> Option<&Arc<Operation>> {
        self.by_name.get(name.strip_prefix('/').unwrap_or(name))
    }

    /// Every operation, in the order of their names.
    pub fn operations(&self) -> impl Iterator<Item = &Arc<Operation>> {
        self.sorted.iter()
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
        &self.given.spec
    }

    /// The name.
    pub fn name(&self) -> &OperationName {
        &self.given.spec.name
    }

    /// What gives the one answer of a query or a mutation.
    pub(crate) fn handler(&self) -> &dyn Handler {
        match &self.given.work {
            Work::Once(handler) => &**handler,
            Work::Stream(_) => unreachable!("only subscriptions are registered with a stream"),
        }
    }

    /// What gives the items of a subscription.
    pub(crate) fn stream_handler(&self) -> &dyn StreamHandler {
        match &self.given.work {
            Work::Stream(handler) => &**handler,
            Work::Once(_) => unreachable!("every subscription is registered with a stream"),
        }
    }

    pub(crate) fn composition(&self) -> &Composition {
        &self.given.composition
    }

    pub(crate) fn credentials(&self) -> &Credentials {
        &self.given.credentials
    }

    /// The service it shares circuits and a retry budget with.
    pub(crate) fn behind(&self) -> Option<&Behind> {
        self.behind.as_ref()
    }

    pub(crate) fn reconcile(&self) -> Option<&dyn Reconcile> {
        self.given.reconcile.as_deref()
    }

    /// Operations a caller can turn to when this one fails.
    pub(crate) fn related(&self) -> &Related {
        &self.given.related
    }

    /// Whether codes of the protocol are passed on from another gateway.
    pub(crate) fn relays(&self) -> bool {
        self.given.relays
    }

    /// Whether models read about it and may call it.
    pub fn is_offered_to_models(&self) -> bool {
        self.given.offered_to_models
    }

    /// Whether it may answer codes of the protocol.
    pub(crate) fn speaks_for_gateway(&self) -> bool {
        self.given.speaks_for_gateway
    }

    /// Whether the input of a call steers the call.
    pub(crate) fn is_steered_by_input(&self) -> bool {
        self.given.steered_by_input
    }

    pub(crate) fn declared(&self, code: &Code) -> Option<&Declared> {
        self.declared.get(code)
    }

    pub(crate) fn input_schema(&self) -> Result<&Schema, &str> {
        compiled(&self.input, &self.given.spec.input_schema)
    }

    /// The schema of the output; `None` when none was declared.
    pub(crate) fn output_schema(&self) -> Option<Result<&Schema, &str>> {
        let schema = &self.given.spec.output_schema;
        describes_something(schema).then(|| compiled(&self.output, schema))
    }

    /// What the input schema marks as sensitive.
    pub(crate) fn input_markers(&self) -> &Markers {
        &self.input_markers
    }

    /// What the schema of a declared code's details marks as sensitive.
    pub(crate) fn details_markers(&self, failure: &Failure) -> Option<&Markers> {
        self.declared
            .get(self.described_by(failure)?)
            .map(|declared| &declared.details_markers)
    }

    /// The schema of a declared code's details; `None` when none was declared.
    pub(crate) fn details_schema(&self, failure: &Failure) -> Option<Result<&Schema, &str>> {
        self.declared_details_schema(self.described_by(failure)?)
    }

    fn declared_details_schema(&self, code: &Code) -> Option<Result<&Schema, &str>> {
        let declared = self.declared.get(code)?;
        let schema = &self.given.spec.definition(code.as_str())?.schema;
        describes_something(schema).then(|| compiled(&declared.details, schema))
    }

    /// The declared code whose definition speaks of this failure: its own, or for a status that is not
    /// declared its range, or what stands for all others.
    fn described_by(&self, failure: &Failure) -> Option<&Code> {
        let code = failure.code();
        if let Some((code, _)) = self.declared.get_key_value(code) {
            return Some(code);
        }
        let status = match code.as_str().strip_prefix(IMPORTED) {
            Some(status) => status.parse().ok()?,
            // Whatever the status was, the body is what is declared for it.
            None if code.as_str() == codes::ERR_TRY_LATER.code => failure.upstream()?.status?,
            None => return None,
        };
        let definitions = self.given.spec.error_schemas.iter();
        let covering = definitions.filter_map(|it| {
            let pattern = it.http_status.filter(|it| it.covers(status))?;
            Some((pattern, &it.code))
        });
        let nearest = covering.min_by_key(|(pattern, _)| match pattern {
            StatusPattern::Exact(_) => 0,
            StatusPattern::Range(_) => 1,
            StatusPattern::Default => 2,
        });
        nearest.map(|(_, code)| code)
    }

    fn schema_problems(&self) -> Vec<Problem> {
        let problem = |of: String, problem: &str| Problem::Schema {
            operation: self.name().clone(),
            of,
            problem: problem.to_owned(),
        };
        let input = self
            .input_schema()
            .err()
            .map(|broken| problem("the input".to_owned(), broken));
        let output = self.output_schema().and_then(Result::err);
        let output = output.map(|broken| problem("the output".to_owned(), broken));
        let details = self.declared.keys().filter_map(|code| {
            let broken = self.declared_details_schema(code)?.err()?;
            Some(problem(code.to_string(), broken))
        });
        input.into_iter().chain(output).chain(details).collect()
    }
}

/// How the codes of imported operations begin, before the status.
const IMPORTED: &str = "HTTP_";

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
