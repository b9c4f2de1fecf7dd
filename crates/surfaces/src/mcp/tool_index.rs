//! The operations of a registry as tools, computed once per registry.
//!
//! The index contains every operation that is offered to models, for all callers; what one caller
//! may see is checked for each request. It does not keep operations alive: a replaced registry is
//! freed with its last call.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock, Weak};

use panpan_contract::operation::{KeyRule, OperationSpec, OperationType, TaskUse, Visibility};
use panpan_mcp::output;
use panpan_runtime::{Operation, Registry};
use rmcp::model::{InputRequests, Tool};
use serde_json::Value;

use super::tasks::ask_first;
use super::tool_name::tool_name;
use super::{key, tool};
use crate::search::SearchEntry;

/// The result of `tools/list` for these operations, with one tool per operation. Internal
/// operations, subscriptions and operations whose input is not an object are left out.
pub fn tool_list<'a>(operations: impl IntoIterator<Item = &'a OperationSpec>) -> Value {
    let callable = operations
        .into_iter()
        .filter(|spec| is_callable_as_tool(spec));
    let mut entries: Vec<Entry> = callable.map(Entry::new).collect();
    make_names_unique(&mut entries);
    let tools: Vec<Tool> = entries.into_iter().filter_map(|it| it.tool).collect();
    serde_json::json!({"tools": tools})
}

/// Whether an operation is external and returns a single result.
fn is_callable_as_tool(spec: &OperationSpec) -> bool {
    spec.visibility == Visibility::External && spec.op_type != OperationType::Subscription
}

/// The tools of the current registry.
#[derive(Debug, Default)]
pub(super) struct ToolCache(RwLock<Arc<ToolIndex>>);

/// The operations of one registry that are external and return a single result.
#[derive(Debug, Default)]
pub(super) struct ToolIndex {
    /// Keeps the address of the registry from being reused while the index exists.
    registry: Weak<Registry>,
    entries: Vec<Entry>,
    by_operation: HashMap<String, usize>,
    by_tool: HashMap<String, usize>,
}

/// The facts about an operation that calls need, computed once.
#[derive(Debug)]
pub(super) struct Entry {
    /// The name of the operation.
    pub(super) operation: String,
    /// The tool; `None` when the input is not an object.
    pub(super) tool: Option<Tool>,
    /// Whether it is a mutation.
    pub(super) changes: bool,
    /// Whether panpan generates an idempotency key for a call without one. Not where callers have
    /// to send a key: theirs says more than a generated one could.
    pub(super) gets_key: bool,
    /// Whether the tool accepts the idempotency key as an argument.
    pub(super) takes_key: bool,
    /// Whether its output is a list of content blocks.
    pub(super) returns_content: bool,
    /// Whether the tool has an output schema, so that clients expect structured content.
    pub(super) has_output_schema: bool,
    /// Whether that schema admits outputs that violate the declared one.
    pub(super) admits_undeclared: bool,
    /// Whether the tool has the name that its upstream server gave it.
    pub(super) has_server_name: bool,
    /// Whether some of its arguments are repeated in headers.
    pub(super) has_headers: bool,
    /// Whether its calls run as tasks. Without it, the client decides.
    pub(super) task: Option<TaskUse>,
    /// The questions that a client answers before a task is created.
    pub(super) ask_first: InputRequests,
    /// The words for `search`.
    pub(super) words: SearchEntry,
}

impl ToolCache {
    /// The index for a registry.
    pub(super) fn index_for(&self, registry: &Arc<Registry>) -> Arc<ToolIndex> {
        let cached = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if cached.is_for(registry) {
            return cached.clone();
        }
        drop(cached);
        let mut cached = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if !cached.is_for(registry) {
            *cached = Arc::new(ToolIndex::new(registry));
        }
        cached.clone()
    }
}

impl ToolIndex {
    fn new(registry: &Arc<Registry>) -> Self {
        let offered = registry.operations().filter(|it| it.is_offered_to_models());
        let specs = offered.map(|operation| operation.spec());
        let callable = specs.filter(|spec| is_callable_as_tool(spec));
        let mut specs: Vec<&OperationSpec> = callable.collect();
        specs.sort_by_key(|spec| (spec.name.namespace(), order(spec)));
        let mut entries: Vec<Entry> = specs.into_iter().map(Entry::new).collect();
        make_names_unique(&mut entries);
        let numbered = || entries.iter().enumerate();
        let by_operation = numbered().map(|(at, entry)| (entry.operation.clone(), at));
        let by_tool = numbered().filter_map(|(at, entry)| {
            let tool = entry.tool.as_ref()?;
            Some((tool.name.to_string(), at))
        });
        Self {
            registry: Arc::downgrade(registry),
            by_operation: by_operation.collect(),
            by_tool: by_tool.collect(),
            entries,
        }
    }

