//! The registry: all operations with their handlers, checked against each other.
//!
//! Reports all problems at once. Schemas are compiled on first use.

mod builder;
mod problem;
mod registration;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use foldhash::HashMap;
use panpan_contract::operation::{OperationName, OperationSpec, Visibility};
use panpan_failure::{Code, Failure, Kind, StatusPattern, codes};
use panpan_redact::Markers;
use serde_json::Value;

use crate::handler::{Handler, StreamHandler};
use crate::identity::{Identity, missing_access};
use crate::retry::OperationUpstream;
use crate::schema::Schema;

pub use builder::Builder;
pub use problem::{RegistryProblem, RegistryProblems};
pub(crate) use registration::Work;
pub use registration::{Registration, Related};

/// The operations that can be called.
#[derive(Debug, Default)]
pub struct Registry {
    by_name: HashMap<String, Arc<Operation>>,
    /// Ordered by name.
    sorted: Vec<Arc<Operation>>,
}

/// An operation with its handler.
#[derive(Debug)]
pub struct Operation {
    pub(crate) registration: Registration,
    upstream: Option<OperationUpstream>,
    declared: BTreeMap<Code, Declared>,
    input: Lazy,
    output: Lazy,
    input_markers: Markers,
    /// Calls that succeeded at the first attempt and are not in the tally yet.
    pub(crate) successes: AtomicU64,
    /// Counts successful calls, to record every n-th.
    pub(crate) sampling_counter: AtomicU64,
}

/// A declared code: its kind, and the schema of its details.
#[derive(Debug)]
pub(crate) struct Declared {
    pub(crate) kind: Kind,
    details: Lazy,
    details_markers: Markers,
}

/// A schema that is compiled on first use.
pub(crate) type Lazy = OnceLock<Result<Schema, String>>;

impl Registry {
    /// Starts building a registry.
    pub fn builder() -> Builder {
        Builder::default()
    }

    fn of(operations: BTreeMap<String, Arc<Operation>>) -> Self {
        Self {
            sorted: operations.values().cloned().collect(),
            by_name: operations.into_iter().collect(),
        }
    }

    /// The operation of this name; a leading slash is ignored.
    pub fn get(&self, name: &str) -> Option<&Arc<Operation>> {
        self.by_name.get(name.strip_prefix('/').unwrap_or(name))
    }

    /// The external operation of this name. An internal one looks like an absent one.
    pub fn external(&self, name: &str) -> Option<&Arc<Operation>> {
        self.get(name).filter(|it| it.is_external())
    }

    /// All operations, ordered by name.
    pub fn operations(&self) -> impl Iterator<Item = &Arc<Operation>> {
        self.sorted.iter()
    }

    /// Compiles all schemas and returns those that do not compile.
    ///
    /// For authors and tests; a gateway compiles schemas on first use.
    pub fn schema_problems(&self) -> Vec<RegistryProblem> {
        self.operations()
            .flat_map(|it| it.schema_problems())
            .collect()
    }
}

impl Operation {
    /// The contract.
    pub fn spec(&self) -> &OperationSpec {
        &self.registration.spec
    }

    /// The name.
    pub fn name(&self) -> &OperationName {
        &self.registration.spec.name
    }

    /// Whether clients can see it.
    pub fn is_external(&self) -> bool {
        self.spec().visibility == Visibility::External
    }

    /// Whether it allows this caller to call it.
    pub(crate) fn admits(&self, caller: Option<&Identity>) -> bool {
        missing_access(&self.spec().access_control, caller).is_none()
    }

    /// The handler of a query or a mutation.
    pub(crate) fn handler(&self) -> &dyn Handler {
        match &self.registration.work {
            Work::Once(handler) => &**handler,
            Work::Stream(_) => unreachable!("only subscriptions are registered with a stream"),
        }
    }

    /// The handler of a subscription.
    pub(crate) fn stream_handler(&self) -> &dyn StreamHandler {
        match &self.registration.work {
            Work::Stream(handler) => &**handler,
            Work::Once(_) => unreachable!("every subscription is registered with a stream"),
        }
    }

    /// Its share of the circuits and the retry budget of its service.
    pub(crate) fn upstream(&self) -> Option<&OperationUpstream> {
        self.upstream.as_ref()
    }

    /// Whether it is offered to models as a tool.
    pub fn is_offered_to_models(&self) -> bool {
        self.registration.offered_to_models
    }

