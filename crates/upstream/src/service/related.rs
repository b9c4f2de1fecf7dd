//! Finds the read operations that help a caller after a failure: one that lists valid identifiers, and one that
//! shows whether a change took effect. Decided by paths and methods alone.

use std::collections::BTreeMap;

use panpan_contract::binding::HttpBinding;
use panpan_contract::operation::{OperationName, OperationSpec, OperationType, Visibility};
use panpan_runtime::Related;

/// The read operations by path.
#[derive(Debug, Default)]
pub(super) struct Readers(BTreeMap<String, OperationName>);

impl Readers {
    pub(super) fn among<'a>(specs: impl IntoIterator<Item = &'a OperationSpec>) -> Self {
        let reads = |spec: &&OperationSpec| {
            spec.op_type == OperationType::Query && spec.visibility == Visibility::External
        };
        let readers = specs.into_iter().filter(reads).filter_map(|spec| {
            let binding = HttpBinding::of(spec)?.ok()?;
            (binding.method == "GET").then(|| (normalized(&binding.path), spec.name.clone()))
        });
        Self(readers.collect())
    }

    /// The operations related to an operation; never the operation itself.
    pub(super) fn related_to(&self, spec: &OperationSpec, binding: &HttpBinding) -> Related {
        let path = normalized(&binding.path);
        let collection = path.strip_suffix("/{}");
        let reader = |path: &str| self.0.get(path).filter(|name| **name != spec.name).cloned();
        let lists = collection.and_then(reader);
        let changes = spec.op_type == OperationType::Mutation;
        let shows_effect = changes.then(|| reader(&path).or_else(|| lists.clone()));
        Related {
            shows_effect: shows_effect.flatten(),
            lists: lists.or_else(|| self.enclosing_list(&path)),
        }
    }

    /// The operation that lists the nearest enclosing collection, such as orders for the items of an order.
    fn enclosing_list(&self, path: &str) -> Option<OperationName> {
        let (collection, _) = path.rsplit_once("/{}")?;
        self.0.get(collection).cloned()
    }
}

/// A path with every parameter written as `{}`, because operations name the same parameter differently.
fn normalized(path: &str) -> String {
    let steps = path.trim_end_matches('/').split('/');
    let steps = steps.map(|step| match step.starts_with('{') && step.ends_with('}') {
        true => "{}",
        false => step,
    });
    steps.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use panpan_contract::binding::HTTP_BINDING;
    use serde_json::json;

    use super::*;

    fn spec(name: &str, method: &str, path: &str) -> OperationSpec {
        let op_type = match method {
            "GET" => OperationType::Query,
            _ => OperationType::Mutation,
        };
        let mut spec = OperationSpec::new(name.parse().unwrap(), op_type);
        let binding = json!({"method": method, "path": path});
        spec.extensions.insert(HTTP_BINDING, binding).unwrap();
        spec
    }

    #[test]
    fn related_operations_are_found_by_path() {
        let specs = [
            spec("s/list", "GET", "/orders"),
            spec("s/get", "GET", "/orders/{orderId}"),
            spec("s/create", "POST", "/orders"),
            spec("s/change", "PATCH", "/orders/{id}"),
            spec("s/pay", "POST", "/orders/{id}/payment"),
            spec("s/ping", "POST", "/ping"),
            spec("s/drop", "DELETE", "/carts/{id}"),
        ];
        let readers = Readers::among(&specs);
        for (at, shows_effect, lists) in [
            (0, None, None),
            (1, None, Some("s/list")),
            (2, Some("s/list"), None),
            (3, Some("s/get"), Some("s/list")),
            (4, None, Some("s/list")),
            (5, None, None),
            (6, None, None),
        ] {
            let binding = HttpBinding::of(&specs[at]).unwrap().unwrap();
            let related = readers.related_to(&specs[at], &binding);
            let name = |it: &Option<OperationName>| it.as_ref().map(|it| it.as_str().to_owned());
            let found = (name(&related.shows_effect), name(&related.lists));
            let expected = (shows_effect.map(str::to_owned), lists.map(str::to_owned));
            assert_eq!(found, expected, "{}", specs[at].name);
        }
    }
}
