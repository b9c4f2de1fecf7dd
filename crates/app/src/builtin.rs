//! The operations that come with panpan, and which of them are served.
//!
//! Without a source all of them are, the demonstration among them. With a source the operator decides what
//! models read: built-in operations are tools only where they were asked for.

use std::sync::Arc;

use panpan_runtime::ports::Outcomes;
use panpan_runtime::{Builder, Registration, Registry};

/// The namespaces that can be named, in the order they are told.
pub(crate) const NAMESPACES: [&str; 3] = ["calls", "json", "services"];

/// The word for no namespace at all.
pub(crate) const NONE: &str = "none";

/// What was said about built-in operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BuiltIn {
    /// The namespaces to serve; unset when nothing was said.
    pub(crate) namespaces: Option<Vec<String>>,
    /// Whether to serve the demonstration; unset when nothing was said.
    pub(crate) demo: Option<bool>,
}

impl BuiltIn {
    /// The operations to serve, beside sources or without any.
    pub(crate) fn served(&self, has_sources: bool) -> Served {
        Served {
            namespaces: self.namespaces.clone(),
            demo: self.demo.unwrap_or(!has_sources),
            for_models: self.namespaces.is_some() || !has_sources,
        }
    }
}

/// Which built-in operations are served.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    /// All when unset.
    namespaces: Option<Vec<String>>,
    demo: bool,
    /// Whether those that are no demonstration are offered to models.
    for_models: bool,
}

impl Default for Served {
    fn default() -> Self {
        BuiltIn::default().served(false)
    }
}

impl Served {
    /// Whether the demonstration is served.
    pub(crate) fn has_demo(&self) -> bool {
        self.demo
    }

    /// The operations, over a store.
    pub(crate) fn registrations(&self, outcomes: &Arc<dyn Outcomes>) -> Vec<Registration> {
        let mut builder = Registry::builder();
        for namespace in NAMESPACES.iter().filter(|it| self.is_served(it)) {
            builder = with(builder, namespace, outcomes);
        }
        let mut served = builder.into_registrations();
        if !self.for_models {
            let apart = served.into_iter();
            served = apart.map(Registration::not_offered_to_models).collect();
        }
        if self.demo {
            served.extend(panpan_operations::demo(Registry::builder()).into_registrations());
        }
        served
    }

    fn is_served(&self, namespace: &str) -> bool {
        let named = self.namespaces.as_ref();
        named.is_none_or(|named| named.iter().any(|it| it == namespace))
    }
}

fn with(builder: Builder, namespace: &str, outcomes: &Arc<dyn Outcomes>) -> Builder {
    match namespace {
        "calls" => panpan_operations::calls(builder, outcomes),
        "json" => panpan_operations::json(builder),
        _ => builder.with_services(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use panpan_runtime::system::SystemClock;
    use panpan_store::MemoryStore;

    use super::*;

    /// The namespaces that are served, and those of them that models read about.
    fn check(said: &BuiltIn, has_sources: bool, served: &[&str], read: &[&str]) {
        let outcomes: Arc<dyn Outcomes> = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let builder = said
            .served(has_sources)
            .registrations(&outcomes)
            .into_iter()
            .fold(Registry::builder(), Builder::add);
        let registry = builder.build().unwrap();
        let namespaces = |for_models: bool| -> BTreeSet<String> {
            let all = registry.operations();
            all.filter(|it| !for_models || it.is_offered_to_models())
                .map(|it| it.name().namespace().to_owned())
                .collect()
        };
        let expected = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
        assert_eq!(namespaces(false), expected(served), "{said:?}");
        assert_eq!(namespaces(true), expected(read), "{said:?}");
    }

    fn said(namespaces: Option<&[&str]>, demo: Option<bool>) -> BuiltIn {
        let owned = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
        BuiltIn {
            namespaces: namespaces.map(owned),
            demo,
        }
    }

    #[test]
    fn without_a_source_everything_is_served_and_read() {
        let all = ["calls", "demo", "json", "services"];
        check(&said(None, None), false, &all, &all);
        let without_demo = ["calls", "json", "services"];
        let quiet = said(None, Some(false));
        check(&quiet, false, &without_demo, &without_demo);
    }

    #[test]
    fn beside_a_source_models_read_only_what_was_asked_for() {
        let plumbing = ["calls", "json", "services"];
        check(&said(None, None), true, &plumbing, &[]);
        let demonstrated = ["calls", "demo", "json", "services"];
        check(&said(None, Some(true)), true, &demonstrated, &["demo"]);
        check(&said(Some(&["json"]), None), true, &["json"], &["json"]);
        check(&said(Some(&[]), None), true, &[], &[]);
    }

    #[test]
    fn what_is_named_is_all_there_is_also_without_a_source() {
        check(
            &said(Some(&["json"]), None),
            false,
            &["demo", "json"],
            &["demo", "json"],
        );
    }
}