    fn is_for(&self, registry: &Arc<Registry>) -> bool {
        std::ptr::eq(self.registry.as_ptr(), Arc::as_ptr(registry))
    }

    /// The operation behind a tool.
    pub(super) fn by_tool(&self, name: &str) -> Option<&Entry> {
        self.by_tool.get(name).map(|at| &self.entries[*at])
    }

    /// An operation by its own name; a leading slash is ignored.
    pub(super) fn by_operation(&self, name: &str) -> Option<&Entry> {
        let name = name.strip_prefix('/').unwrap_or(name);
        self.by_operation.get(name).map(|at| &self.entries[*at])
    }

    /// The name of an operation's tool.
    pub(super) fn tool_of(&self, operation: &str) -> Option<&str> {
        let tool = self.by_operation(operation)?.tool.as_ref()?;
        Some(&tool.name)
    }

    /// The entries of these operations, in the order of the index.
    pub(super) fn among<'a>(
        &'a self,
        operations: &'a [Arc<Operation>],
    ) -> impl Iterator<Item = &'a Entry> {
        let names = operations.iter().map(|it| it.name().as_str());
        let mut positions: Vec<usize> = names
            .filter_map(|name| self.by_operation.get(name).copied())
            .collect();
        positions.sort_unstable();
        positions.into_iter().map(|at| &self.entries[at])
    }
}

/// The position of a tool in its upstream server's list; other tools are ordered by name.
fn order(spec: &OperationSpec) -> Option<u64> {
    tool::definition(spec)?.get("order")?.as_u64()
}

impl Entry {
    /// Whether the operation runs only as a task.
    pub(super) fn requires_task(&self) -> bool {
        self.task == Some(TaskUse::Required)
    }

    fn new(spec: &OperationSpec) -> Self {
        let tool = tool::from_spec(spec);
        let schema = spec.input_schema.to_string();
        let output = tool.as_ref().and_then(|tool| tool.output_schema.as_ref());
        let changes = spec.op_type == OperationType::Mutation;
        Self {
            operation: spec.name.as_str().to_owned(),
            has_output_schema: output.is_some(),
            admits_undeclared: tool::definition(spec).is_none(),
            has_server_name: tool::server_name(spec).is_some(),
            tool,
            changes,
            gets_key: changes && spec.idempotency.key == KeyRule::Optional,
            takes_key: key::takes_argument(spec),
            returns_content: output::is_content(&spec.output_schema),
            has_headers: schema.contains("\"x-mcp-header\""),
            task: task_use(spec),
            ask_first: ask_first(spec),
            words: SearchEntry::of(spec),
        }
    }
}

/// Whether an operation runs as a task. A task cannot call an operation on tasks.
fn task_use(spec: &OperationSpec) -> Option<TaskUse> {
    match spec.name.as_str().starts_with("tasks/") {
        true => Some(TaskUse::Forbidden),
        false => TaskUse::of(spec),
    }
}

/// Makes the names in a list unique: many clients reject a list with duplicates. A name derived
/// from an operation wins over a requested one; of two equal requests the first wins.
fn make_names_unique(entries: &mut [Entry]) {
    let derived = |entry: &Entry| tool_name(&entry.operation);
    let mut taken: HashSet<String> = entries.iter().map(derived).collect();
    let mut used = HashSet::new();
    for entry in entries {
        let derived = tool_name(&entry.operation);
        entry.tool = entry.tool.take().and_then(|mut tool| {
            if tool.name != derived && !taken.insert(tool.name.to_string()) {
                tool.name = derived.into();
            }
            // Two long names may end in the same hash.
            used.insert(tool.name.clone()).then_some(tool)
        });
    }
}

#[cfg(test)]
mod tests {
    use panpan_mcp::names::NAME_EXTENSION;

    use super::*;

    fn registry(names: &[&str]) -> Arc<Registry> {
        let echo = |_, input: Arc<serde_json::Value>| {
            std::future::ready(Ok::<_, panpan_failure::Failure>((*input).clone()))
        };
        let builder = names.iter().fold(Registry::builder(), |builder, name| {
            let spec = OperationSpec::new(name.parse().unwrap(), OperationType::Query);
            builder.register(spec, echo)
        });
        Arc::new(builder.build().unwrap())
    }

