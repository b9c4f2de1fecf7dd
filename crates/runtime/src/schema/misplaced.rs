//! Members of an input that belong one level deeper, such as members of a request body that a caller wrote next
//! to `body`.

use panpan_contract::schema::Resolver;
use panpan_failure::Violation;
use serde_json::Value;

use super::violations::NO_SUCH_MEMBER;

/// The prefix of the expected value of a misplaced member; the name of its parent follows.
pub(crate) const INSIDE: &str = "inside ";

/// How many references to a schema are followed.
const REFERENCES_LIMIT: usize = 8;

/// Names the parents of unknown members, if exactly one member of the schema contains a member of that name.
pub(super) fn name_parents(schema: &Value, violations: &mut [Violation]) {
    for violation in violations {
        let is_unknown = violation.expected.as_deref() == Some(NO_SUCH_MEMBER);
        let name = violation.pointer.strip_prefix('/');
        let Some(name) = name.filter(|it| is_unknown && !it.contains(['/', '~'])) else {
            continue;
        };
        if let Some(parent) = only_parent(name, schema) {
            violation.expected = Some(format!("{INSIDE}{parent}"));
        }
    }
}

fn only_parent<'s>(name: &str, schema: &'s Value) -> Option<&'s str> {
    let members = schema.get("properties")?.as_object()?;
    let resolver = Resolver::new(schema);
    let mut parents = members
        .iter()
        .filter(|(_, inner)| has_member(inner, name, &resolver));
    let (parent, _) = parents.next()?;
    parents.next().is_none().then_some(parent)
}

fn has_member<'s>(mut inner: &'s Value, name: &str, resolver: &Resolver<'s>) -> bool {
    for _ in 0..REFERENCES_LIMIT {
        let reference = inner.get("$ref").and_then(Value::as_str);
        match reference.and_then(|it| resolver.find(inner, it)) {
            Some((referenced, _)) => inner = referenced,
            None => break,
        }
    }
    let members = inner.get("properties");
    members.is_some_and(|members| members.get(name).is_some())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_member_with_one_possible_parent_is_directed_there() {
        let order = json!({"$anchor": "order", "properties": {"item": {}, "id": {}}});
        let schema = json!({
            "properties": {
                "body": {"$ref": "#order"},
                "options": {"properties": {"id": {}}},
                "limit": {"type": "integer"},
            },
            "$defs": {"Order": order},
        });
        for (pointer, expected) in [
            ("/item", "inside body"),
            ("/id", NO_SUCH_MEMBER),
            ("/other", NO_SUCH_MEMBER),
            ("/body/item", NO_SUCH_MEMBER),
        ] {
            let mut violations = [Violation::value(pointer, "no").expected(NO_SUCH_MEMBER)];
            name_parents(&schema, &mut violations);
            assert_eq!(violations[0].expected.as_deref(), Some(expected));
        }
    }
}
