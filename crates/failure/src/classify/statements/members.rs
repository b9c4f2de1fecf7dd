//! The members of an input, by their names in prose.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::pointer::{joined, steps};

/// Most names that are kept for one input.
const NAMES_LIMIT: usize = 500;
/// Most schemas that are examined for one input.
const SCHEMAS_LIMIT: usize = 2_000;
/// Deepest nesting of schemas that is followed.
const NESTED_LIMIT: usize = 16;
/// Names of the parts of a request.
const PARTS: [&str; 6] = ["body", "query", "path", "header", "params", "data"];
/// Deepest level of members that are found by name.
const DEPTH_LIMIT: usize = 2;

/// Names of members and their pointers in the input.
///
/// A name that two members at the same depth share is ambiguous; at different depths the outer member wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputMembers {
    /// Depth and pointer by name; no pointer if the name is ambiguous.
    names: BTreeMap<String, (usize, Option<String>)>,
    /// Names that several members share, at any depth.
    repeated: BTreeSet<String>,
}

/// The remaining budget for walking a schema.
struct Walk<'a> {
    root: &'a Value,
    left: usize,
    nested: usize,
}

impl Walk<'_> {
    /// Enters a schema, if the budget allows it.
    fn enter(&mut self) -> bool {
        if self.left == 0 || self.nested == NESTED_LIMIT {
            return false;
        }
        self.left -= 1;
        self.nested += 1;
        true
    }
}

impl InputMembers {
    /// The members in a schema: its properties and their properties.
    pub fn of_schema(schema: &Value) -> Self {
        let mut members = Self::default();
        let mut walk = Walk {
            root: schema,
            left: SCHEMAS_LIMIT,
            nested: 0,
        };
        members.add_properties(&mut walk, schema, "", 1);
        members
    }

    /// Adds another name of a member, such as the name in the request.
    pub fn add(&mut self, name: &str, pointer: &str) {
        self.insert(name, pointer.to_owned(), 1);
    }

    /// The pointer of a name. Case only matters if two names differ in nothing else.
    pub fn pointer(&self, name: &str) -> Option<&str> {
        if let Some((_, pointer)) = self.names.get(name) {
            return pointer.as_deref();
        }
        let mut alike = self
            .names
            .iter()
            .filter(|(it, _)| it.eq_ignore_ascii_case(name));
        match (alike.next(), alike.next()) {
            (Some((_, (_, pointer))), None) => pointer.as_deref(),
            _ => None,
        }
    }

    /// Translates a pointer of the service into a pointer into the input. Services start at the body, name the
    /// part of the request first, or use their own envelope. `None` if no member matches.
    pub fn located(&self, pointer: &str) -> Option<String> {
        self.by_first_step(pointer)
            .or_else(|| self.by_last_step(pointer))
    }

    /// Whether no member is known.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Matches the first step, after the part of the request.
    fn by_first_step(&self, pointer: &str) -> Option<String> {
        let first = pointer.split('/').nth(1)?;
        let own = format!("/{first}");
        let is_own = |(_, at): &(usize, Option<String>)| at.as_deref() == Some(own.as_str());
        if self.names.values().any(is_own) {
            return Some(pointer.to_owned());
        }
        let rest = &pointer[own.len()..];
        let is_part = PARTS.contains(&first) && !rest.is_empty();
        let in_part = is_part.then(|| self.by_first_step(rest)).flatten();
        in_part.or_else(|| Some(format!("{}{rest}", self.pointer_of_first(pointer)?)))
    }

    /// Matches the last step, if exactly one member has that name. Pointers to items of a list are not matched.
    fn by_last_step(&self, pointer: &str) -> Option<String> {
        let steps: Vec<_> = steps(pointer).collect();
        let is_index = |step: &str| step.bytes().all(|it| it.is_ascii_digit());
        if steps.iter().any(|step| is_index(step)) {
            return None;
        }
        let last = steps.last()?;
        let is_unique = !self.repeated.iter().any(|it| it.eq_ignore_ascii_case(last));
        self.pointer(last).filter(|_| is_unique).map(str::to_owned)
    }

    fn pointer_of_first(&self, pointer: &str) -> Option<&str> {
        let first = steps(pointer).next()?;
        self.pointer(&first)
    }