    #[test]
    fn operations_that_cannot_be_tools_are_not_listed() {
        let spec = |name: &str, op_type| OperationSpec::new(name.parse().unwrap(), op_type);
        let mut hidden = spec("a/hidden", OperationType::Query);
        hidden.visibility = Visibility::Internal;
        let mut number = spec("a/number", OperationType::Query);
        number.input_schema = serde_json::json!({"type": "integer"});
        let specs = [
            spec("a/b", OperationType::Query),
            hidden,
            number,
            spec("a/watch", OperationType::Subscription),
            spec("a/write", OperationType::Mutation),
        ];
        let list = tool_list(&specs);
        let tools = list["tools"].as_array().unwrap();
        let names: Vec<&Value> = tools.iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, ["a__b", "a__write"]);
    }

    #[test]
    fn the_index_is_computed_once_per_registry() {
        let (cache, first_registry) = (ToolCache::default(), registry(&["a/b"]));
        let first = cache.index_for(&first_registry);
        assert!(Arc::ptr_eq(&first, &cache.index_for(&first_registry)));
        let second = cache.index_for(&registry(&["a/c"]));
        assert!(first.by_tool("a__b").is_some() && second.by_tool("a__b").is_none());
        assert!(second.by_operation("/a/c").is_some());
    }

    #[test]
    fn tools_of_a_server_keep_its_order() {
        let echo = |_, input: Arc<serde_json::Value>| {
            std::future::ready(Ok::<_, panpan_failure::Failure>((*input).clone()))
        };
        let listed = [
            ("a/x", None),
            ("b/z", Some(0)),
            ("b/a", Some(1)),
            ("c/d", None),
        ];
        let builder = listed
            .iter()
            .fold(Registry::builder(), |builder, (name, order)| {
                let mut spec = OperationSpec::new(name.parse().unwrap(), OperationType::Query);
                if let Some(order) = order {
                    let definition = serde_json::json!({"order": order});
                    spec.extensions
                        .insert("x-mcp-definition", definition)
                        .unwrap();
                }
                builder.register(spec, echo)
            });
        let registry = Arc::new(builder.build().unwrap());
        let index = ToolCache::default().index_for(&registry);
        let operations: Vec<Arc<Operation>> = registry.operations().cloned().collect();
        let names = index.among(&operations).map(|it| it.operation.as_str());
        assert_eq!(names.collect::<Vec<_>>(), listed.map(|(name, _)| name));
    }

    #[test]
    fn an_index_does_not_keep_its_operations_alive() {
        let (cache, registry) = (ToolCache::default(), registry(&["a/b"]));
        let index = cache.index_for(&registry);
        let operation = Arc::downgrade(registry.get("a/b").unwrap());
        drop(registry);
        assert!(operation.upgrade().is_none());
        assert!(index.by_operation("a/b").is_some());
    }

    #[test]
    fn of_two_operations_that_request_the_same_name_the_first_gets_it() {
        let mut entries = ["a/b", "a/c"].map(|name| {
            let mut spec = OperationSpec::new(name.parse().unwrap(), OperationType::Query);
            let inserted = spec.extensions.insert(NAME_EXTENSION, "read".into());
            inserted.unwrap();
            Entry::new(&spec)
        });
        make_names_unique(&mut entries);
        let names = entries.map(|entry| entry.tool.unwrap().name);
        assert_eq!(names, ["read", "a__c"]);
    }

    #[test]
    fn a_derived_name_wins_over_a_requested_one() {
        let long = format!("{}/b", "n".repeat(70));
        let derived = tool_name(&long);
        assert!(!derived.contains("__"), "{derived}");
        let requesting = |name: &str| {
            let mut spec = OperationSpec::new(name.parse().unwrap(), OperationType::Query);
            let inserted = spec
                .extensions
                .insert(NAME_EXTENSION, derived.as_str().into());
            inserted.unwrap();
            Entry::new(&spec)
        };
        let plain = OperationSpec::new(long.parse().unwrap(), OperationType::Query);
        let mut entries = [requesting("a/b"), Entry::new(&plain), requesting("z/b")];
        make_names_unique(&mut entries);
        let names = entries.map(|entry| entry.tool.unwrap().name);
        assert_eq!(names, ["a__b", derived.as_str(), "z__b"]);
    }

    #[test]
    fn of_two_operations_with_the_same_name_only_the_first_is_a_tool() {
        let spec = OperationSpec::new("a/b".parse().unwrap(), OperationType::Query);
        let mut entries = [Entry::new(&spec), Entry::new(&spec)];
        make_names_unique(&mut entries);
        assert_eq!(entries.map(|entry| entry.tool.is_some()), [true, false]);
    }

    #[test]
    fn operations_on_tasks_do_not_run_as_tasks() {
        for (name, expected) in [
            ("tasks/get", Some(TaskUse::Forbidden)),
            ("shop/tasks", None),
        ] {
            let spec = OperationSpec::new(name.parse().unwrap(), OperationType::Query);
            assert_eq!(Entry::new(&spec).task, expected, "{name}");
        }
    }
}
