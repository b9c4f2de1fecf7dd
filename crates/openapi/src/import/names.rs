//! Legal names, each given once: of operations, of members of an input, of shared definitions.

use std::collections::{HashMap, HashSet};

use panpan_contract::operation::{NAME_LENGTH_LIMIT, OperationName};

/// The longest name of a member of an input, in bytes, as agents' programs allow it.
pub const MEMBER_NAME_LIMIT: usize = 64;
/// The longest namespace, in bytes.
pub const NAMESPACE_LIMIT: usize = 64;
/// The longest name of a shared definition, in bytes, before a number is put after it.
const DEFINITION_NAME_LIMIT: usize = 100;
/// Room for the number after a name that was taken.
const NUMBER_ROOM: usize = 8;

/// Gives each name once.
#[derive(Debug, Default)]
pub(super) struct Unique {
    taken: HashSet<String>,
    /// How often a name was wanted, so that a name wanted often is not tried from the start.
    wanted: HashMap<String, usize>,
}

impl Unique {
    /// The wanted name, or if it is taken the same with a number after it.
    pub(super) fn free(&mut self, wanted: String) -> String {
        let times = self.wanted.entry(wanted.clone()).or_default();
        loop {
            *times += 1;
            let name = match *times {
                1 => wanted.clone(),
                times => format!("{wanted}_{times}"),
            };
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// The name an operation wants: its id below the namespace, or what its method and path say.
pub(super) fn wanted_operation(
    namespace: &str,
    id: Option<&str>,
    method: &str,
    path: &str,
) -> String {
    let steps = |text: &str| text.split('/').filter_map(legal).collect::<Vec<_>>();
    let by_id = id.map(|id| steps(id).join("/"));
    let local = by_id.filter(|it| !it.is_empty()).unwrap_or_else(|| {
        let mut words = vec![method.to_ascii_lowercase()];
        words.extend(steps(path));
        words.join("_")
    });
    let room = NAME_LENGTH_LIMIT - NUMBER_ROOM - namespace.len() - 1;
    format!("{namespace}/{}", cut(&local, room))
}

/// A name made by [`wanted_operation`] and perhaps numbered.
pub(super) fn operation(name: &str) -> OperationName {
    OperationName::new(name).expect("every step of it is legal, and it was cut")
}

/// Whether a text can be a namespace.
pub(super) fn is_namespace(text: &str) -> bool {
    text.len() <= NAMESPACE_LIMIT && legal(text).is_some_and(|it| it == text)
}

/// The name a parameter has as a member of the input.
pub(super) fn member(wire_name: &str) -> String {
    let name = legal(wire_name).unwrap_or_else(|| "parameter".to_owned());
    cut(&name, MEMBER_NAME_LIMIT - NUMBER_ROOM).to_owned()
}

/// The name of a shared definition that stands at this pointer.
pub(super) fn definition(pointer: &str) -> String {
    let inside = pointer
        .strip_prefix("/components/schemas/")
        .or_else(|| pointer.strip_prefix("/components/"))
        .unwrap_or(pointer);
    let steps = inside.split('/').filter_map(|step| {
        let name = panpan_failure::pointer::unescaped(step);
        legal(&name)
    });
    let name = steps.collect::<Vec<_>>().join(".");
    if name.is_empty() {
        return "schema".to_owned();
    }
    cut(&name, DEFINITION_NAME_LIMIT).to_owned()
}

/// Letters, digits, `_`, `-` and `.`, with one `_` for whatever else stands between them; nothing if
/// nothing is left. Dots alone would mean another place in an address.
fn legal(text: &str) -> Option<String> {
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
    let says_something = name.bytes().any(|byte| byte != b'.');
    says_something.then(|| name.to_owned())
}

/// At most so many bytes of a name, which is ASCII and must not end between two steps.
fn cut(name: &str, limit: usize) -> &str {
    name.get(..limit)
        .map_or(name, |start| start.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_named_by_their_id_or_by_what_they_do() {
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
            let name = wanted_operation("pets", id, method, path);
            assert_eq!(name, expected);
            operation(&name);
        }
    }

    #[test]
    fn names_that_are_taken_are_numbered() {
        let mut unique = Unique::default();
        let names = ["a", "a", "a_2", "a"].map(|name| unique.free(name.to_owned()));
        assert_eq!(names, ["a", "a_2", "a_2_2", "a_3"]);
    }

    #[test]
    fn the_longest_names_are_cut() {
        let namespace = "n".repeat(NAMESPACE_LIMIT);
        assert!(is_namespace(&namespace));
        assert!(!is_namespace(&format!("{namespace}n")));
        for id in ["x".repeat(1000), "x/".repeat(500)] {
            let mut unique = Unique::default();
            for _ in 0..100 {
                let wanted = wanted_operation(&namespace, Some(&id), "GET", "/");
                operation(&unique.free(wanted));
            }
        }
        assert_eq!(
            member(&"x".repeat(1000)).len(),
            MEMBER_NAME_LIMIT - NUMBER_ROOM
        );
    }

    #[test]
    fn members_and_definitions_have_names_that_agents_take() {
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
