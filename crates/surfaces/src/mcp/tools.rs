//! The operations of a registry as tools, made once for each registry and kept until there is another.
//!
//! Every operation that is offered to models is in here, for every caller; what one caller sees of it is asked
//! each time. No operation is held on to: a registry that was replaced ends with its calls.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock, Weak};

use panpan_contract::operation::{KeyRule, OperationSpec, OperationType, Visibility};
use panpan_runtime::{Operation, Registry};
use rmcp::model::Tool;
use serde_json::Value;

use super::name::tool_name;
use super::{content, key, tool};
use crate::search::SearchEntry;

/// What a client that lists the tools of a server with these operations is shown, when each is a tool of
/// its own. Left out are internal operations, streams, and those whose input is not an object.
pub fn listed<'a>(operations: impl IntoIterator<Item = &'a OperationSpec>) -> Value {
    let outside = operations.into_iter().filter(|spec| answers_outside(spec));
    let mut entries: Vec<Entry> = outside.map(Entry::of).collect();
    tell_apart(&mut entries);
    let tools: Vec<Tool> = entries.into_iter().filter_map(|it| it.tool).collect();
    serde_json::json!({"tools": tools})
}

/// Whether an operation can be called from outside and answers once.
fn answers_outside(spec: &OperationSpec) -> bool {
    spec.visibility == Visibility::External && spec.op_type != OperationType::Subscription
}

/// The tools of the newest registry.
#[derive(Debug, Default)]
pub(super) struct Tools(RwLock<Arc<Catalogue>>);

/// The operations of one registry, as far as they can be called from outside and answer once.
#[derive(Debug, Default)]
pub(super) struct Catalogue {
    /// Not dropped before the catalogue, so that no other registry can come to stand in its place.
    registry: Weak<Registry>,
    entries: Vec<Entry>,
    by_operation: HashMap<String, usize>,
    by_tool: HashMap<String, usize>,
}

/// What is known of an operation without looking into its contract again.
#[derive(Debug)]
pub(super) struct Entry {
    /// The name of the operation.
    pub(super) operation: String,
    /// The tool; `None` when the input is not an object.
    pub(super) tool: Option<Tool>,
    /// Whether it changes something.
    pub(super) changes: bool,
    /// Whether a call without an idempotency key gets one. Where callers have to give theirs, they state more
    /// with it than a made one could.
    pub(super) gets_key: bool,
    /// Whether the tool takes the idempotency key among its arguments.
    pub(super) takes_key: bool,
    /// Whether its output is a list of content blocks.
    pub(super) gives_blocks: bool,
    /// Whether clients expect structured content of it.
    pub(super) gives_structure: bool,
    /// Whether the schema of that leaves room for an output that breaks the declared one.
    pub(super) leaves_room: bool,
    /// Whether the tool is known by the name that the server behind it gave it.
    pub(super) has_own_name: bool,
    /// Whether some of its arguments are repeated in headers.
    pub(super) has_headers: bool,
    /// What it is found by.
    pub(super) words: SearchEntry,
}

impl Tools {
    /// The tools of a registry.
    pub(super) fn of(&self, registry: &Arc<Registry>) -> Arc<Catalogue> {
        let kept = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if kept.is_of(registry) {
            return kept.clone();
        }
        drop(kept);
        let mut kept = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if !kept.is_of(registry) {
            *kept = Arc::new(Catalogue::of(registry));
        }
        kept.clone()
    }
}

impl Catalogue {
    fn of(registry: &Arc<Registry>) -> Self {
        let offered = registry.operations().filter(|it| it.is_offered_to_models());
        let specs = offered.map(|operation| operation.spec());
        let outside = specs.filter(|spec| answers_outside(spec));
        let mut specs: Vec<&OperationSpec> = outside.collect();
        specs.sort_by_key(|spec| (spec.name.namespace(), order(spec)));
        let mut entries: Vec<Entry> = specs.into_iter().map(Entry::of).collect();
        tell_apart(&mut entries);
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

    fn is_of(&self, registry: &Arc<Registry>) -> bool {
        std::ptr::eq(self.registry.as_ptr(), Arc::as_ptr(registry))
    }

    /// The operation behind a tool.
    pub(super) fn by_tool(&self, name: &str) -> Option<&Entry> {
        self.by_tool.get(name).map(|at| &self.entries[*at])
    }

    /// An operation by its own name; a leading slash makes no difference.
    pub(super) fn by_operation(&self, name: &str) -> Option<&Entry> {
        let name = name.strip_prefix('/').unwrap_or(name);
        self.by_operation.get(name).map(|at| &self.entries[*at])
    }

    /// The name of an operation's tool.
    pub(super) fn tool_of(&self, operation: &str) -> Option<&str> {
        let tool = self.by_operation(operation)?.tool.as_ref()?;
        Some(&tool.name)
    }

    /// Those of some operations that answer once.
    pub(super) fn among<'a>(
        &'a self,
        operations: &'a [Arc<Operation>],
    ) -> impl Iterator<Item = &'a Entry> {
        let names = operations.iter().map(|it| it.name().as_str());
        let mut places: Vec<usize> = names
            .filter_map(|name| self.by_operation.get(name).copied())
            .collect();
        places.sort_unstable();
        places.into_iter().map(|at| &self.entries[at])
    }
}

