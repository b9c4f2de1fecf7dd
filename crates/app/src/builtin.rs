//! The built-in operations, and the selection that is served.
//!
//! Without a source all of them are served, including the demo operations. With a source the operator decides what
//! models read: built-in operations are MCP tools only if the operator selects them.

use std::sync::Arc;

use panpan_flow::Flows;
use panpan_runtime::ports::Outcomes;
use panpan_runtime::{Builder, Registration, Registry};

/// The namespaces that can be selected.
pub(crate) const NAMESPACES: [&str; 4] = ["calls", "json", "services", "tasks"];

/// The value of the setting that selects no namespace.
pub(crate) const NONE: &str = "none";

/// The namespace of the demo operations.
const DEMO: &str = "demo";

/// Whether an operation is in the namespace of a built-in operation.
pub(crate) fn is_built_in(operation: &str) -> bool {
    let namespace = operation.split('/').next().unwrap_or_default();
    namespace == DEMO || NAMESPACES.contains(&namespace)
}

/// The settings about built-in operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BuiltInSettings {
    /// The namespaces to serve.
    pub(crate) namespaces: Option<Vec<String>>,
    /// Whether to serve the demo operations.
    pub(crate) demo: Option<bool>,
}

impl BuiltInSettings {
    /// The operations to serve, with or without sources.
    pub(crate) fn select(&self, has_sources: bool) -> BuiltIns {
        BuiltIns {
            namespaces: self.namespaces.clone(),
            demo: self.demo.unwrap_or(!has_sources),
            are_tools: self.namespaces.is_some() || !has_sources,
        }
    }
}

/// The built-in operations that are served.
#[derive(Clone, Debug)]
pub(crate) struct BuiltIns {
    /// All when unset.
    namespaces: Option<Vec<String>>,
    pub(crate) demo: bool,
    /// Whether the namespaces are MCP tools; the demo operations always are.
    are_tools: bool,
}

impl Default for BuiltIns {
    fn default() -> Self {
        BuiltInSettings::default().select(false)
    }
}

impl BuiltIns {
    /// The operations.
    pub(crate) fn registrations(
        &self,
        outcomes: &Arc<dyn Outcomes>,
        flows: &Flows,
    ) -> Vec<Registration> {
        let mut builder = Registry::builder();
        for namespace in NAMESPACES.iter().filter(|it| self.is_selected(it)) {
            builder = register(builder, namespace, outcomes, flows);
        }
        let mut operations = builder.into_registrations();
        if !self.are_tools {
            let hidden = operations.into_iter();
            operations = hidden.map(Registration::not_offered_to_models).collect();
        }
        if self.demo {
            operations.extend(panpan_operations::demo(Registry::builder()).into_registrations());
        }
        operations
    }

    /// Whether tasks can be created and have to be run.
    pub(crate) fn has_tasks(&self) -> bool {
        self.is_selected("tasks")
    }

    fn is_selected(&self, namespace: &str) -> bool {
        let selected = self.namespaces.as_ref();
        selected.is_none_or(|selected| selected.iter().any(|it| it == namespace))
    }
}

fn register(
    builder: Builder,
    namespace: &str,
    outcomes: &Arc<dyn Outcomes>,
    flows: &Flows,
) -> Builder {
    match namespace {
        "calls" => panpan_operations::calls(builder, outcomes),
        "json" => panpan_operations::json(builder),
        "tasks" => {
            let operations = panpan_flow::operations(flows).into_iter();
            operations.fold(builder, Builder::add)
        }
        _ => builder.with_services(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use panpan_runtime::system::{RandomIds, SystemClock};
    use panpan_store::MemoryStore;

    use super::*;

    /// Checks the namespaces that are served, and those that are MCP tools.
    fn check(settings: &BuiltInSettings, has_sources: bool, served: &[&str], tools: &[&str]) {
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let flows = Flows::new(store.clone(), Arc::new(RandomIds));
        let outcomes: Arc<dyn Outcomes> = store;
        let builder = settings
            .select(has_sources)
            .registrations(&outcomes, &flows)
            .into_iter()
            .fold(Registry::builder(), Builder::add);
        let registry = builder.build().unwrap();
        let namespaces = |only_tools: bool| -> BTreeSet<String> {
            let all = registry.operations();
            all.filter(|it| !only_tools || it.is_offered_to_models())
                .map(|it| it.name().namespace().to_owned())
                .collect()
        };
        let expected = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
        assert_eq!(namespaces(false), expected(served), "{settings:?}");
        assert_eq!(namespaces(true), expected(tools), "{settings:?}");
    }

    fn settings(namespaces: Option<&[&str]>, demo: Option<bool>) -> BuiltInSettings {
        let owned = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
        BuiltInSettings {
            namespaces: namespaces.map(owned),
            demo,
        }
    }

    #[test]
    fn without_a_source_all_operations_are_served_as_tools() {
        let all = ["calls", "demo", "json", "services", "tasks"];
        check(&settings(None, None), false, &all, &all);
        let without_demo = ["calls", "json", "services", "tasks"];
        let quiet = settings(None, Some(false));
        check(&quiet, false, &without_demo, &without_demo);
    }

    #[test]
    fn with_a_source_only_selected_operations_are_tools() {
        let others = ["calls", "json", "services", "tasks"];
        check(&settings(None, None), true, &others, &[]);
        let with_demo = ["calls", "demo", "json", "services", "tasks"];
        check(&settings(None, Some(true)), true, &with_demo, &["demo"]);
        check(&settings(Some(&["json"]), None), true, &["json"], &["json"]);
        check(&settings(Some(&[]), None), true, &[], &[]);
    }

    #[test]
    fn a_selection_also_counts_without_a_source() {
        check(
            &settings(Some(&["json"]), None),
            false,
            &["demo", "json"],
            &["demo", "json"],
        );
    }
}
