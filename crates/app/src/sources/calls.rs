//! The call settings of a source: for all its operations, and for operations by name.

use std::collections::BTreeMap;

use panpan_contract::circuit::CircuitRule;
use panpan_contract::operation::{CallSettings, OperationName, OperationSpec};
use panpan_openapi::fits;

/// The call settings of one source.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SourceCalls {
    /// For all its operations.
    pub(crate) all: CallSettings,
    /// For operations that match a pattern, sorted so that the longest pattern is applied last.
    pub(crate) by_name: Vec<(String, CallSettings)>,
}

impl SourceCalls {
    /// The settings as they are written: patterns may omit the namespace.
    pub(super) fn of(
        namespace: &str,
        all: CallSettings,
        by_name: &BTreeMap<String, CallSettings>,
    ) -> Self {
        let by_name = by_name.iter().map(|(pattern, settings)| {
            let has_namespace = pattern.contains('/') || pattern.starts_with('*');
            let pattern = match has_namespace {
                true => pattern.trim_start_matches('/').to_owned(),
                false => format!("{namespace}/{pattern}"),
            };
            (pattern, *settings)
        });
        let mut by_name: Vec<_> = by_name.collect();
        by_name.sort_by_key(|(pattern, _)| pattern.len());
        Self { all, by_name }
    }

    /// Applies all settings to an operation.
    pub(crate) fn apply(&self, spec: &mut OperationSpec) {
        self.all.apply(spec);
        self.apply_by_name(spec);
    }

    /// Applies the settings for operations by name.
    pub(super) fn apply_by_name(&self, spec: &mut OperationSpec) {
        for (pattern, settings) in &self.by_name {
            if fits(pattern, spec.name.as_str()) {
                settings.apply(spec);
            }
        }
    }

    /// The patterns that match none of these operations.
    pub(crate) fn unmatched<'a>(
        &'a self,
        names: impl Iterator<Item = &'a OperationName> + Clone,
    ) -> Vec<&'a str> {
        let is_unmatched = |pattern: &str| !names.clone().any(|it| fits(pattern, it.as_str()));
        let patterns = self.by_name.iter().map(|(pattern, _)| pattern.as_str());
        patterns.filter(|pattern| is_unmatched(pattern)).collect()
    }

    /// The circuit of the host.
    pub(super) fn circuit(&self) -> CircuitRule {
        self.all.circuit.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use panpan_contract::operation::OperationType;
    use serde_json::json;

    use super::*;

    fn settings(timeout_ms: u64) -> CallSettings {
        serde_json::from_value(json!({"timeout_ms": timeout_ms})).unwrap()
    }

    #[test]
    fn patterns_may_omit_the_namespace_and_the_longest_wins() {
        let by_name = [
            ("list*", settings(2)),
            ("listOrders", settings(3)),
            ("svc/get*", settings(4)),
            ("*/slow", settings(5)),
            ("missing", settings(6)),
        ];
        let by_name = by_name.map(|(pattern, it)| (pattern.to_owned(), it));
        let calls = SourceCalls::of("svc", settings(1), &BTreeMap::from(by_name));
        let names = ["create", "listUsers", "listOrders", "getOrder", "slow"];
        let mut specs: Vec<_> = names
            .iter()
            .map(|name| format!("svc/{name}").parse().unwrap())
            .map(|name| OperationSpec::new(name, OperationType::Query))
            .collect();
        for spec in &mut specs {
            calls.apply(spec);
        }
        let found: Vec<_> = specs.iter().filter_map(|it| it.timeout_ms).collect();
        assert_eq!(found, [1, 2, 3, 4, 5]);
        let unmatched = calls.unmatched(specs.iter().map(|it| &it.name));
        assert_eq!(unmatched, ["svc/missing"]);
    }
}