/// The place of a tool in the list of the server behind it; others stay in the order of their names.
fn order(spec: &OperationSpec) -> Option<u64> {
    tool::definition(spec)?.get("order")?.as_u64()
}

impl Entry {
    fn of(spec: &OperationSpec) -> Self {
        let tool = tool::of(spec);
        let schema = spec.input_schema.to_string();
        let output = tool.as_ref().and_then(|tool| tool.output_schema.as_ref());
        let changes = spec.op_type == OperationType::Mutation;
        Self {
            operation: spec.name.as_str().to_owned(),
            gives_structure: output.is_some(),
            leaves_room: tool::definition(spec).is_none(),
            has_own_name: tool::own_name(spec).is_some(),
            tool,
            changes,
            gets_key: changes && spec.idempotency.key == KeyRule::Optional,
            takes_key: key::takes_argument(spec),
            gives_blocks: content::is_declared(&spec.output_schema),
            has_headers: schema.contains("\"x-mcp-header\""),
            words: SearchEntry::of(spec),
        }
    }
}

/// No name stands twice in a list: many clients refuse the whole of it. A name that is made from that of
/// an operation goes before one that was asked for, and of two that ask for one the first has it.
fn tell_apart(entries: &mut [Entry]) {
    let made = |entry: &Entry| tool_name(&entry.operation);
    let mut taken: HashSet<String> = entries.iter().map(made).collect();
    let mut kept = HashSet::new();
    for entry in entries {
        let own = tool_name(&entry.operation);
        entry.tool = entry.tool.take().and_then(|mut tool| {
            if tool.name != own && !taken.insert(tool.name.to_string()) {
                tool.name = own.into();
            }
            // Two long names may end in one hash.
            kept.insert(tool.name.clone()).then_some(tool)
        });
    }
}

#[cfg(test)]
mod tests {
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
    fn what_cannot_be_called_as_a_tool_is_not_listed() {
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
        let listed = listed(&specs);
        let tools = listed["tools"].as_array().unwrap();
        let names: Vec<&Value> = tools.iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, ["a__b", "a__write"]);
    }

    #[test]
    fn tools_are_made_once_for_a_registry() {
        let (tools, first) = (Tools::default(), registry(&["a/b"]));
        let made = tools.of(&first);
        assert!(Arc::ptr_eq(&made, &tools.of(&first)));
        let second = tools.of(&registry(&["a/c"]));
        assert!(made.by_tool("a__b").is_some() && second.by_tool("a__b").is_none());
        assert!(second.by_operation("/a/c").is_some());
    }

    #[test]
    fn tools_of_a_server_stand_in_its_order() {
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
        let catalogue = Tools::default().of(&registry);
        let operations: Vec<Arc<Operation>> = registry.operations().cloned().collect();
        let names = catalogue.among(&operations).map(|it| it.operation.as_str());
        assert_eq!(names.collect::<Vec<_>>(), listed.map(|(name, _)| name));
    }

    #[test]
    fn a_catalogue_does_not_keep_its_operations_alive() {
        let (tools, registry) = (Tools::default(), registry(&["a/b"]));
        let made = tools.of(&registry);
        let operation = Arc::downgrade(registry.get("a/b").unwrap());
        drop(registry);
        assert!(operation.upgrade().is_none());
        assert!(made.by_operation("a/b").is_some());
    }

    #[test]
    fn of_two_operations_that_ask_for_one_name_the_first_has_it() {
        let mut entries = ["a/b", "a/c"].map(|name| {
            let mut spec = OperationSpec::new(name.parse().unwrap(), OperationType::Query);
            let asked = spec.extensions.insert(tool::NAME_EXTENSION, "read".into());
            asked.unwrap();
            Entry::of(&spec)
        });
        tell_apart(&mut entries);
        let names = entries.map(|entry| entry.tool.unwrap().name);
        assert_eq!(names, ["read", "a__c"]);
    }

    #[test]
    fn a_name_made_from_that_of_an_operation_goes_before_one_that_was_asked_for() {
        let long = format!("{}/b", "n".repeat(70));
        let made = tool_name(&long);
        assert!(!made.contains("__"), "{made}");
        let asking = |name: &str| {
            let mut spec = OperationSpec::new(name.parse().unwrap(), OperationType::Query);
            let asked = spec
                .extensions
                .insert(tool::NAME_EXTENSION, made.as_str().into());
            asked.unwrap();
            Entry::of(&spec)
        };
        let plain = OperationSpec::new(long.parse().unwrap(), OperationType::Query);
        let mut entries = [asking("a/b"), Entry::of(&plain), asking("z/b")];
        tell_apart(&mut entries);
        let names = entries.map(|entry| entry.tool.unwrap().name);
        assert_eq!(names, ["a__b", made.as_str(), "z__b"]);
    }

    #[test]
    fn of_two_operations_with_one_name_only_the_first_is_a_tool() {
        let spec = OperationSpec::new("a/b".parse().unwrap(), OperationType::Query);
        let mut entries = [Entry::of(&spec), Entry::of(&spec)];
        tell_apart(&mut entries);
        assert_eq!(entries.map(|entry| entry.tool.is_some()), [true, false]);
    }
}