    pub(crate) fn declared(&self, code: &Code) -> Option<&Declared> {
        self.declared.get(code)
    }

    pub(crate) fn input_schema(&self) -> Result<&Schema, &str> {
        self.compiled(&self.input, &self.registration.spec.input_schema)
    }

    /// The schema of the output, if one was declared.
    pub(crate) fn output_schema(&self) -> Option<Result<&Schema, &str>> {
        let schema = &self.registration.spec.output_schema;
        is_declared(schema).then(|| self.compiled(&self.output, schema))
    }

    /// The first violation of the declared output schema by an output that was stored, as a message.
    pub fn output_violation(&self, output: &Value) -> Option<String> {
        crate::dispatch::output_violation(self, output)
    }

    /// The sensitive members of the input.
    pub(crate) fn input_markers(&self) -> &Markers {
        &self.input_markers
    }

    /// The sensitive members of the details of a failure.
    pub(crate) fn details_markers(&self, failure: &Failure) -> Option<&Markers> {
        self.declared
            .get(self.described_by(failure)?)
            .map(|declared| &declared.details_markers)
    }

    /// The schema of the details of a failure, if one was declared.
    pub(crate) fn details_schema(&self, failure: &Failure) -> Option<Result<&Schema, &str>> {
        self.declared_details_schema(self.described_by(failure)?)
    }

    fn declared_details_schema(&self, code: &Code) -> Option<Result<&Schema, &str>> {
        let declared = self.declared.get(code)?;
        let schema = &self.registration.spec.definition(code.as_str())?.schema;
        is_declared(schema).then(|| self.compiled(&declared.details, schema))
    }

    /// The declared code whose definition describes this failure: its own, or for an undeclared status the
    /// code of its range, or the default.
    fn described_by(&self, failure: &Failure) -> Option<&Code> {
        let code = failure.code();
        if let Some((code, _)) = self.declared.get_key_value(code) {
            return Some(code);
        }
        let status = match code.as_str().strip_prefix(IMPORTED_PREFIX) {
            Some(status) => status.parse().ok()?,
            // ERR_TRY_LATER has the body that is declared for its status.
            None if code.as_str() == codes::ERR_TRY_LATER.code => failure.upstream()?.status?,
            None => return None,
        };
        let definitions = self.registration.spec.error_schemas.iter();
        most_specific(status, definitions.map(|it| (it.http_status, &it.code)))
    }

    fn compiled<'a>(&self, lazy: &'a Lazy, schema: &Value) -> Result<&'a Schema, &'a str> {
        let compile = match self.registration.checks_formats {
            true => Schema::compile,
            false => Schema::compile_without_formats,
        };
        let compiled = lazy.get_or_init(|| compile(schema));
        compiled.as_ref().map_err(String::as_str)
    }

    fn schema_problems(&self) -> Vec<RegistryProblem> {
        let problem = |of: String, problem: &str| RegistryProblem::Schema {
            operation: self.name().clone(),
            of,
            problem: problem.to_owned(),
        };
        let input = self
            .input_schema()
            .err()
            .map(|error| problem("the input".to_owned(), error));
        let output = self.output_schema().and_then(Result::err);
        let output = output.map(|error| problem("the output".to_owned(), error));
        let details = self.declared.keys().filter_map(|code| {
            let error = self.declared_details_schema(code)?.err()?;
            Some(problem(code.to_string(), error))
        });
        input.into_iter().chain(output).chain(details).collect()
    }
}

/// What is declared for a status: exactly, by range, or as the default.
pub fn most_specific<T>(
    status: u16,
    declared: impl Iterator<Item = (Option<StatusPattern>, T)>,
) -> Option<T> {
    let covering = declared.filter_map(|(pattern, it)| {
        let pattern = pattern.filter(|pattern| pattern.covers(status))?;
        Some((pattern, it))
    });
    let nearest = covering.min_by_key(|(pattern, _)| match pattern {
        StatusPattern::Exact(_) => 0,
        StatusPattern::Range(_) => 1,
        StatusPattern::Default => 2,
    });
    nearest.map(|(_, it)| it)
}

/// The prefix of imported codes, before the status.
const IMPORTED_PREFIX: &str = "HTTP_";

/// Whether a schema declares anything: `{}` and `true` accept every value.
fn is_declared(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => !members.is_empty(),
        Value::Bool(anything) => !anything,
        _ => true,
    }
}