    fn add_properties(&mut self, walk: &mut Walk<'_>, schema: &Value, at: &str, depth: usize) {
        if depth > DEPTH_LIMIT || !walk.enter() {
            return;
        }
        let referred = schema.get("$ref").and_then(Value::as_str);
        let referred = referred.and_then(|it| walk.root.pointer(it.strip_prefix('#')?));
        if let Some(referred) = referred {
            self.add_properties(walk, referred, at, depth);
        }
        let parts = schema.get("allOf").and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            self.add_properties(walk, part, at, depth);
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            if self.names.len() >= NAMES_LIMIT {
                break;
            }
            let pointer = joined(at, name);
            self.insert(name, pointer.clone(), depth);
            self.add_properties(walk, property, &pointer, depth + 1);
        }
        walk.nested -= 1;
    }

    fn insert(&mut self, name: &str, pointer: String, depth: usize) {
        let found = self.names.get_mut(name);
        if let Some((_, at)) = &found
            && at.as_ref() != Some(&pointer)
        {
            self.repeated.insert(name.to_owned());
        }
        match found {
            Some((known, _)) if *known < depth => {}
            Some((known, at)) if *known == depth => {
                if at.as_ref().is_some_and(|it| *it != pointer) {
                    *at = None;
                }
            }
            _ => {
                self.names.insert(name.to_owned(), (depth, Some(pointer)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_resolve_to_members_unless_they_are_ambiguous() {
        let members = InputMembers::of_schema(&json!({
            "properties": {
                "limit": {},
                "Name": {},
                "name": {},
                "a/b": {},
                "body": {"$ref": "#/$defs/Order"},
                "buyer": {"properties": {"email": {}}},
            },
            "$defs": {
                "Order": {"allOf": [{"properties": {"sku": {}, "limit": {}, "email": {}}}, {"properties": {"note": {"properties": {"deep": {}}}}}]},
            },
        }));
        for (name, pointer) in [
            ("limit", Some("/limit")),
            ("LIMIT", Some("/limit")),
            ("name", Some("/name")),
            ("NAME", None),
            ("a/b", Some("/a~1b")),
            ("sku", Some("/body/sku")),
            ("note", Some("/body/note")),
            ("email", None),
            ("deep", None),
            ("other", None),
        ] {
            assert_eq!(members.pointer(name), pointer, "{name}");
        }
    }

    #[test]
    fn pointers_of_a_service_resolve_to_the_input() {
        let members = InputMembers::of_schema(&json!({
            "properties": {"limit": {}, "body": {"properties": {"sku": {}, "items": {}}}},
        }));
        for (pointer, located) in [
            ("/limit", Some("/limit")),
            ("/query/limit", Some("/limit")),
            ("/sku", Some("/body/sku")),
            ("/body/sku", Some("/body/sku")),
            ("/items/0/a~1b", Some("/body/items/0/a~1b")),
            ("/data/items/0", Some("/body/items/0")),
            ("/data/other", None),
            ("/query", None),
            ("/other", None),
            ("", None),
        ] {
            assert_eq!(members.located(pointer).as_deref(), located, "{pointer}");
        }
        let empty = InputMembers::default();
        assert!(empty.is_empty() && empty.located("/body/items/0").is_none());
    }

    #[test]
    fn a_member_in_an_envelope_is_found_by_a_unique_name() {
        let body = json!({"properties": {"sku": {}, "tier": {}, "limit": {}, "data": {}}});
        let members = InputMembers::of_schema(&json!({
            "properties": {"limit": {}, "region": {}, "body": body},
        }));
        for (pointer, located) in [
            ("/order/attributes/sku", Some("/body/sku")),
            ("/customer/tier", Some("/body/tier")),
            ("/request/Region", Some("/region")),
            ("/data/attributes/sku", Some("/body/data/attributes/sku")),
            ("/order/limit", None),
            ("/rows/0/sku", None),
            ("/order/other", None),
        ] {
            assert_eq!(members.located(pointer).as_deref(), located, "{pointer}");
        }
        let schema = json!({"properties": {"body": {"properties": {"sku": {}}}}});
        let members = InputMembers::of_schema(&schema);
        let located = members.located("/data/attributes/sku");
        assert_eq!(located.as_deref(), Some("/body/sku"));
    }

    #[test]
    fn a_schema_that_refers_to_itself_is_walked_to_the_limit() {
        let branches = vec![json!({"$ref": "#"}); 50];
        for endless in [
            json!({"$ref": "#", "properties": {"a": {"$ref": "#"}}}),
            json!({"allOf": branches, "properties": {"a": {"allOf": branches}}}),
        ] {
            let members = InputMembers::of_schema(&endless);
            assert_eq!(members.pointer("a"), Some("/a"));
        }
    }

    #[test]
    fn names_are_kept_up_to_the_limit() {
        let with = |count: usize| {
            let names = (0..count).map(|it| (format!("m{it:04}"), json!({})));
            let schema = json!({"properties": names.collect::<serde_json::Map<_, _>>()});
            InputMembers::of_schema(&schema).names.len()
        };
        assert_eq!(with(NAMES_LIMIT), NAMES_LIMIT);
        assert_eq!(with(NAMES_LIMIT + 1), NAMES_LIMIT);
    }
}
