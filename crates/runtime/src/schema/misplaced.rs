//! Members of an input that belong one level deeper, such as members of a request body that a caller wrote next
//! to `body`, and members with a wrong name.

use panpan_contract::schema::Resolver;
use panpan_failure::Violation;
use panpan_failure::catalogue::nearest;
use panpan_failure::pointer;
use serde_json::Value;

use super::violations::NO_SUCH_MEMBER;

/// The prefix of the expected value of a misplaced member; the name of its parent follows.
pub(crate) const INSIDE: &str = "inside ";

/// The prefix of the expected value of a member whose name is misspelt; the right name follows.
pub(crate) const NAMED: &str = "named ";

/// By how many characters a misspelt name may be longer or shorter. A longer name can be another member on purpose, such
/// as `name_prefix` beside `name`.
const SPELLING_CHARACTERS: usize = 2;

/// How many references to a schema are followed.
const REFERENCES_LIMIT: usize = 8;

/// Names the parents of unknown members, if exactly one member of the schema contains a member of that name, and else
/// the known name that they come near.
pub(super) fn name_parents(schema: &Value, input: &Value, violations: &mut [Violation]) {
    for violation in violations {
        if violation.expected.as_deref() != Some(NO_SUCH_MEMBER) {
            continue;
        }
        let name = violation.pointer.strip_prefix('/');
        let name = name.filter(|it| !it.contains(['/', '~']));
        if let Some(parent) = name.and_then(|it| only_parent(it, schema)) {
            violation.expected = Some(format!("{INSIDE}{parent}"));
        } else if let Some(near) = near_name(&violation.pointer, schema, input) {
            violation.expected = Some(format!("{NAMED}{near}"));
        }
    }
}

/// The known member beside an unknown one whose name is nearly the same, if the input has no such member.
fn near_name<'s>(at: &str, schema: &'s Value, input: &Value) -> Option<&'s str> {
    let (parents, name) = at.rsplit_once('/')?;
    let siblings = input.pointer(parents)?.as_object()?;
    let resolver = Resolver::new(schema);
    let mut inner = schema;
    for parent in parents.split('/').skip(1) {
        inner = referenced(inner, &resolver)
            .get("properties")?
            .get(parent)?;
    }
    let known = referenced(inner, &resolver)
        .get("properties")?
        .as_object()?;
    let length = |it: &str| it.chars().count();
    let is_possible = |it: &&str| {
        !siblings.contains_key(*it) && length(it).abs_diff(length(name)) <= SPELLING_CHARACTERS
    };
    let known = known.keys().map(String::as_str).filter(is_possible);
    nearest(&pointer::unescaped(name), known).first().copied()
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

fn has_member<'s>(inner: &'s Value, name: &str, resolver: &Resolver<'s>) -> bool {
    let members = referenced(inner, resolver).get("properties");
    members.is_some_and(|members| members.get(name).is_some())
}

/// The schema that a schema refers to, or the schema itself.
fn referenced<'s>(mut inner: &'s Value, resolver: &Resolver<'s>) -> &'s Value {
    for _ in 0..REFERENCES_LIMIT {
        let reference = inner.get("$ref").and_then(Value::as_str);
        match reference.and_then(|it| resolver.find(inner, it)) {
            Some((found, _)) => inner = found,
            None => break,
        }
    }
    inner
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
            let input = json!({"item": 1, "id": 1, "other": 1, "body": {"item": 1}});
            name_parents(&schema, &input, &mut violations);
            assert_eq!(violations[0].expected.as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_misspelt_member_gets_the_right_name() {
        let schema = json!({
            "properties": {
                "limit": {"type": "integer"},
                "name": {"type": "string"},
                "body": {"$ref": "#/$defs/Order"},
            },
            "$defs": {"Order": {"properties": {"sku": {}}}},
        });
        for (pointer, input, expected) in [
            ("/limt", json!({"limt": 5}), "named limit"),
            ("/body/skuu", json!({"body": {"skuu": "a"}}), "named sku"),
            // The member is there as well, or means something else.
            ("/limt", json!({"limt": 5, "limit": 5}), NO_SUCH_MEMBER),
            ("/name_prefix", json!({"name_prefix": "a"}), NO_SUCH_MEMBER),
            ("/page", json!({"page": 1}), NO_SUCH_MEMBER),
        ] {
            let mut violations = [Violation::value(pointer, "no").expected(NO_SUCH_MEMBER)];
            name_parents(&schema, &input, &mut violations);
            assert_eq!(violations[0].expected.as_deref(), Some(expected), "{input}");
        }
    }
}
