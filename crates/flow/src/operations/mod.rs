//! The operations of the protocol: `tasks/create`, `tasks/execute` and so on.
//!
//! Like any other operation they can be called over every protocol. JSON-RPC callers may write a dot for the slash.
//! `specs` has their contracts, `view` writes tasks.

mod commands;
mod events;
mod notify;
mod queries;
mod specs;
mod view;

use std::sync::Arc;

use panpan_contract::operation::{OperationName, OperationSpec, OperationType};
use panpan_failure::{Failure, Violation};
use panpan_runtime::{Context, Operation, Registration, Related, similar_names};
use serde_json::{Map, Value};

use crate::authority::Authority;
use crate::engine::{Authorities, CallableMethods, Caller, Visible};
use crate::flows::{Flows, TASKS_SCOPE};
use crate::plan::Methods;
use crate::task::{is_on_tasks, whole_number};
pub use notify::WEBHOOK_SENDER;

/// The operations of these flows. Webhooks need the operation [`WEBHOOK_SENDER`], too.
pub fn operations(flows: &Flows) -> Vec<Registration> {
    let mut operations = vec![
        operation(flows, specs::create(), commands::create),
        operation(flows, specs::execute(), commands::execute),
        operation(flows, specs::update(), commands::update),
        operation(flows, specs::copy(), commands::copy),
        operation(flows, specs::cancel(), commands::cancel),
        operation(flows, specs::delete(), commands::delete),
        operation(flows, specs::get(), queries::get),
        operation(flows, specs::generations(), queries::generations),
        operation(flows, specs::list(), queries::list),
        operation(flows, specs::tree(), queries::tree),
        operation(flows, specs::children(), queries::children),
        operation(flows, specs::running(), queries::running),
        operation(flows, specs::statistics(), queries::statistics),
        events(flows),
    ];
    operations.extend(notify::registration(flows));
    operations
}

/// An operation that reports invalid parameters itself, as the pipeline does: what it accepts depends on other tasks.
fn operation<Run>(
    flows: &Flows,
    spec: OperationSpec,
    run: fn(Flows, Context, Arc<Value>) -> Run,
) -> Registration
where
    Run: Future<Output = Result<Value, Failure>> + Send + 'static,
{
    let flows = flows.clone();
    let handler = move |context: Context, input: Arc<Value>| run(flows.clone(), context, input);
    Registration::new(spec, handler)
        .relaying()
        .related_to(related())
}

/// The operations that show tasks.
fn related() -> Related {
    Related {
        shows_effect: OperationName::new("tasks/get").ok(),
        lists: OperationName::new("tasks/list").ok(),
        shows_item: OperationName::new("tasks/get").ok(),
    }
}

fn events(flows: &Flows) -> Registration {
    let flows = flows.clone();
    let open =
        move |context: Context, input: Arc<Value>| events::open(flows.clone(), context, input);
    Registration::streaming(specs::events(), open)
        .relaying()
        .related_to(related())
}

fn caller(context: &Context) -> Caller {
    let identity = context.caller();
    let owner: Option<Arc<str>> = identity.map(|it| it.id.as_str().into());
    let authority = Authority::of(identity, context.state_owner());
    let sees_all = identity.is_some_and(|it| it.scopes.contains(TASKS_SCOPE));
    Caller {
        visible: match sees_all {
            true => Visible::All,
            false => Visible::OwnedBy(owner.clone()),
        },
        owner,
        authority: authority.map(|it| it.to_text().into()),
        authorities: Arc::new(AnyAuthority(context.clone())),
    }
}

/// A number in an input that its schema accepts.
fn number(input: &Value, name: &str) -> Option<u64> {
    whole_number(input.get(name)?)
}

/// Knows the operations that can be called with any authority.
struct AnyAuthority(Context);

impl Authorities for AnyAuthority {
    fn methods(&self, authority: Option<&str>) -> CallableMethods {
        let identity = authority.and_then(|it| Authority::from_text(it).into_identity());
        let callable = self.0.callable_by(identity.as_deref()).into_iter();
        // A stream has no result.
        let streams = |it: &Arc<Operation>| it.spec().op_type == OperationType::Subscription;
        let callable = callable.filter(|it| !is_on_tasks(it.name().as_str()));
        let (streams, callable) = callable.partition(streams);
        Arc::new(Operations { callable, streams })
    }
}

/// Operations that can be called, ordered by name, as methods of tasks.
#[derive(Debug)]
struct Operations {
    callable: Vec<Arc<Operation>>,
    streams: Vec<Arc<Operation>>,
}

impl Operations {
    fn find(&self, method: &str) -> Option<&Operation> {
        find(&self.callable, method)
    }
}

fn find<'a>(operations: &'a [Arc<Operation>], method: &str) -> Option<&'a Operation> {
    let method = method.strip_prefix('/').unwrap_or(method);
    let found = operations.binary_search_by(|it| it.name().as_str().cmp(method));
    found.ok().map(|position| &*operations[position])
}

impl Methods for Operations {
    fn exists(&self, method: &str) -> bool {
        self.find(method).is_some()
    }

    /// Tools have `__` in place of the slash, and callers of JSON-RPC may write a dot.
    fn with_alias(&self, alias: &str) -> Option<String> {
        let names = [alias.replace("__", "/"), alias.replace('.', "/")];
        let mut named = names.into_iter().filter(|it| self.exists(it));
        let found = named.next()?;
        let is_only = named.all(|it| it == found);
        is_only.then_some(found)
    }

    fn streams(&self, method: &str) -> bool {
        find(&self.streams, method).is_some()
    }

    fn changes(&self, method: &str) -> bool {
        let operation = self.find(method);
        operation.is_none_or(|it| it.spec().op_type == OperationType::Mutation)
    }

    fn input_schema(&self, method: &str) -> Option<&Value> {
        self.find(method).map(|it| &it.spec().input_schema)
    }

    fn similar(&self, method: &str) -> Vec<String> {
        let known = self.callable.iter().map(|it| it.name().as_str());
        let similar = similar_names(method, known).into_iter();
        similar.map(str::to_owned).collect()
    }

    fn violations(&self, method: &str, inputs: &Map<String, Value>) -> Vec<Violation> {
        let operation = self.find(method);
        let inputs = || Value::Object(inputs.clone());
        operation.map_or_else(Vec::new, |it| it.input_violations(inputs()))
    }
}
