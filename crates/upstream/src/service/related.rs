//! Finds the read operations that help a caller after a failure: one that lists valid identifiers, and one that
//! shows whether a change took effect. Decided by paths and methods alone.

use std::collections::BTreeMap;

use panpan_contract::binding::HttpBinding;
use panpan_contract::operation::{OperationName, OperationSpec, OperationType, Visibility};
use panpan_runtime::Related;
use serde_json::Value;

/// The read operations by path, and the last path parameter of each.
#[derive(Debug, Default)]
pub(super) struct Readers(
    BTreeMap<String, OperationName>,
    BTreeMap<OperationName, String>,
);

impl Readers {
    pub(super) fn among<'a>(specs: impl IntoIterator<Item = &'a OperationSpec>) -> Self {
        let reads = |spec: &&OperationSpec| {
            spec.op_type == OperationType::Query && spec.visibility == Visibility::External
        };
        let mut readers = Self::default();
        for spec in specs.into_iter().filter(reads) {
            let Some(Ok(binding)) = HttpBinding::of(spec) else {
                continue;
            };
            if binding.method != "GET" {
                continue;
            }
            let last = binding.path.rsplit('/').next().unwrap_or_default();
            let parameter = last.strip_prefix('{').and_then(|it| it.strip_suffix('}'));
            if let Some(parameter) = parameter {
                readers.1.insert(spec.name.clone(), parameter.to_owned());
            }
            readers
                .0
                .insert(normalized(&binding.path), spec.name.clone());
        }
        readers
    }

    /// The operations related to an operation; never the operation itself.
    pub(super) fn related_to(&self, spec: &OperationSpec, binding: &HttpBinding) -> Related {
        let path = normalized(&binding.path);
        let collection = path.strip_suffix("/{}");
        let reader = |path: &str| self.0.get(path).filter(|name| **name != spec.name).cloned();
        let lists = collection.and_then(reader);
        let changes = spec.op_type == OperationType::Mutation;
        let shows_item = self.enclosing_item(&path).filter(|_| changes);
        let shows_effect = || {
            let exact = reader(&path).or_else(|| lists.clone());
            let enclosing = || shows_item.clone().or_else(|| self.named_item(&path, spec));
            exact.or_else(enclosing)
        };
        Related {
            shows_effect: changes.then(shows_effect).flatten(),
            lists: lists.or_else(|| self.enclosing_list(&path)),
            shows_item,
        }
    }

    /// The operation that shows the item of a path, or of the nearest path above it: the order for its cancellation.
    fn enclosing_item(&self, path: &str) -> Option<OperationName> {
        let end = path.rfind("/{}")? + "/{}".len();
        self.0.get(&path[..end]).cloned()
    }

    /// The operation that shows an item of a collection without a list, if the call that creates the item names it.
    fn named_item(&self, path: &str, spec: &OperationSpec) -> Option<OperationName> {
        let name = self.0.get(&format!("{path}/{{}}"))?;
        let identifier = self.1.get(name)?;
        has_member(&spec.input_schema, identifier).then(|| name.clone())
    }

    /// The operation that lists the nearest enclosing collection, such as orders for the items of an order.
    fn enclosing_list(&self, path: &str) -> Option<OperationName> {
        let (collection, _) = path.rsplit_once("/{}")?;
        self.0.get(collection).cloned()
    }
}

/// Whether a schema has a member of this name, at any depth.
fn has_member(schema: &Value, name: &str) -> bool {
    match schema {
        Value::Object(members) => {
            let here = members.get("properties").and_then(|it| it.get(name));
            here.is_some() || members.values().any(|inner| has_member(inner, name))
        }
        Value::Array(items) => items.iter().any(|inner| has_member(inner, name)),
        _ => false,
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
        let mut named = spec("s/deploy", "POST", "/deployments");
        named.input_schema = json!({"properties": {"body": {"properties": {"name": {}}}}});
        let specs = [
            spec("s/list", "GET", "/orders"),
            spec("s/get", "GET", "/orders/{orderId}"),
            spec("s/create", "POST", "/orders"),
            spec("s/change", "PATCH", "/orders/{id}"),
            spec("s/pay", "POST", "/orders/{id}/payment"),
            spec("s/ping", "POST", "/ping"),
            spec("s/drop", "DELETE", "/carts/{id}"),
            spec("s/cancel", "POST", "/orders/{order_id}/cancel"),
            named,
            spec("s/read", "GET", "/deployments/{name}"),
            spec("s/start", "POST", "/deployments/{id}/start"),
        ];
        let readers = Readers::among(&specs);
        let (get, list, read) = (Some("s/get"), Some("s/list"), Some("s/read"));
        for (at, shows_effect, lists, shows_item) in [
            (0, None, None, None),
            (1, None, list, None),
            (2, list, None, None),
            (3, get, list, get),
            (4, get, list, get),
            (5, None, None, None),
            (6, None, None, None),
            (7, get, list, get),
            (8, read, None, None),
            (10, read, None, read),
        ] {
            let binding = HttpBinding::of(&specs[at]).unwrap().unwrap();
            let related = readers.related_to(&specs[at], &binding);
            let name = |it: &Option<OperationName>| it.as_ref().map(|it| it.as_str().to_owned());
            let found =
                [related.shows_effect, related.lists, related.shows_item].map(|it| name(&it));
            let expected = [shows_effect, lists, shows_item].map(|it| it.map(str::to_owned));
            assert_eq!(found, expected, "{}", specs[at].name);
        }
    }
}
