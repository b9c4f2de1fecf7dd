//! Valid, unique names: of operations, of input members and of shared definitions.

use panpan_contract::operation::{NAME_LENGTH_LIMIT, OperationName};

/// The longest name of an input member, in bytes, as model APIs accept it.
pub const MEMBER_NAME_LIMIT: usize = 64;
/// The longest namespace, in bytes.
pub const NAMESPACE_LIMIT: usize = 64;
/// The longest name of a shared definition, in bytes, without a number after it.
const DEFINITION_NAME_LIMIT: usize = 100;
/// Space for the number after a name that is taken.
const NUMBER_BYTES: usize = 8;

/// The name for an operation: its id within the namespace, or its method and path.
pub(super) fn preferred_operation(
    namespace: &str,
    id: Option<&str>,
    method: &str,
    path: &str,
) -> String {
    let steps = |text: &str| text.split('/').filter_map(valid_part).collect::<Vec<_>>();
    let by_id = id.map(|id| steps(id).join("/"));
    let local = by_id.filter(|it| !it.is_empty()).unwrap_or_else(|| {
        let mut words = vec![method.to_ascii_lowercase()];
        words.extend(steps(path));
        words.join("_")
    });
    let limit = NAME_LENGTH_LIMIT - NUMBER_BYTES - namespace.len() - 1;
    format!("{namespace}/{}", cut(&local, limit))
}

/// Converts a name from [`preferred_operation`], with or without a number.
pub(super) fn operation(name: &str) -> OperationName {
    OperationName::new(name).expect("a valid name of valid length")
}

/// Whether a text is a valid namespace.
pub(super) fn is_namespace(text: &str) -> bool {
    text.len() <= NAMESPACE_LIMIT && valid_part(text).is_some_and(|it| it == text)
}

/// The name of a parameter as an input member.
pub(super) fn member(wire_name: &str) -> String {
    let name = valid_part(wire_name).unwrap_or_else(|| "parameter".to_owned());
    cut(&name, MEMBER_NAME_LIMIT - NUMBER_BYTES).to_owned()
}

/// The name of the shared definition at this pointer.
pub(super) fn definition(pointer: &str) -> String {
    let inside = pointer
        .strip_prefix("/components/schemas/")
        .or_else(|| pointer.strip_prefix("/components/"))
        .unwrap_or(pointer);
    let steps = inside.split('/').filter_map(|step| {
        let name = panpan_failure::pointer::unescaped(step);
        valid_part(&name)
    });
    let name = steps.collect::<Vec<_>>().join(".");
    if name.is_empty() {
        return "schema".to_owned();
    }
    cut(&name, DEFINITION_NAME_LIMIT).to_owned()
}

/// Keeps letters, digits, `_`, `-` and `.`, and replaces everything between them by one `_`; `None` if nothing
/// is left. A name of dots only would be a different path in a URL.
fn valid_part(text: &str) -> Option<String> {
    let mut name = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii_alphanumeric() || "_-.".contains(character) {
            name.push(character);
        } else if !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
    }
    let is_changed = name != text;
    let name = if is_changed {
        name.trim_end_matches('_')
    } else {
        &name
    };
    let is_usable = name.bytes().any(|byte| byte != b'.');
    is_usable.then(|| name.to_owned())
}

/// The first `limit` bytes of a name, which is ASCII and must not end with a slash.
fn cut(name: &str, limit: usize) -> &str {
    name.get(..limit)
        .map_or(name, |start| start.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unique_names::UniqueNames;

    #[test]
    fn operations_are_named_by_id_or_by_method_and_path() {
        for (id, method, path, expected) in [
            (Some("listPets"), "GET", "/pets", "pets/listPets"),
            (
                Some("issues/list-for-repo"),
                "GET",
                "/",
                "pets/issues/list-for-repo",
            ),
            (
                Some("List all the pets!"),
                "GET",
                "/",
                "pets/List_all_the_pets",
            ),
            (Some("//../é/"), "GET", "/pets/{id}", "pets/get_pets_id"),
            (Some(""), "DELETE", "/pets/{id}", "pets/delete_pets_id"),
            (
                None,
                "POST",
                "/pets/{pet-id}/toys.json",
                "pets/post_pets_pet-id_toys.json",
            ),
            (None, "GET", "/", "pets/get"),
            (Some("_hidden_"), "GET", "/", "pets/_hidden_"),
        ] {
            let name = preferred_operation("pets", id, method, path);
            assert_eq!(name, expected);
            operation(&name);
        }
    }

    #[test]
    fn a_taken_name_gets_a_number() {
        let mut unique = UniqueNames::default();
        let names = ["a", "a", "a_2", "a"].map(|name| unique.assign(name.to_owned(), '_'));
        assert_eq!(names, ["a", "a_2", "a_2_2", "a_3"]);
    }

    #[test]
    fn long_names_are_cut() {
        let namespace = "n".repeat(NAMESPACE_LIMIT);
        assert!(is_namespace(&namespace));
        assert!(!is_namespace(&format!("{namespace}n")));
        for id in ["x".repeat(1000), "x/".repeat(500)] {
            let mut unique = UniqueNames::default();
            for _ in 0..100 {
                let preferred = preferred_operation(&namespace, Some(&id), "GET", "/");
                operation(&unique.assign(preferred, '_'));
            }
        }
        assert_eq!(
            member(&"x".repeat(1000)).len(),
            MEMBER_NAME_LIMIT - NUMBER_BYTES
        );
    }

    #[test]
    fn names_of_members_and_definitions_are_valid_for_model_apis() {
        for (wire_name, expected) in [
            ("filter[name]", "filter_name"),
            ("$top", "top"),
            ("X-Request-Id", "X-Request-Id"),
            ("é", "parameter"),
        ] {
            assert_eq!(member(wire_name), expected);
        }
        for (pointer, expected) in [
            ("/components/schemas/Pet", "Pet"),
            ("/components/schemas/a~1b", "a_b"),
            (
                "/components/schemas/Pet/properties/name",
                "Pet.properties.name",
            ),
            (
                "/components/responses/Gone/content",
                "responses.Gone.content",
            ),
            ("/paths/~1pets/get", "paths.pets.get"),
            ("", "schema"),
        ] {
            assert_eq!(definition(pointer), expected);
        }
    }
}
