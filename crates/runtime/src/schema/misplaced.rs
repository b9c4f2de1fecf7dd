//! Members of an input that belong one level further down, such as those of a request body that a caller wrote
//! beside `body`.

use panpan_failure::Violation;
use serde_json::Value;

use super::shape::target;
use super::words::NO_SUCH_MEMBER;

/// How what is expected of a misplaced member begins; the name of the member it belongs into follows.
pub(crate) const INSIDE: &str = "inside ";

/// How many references in a row are followed to a schema.
const REFERENCES_LIMIT: usize = 8;

/// Says of unknown members where they belong, as far as the schema knows a member of that name in just one place.
pub(super) fn say_where(schema: &Value, violations: &mut [Violation]) {
    for violation in violations {
        let is_unknown = violation.expected.as_deref() == Some(NO_SUCH_MEMBER);
        let name = violation.pointer.strip_prefix('/');
        let Some(name) = name.filter(|it| is_unknown && !it.contains(['/', '~'])) else {
            continue;
        };
        if let Some(place) = only_place(name, schema) {
            violation.expected = Some(format!("{INSIDE}{place}"));
        }
    }
}

fn only_place<'s>(name: &str, schema: &'s Value) -> Option<&'s str> {
    let members = schema.get("properties")?.as_object()?;
    let mut places = members
        .iter()
        .filter(|(_, inner)| knows(inner, name, schema));
    let (place, _) = places.next()?;
    places.next().is_none().then_some(place)
}

fn knows<'s>(mut inner: &'s Value, name: &str, root: &'s Value) -> bool {
    for _ in 0..REFERENCES_LIMIT {
        match inner.get("$ref").and_then(|it| target(it, root)) {
            Some(referenced) => inner = referenced,
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
    fn a_member_that_is_known_in_one_place_is_sent_there() {
        let order = json!({"properties": {"item": {}, "id": {}}});
        let schema = json!({
            "properties": {
                "body": {"$ref": "#/$defs/Order"},
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
            say_where(&schema, &mut violations);
            assert_eq!(violations[0].expected.as_deref(), Some(expected));
        }
    }
}
