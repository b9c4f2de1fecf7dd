//! Parses the names that services give to members: `/a/0`, `a.b`, `a[0].b`, `a[b]`, `$.a` and lists of steps.

use panpan_failure::pointer::{is_pointer, joined, steps};
use serde_json::Value;

/// The maximum length of a name, in bytes; a longer text is not the name of a member.
const NAME_BYTES_LIMIT: usize = 200;
/// The maximum number of steps that are kept.
const STEPS_LIMIT: usize = 32;

/// The pointer for a name as services write it; `None` if it names no member.
pub(super) fn pointer_of_name(name: &str) -> Option<String> {
    let name = name.trim().trim_start_matches('#');
    if name.len() > NAME_BYTES_LIMIT {
        return None;
    }
    if name.starts_with('/') && is_pointer(name) {
        return Some(name.to_owned());
    }
    let name = name.strip_prefix('$').unwrap_or(name);
    let separators: &[char] = match name.starts_with('/') {
        true => &['/'],
        false => &['.', '[', ']'],
    };
    let is_quote = |it: char| matches!(it, '\'' | '"');
    let steps = name.split(separators).map(|it| it.trim_matches(is_quote));
    let pointer = pointer_of_steps(steps.filter(|it| !it.is_empty()));
    (!pointer.is_empty()).then_some(pointer)
}

/// The pointer for a list of steps; `None` if it has another content.
pub(super) fn pointer_of_list(steps: &[Value]) -> Option<String> {
    let steps = steps.iter().map(|step| match step {
        Value::String(step) => Some(step.clone()),
        Value::Number(index) => Some(index.to_string()),
        _ => None,
    });
    let steps: Option<Vec<String>> = steps.take(STEPS_LIMIT).collect();
    steps
        .filter(|it| !it.is_empty())
        .map(|it| pointer_of_steps(it.iter().map(String::as_str)))
}

/// A pointer with the names of the input where they differ only in case: services write `Items` for `items`.
pub(in crate::classify) fn spelled_as_in(input: &Value, pointer: String) -> String {
    if input.pointer(&pointer).is_some() {
        return pointer;
    }
    let mut at = Some(input);
    let mut spelled = String::new();
    for step in steps(&pointer) {
        let name = match at {
            Some(Value::Object(members)) if !members.contains_key(&*step) => {
                let mut alike = members.keys().filter(|it| it.eq_ignore_ascii_case(&step));
                let only = alike.next().filter(|_| alike.next().is_none());
                only.map_or(&*step, String::as_str)
            }
            _ => &*step,
        };
        at = at.and_then(|it| it.pointer(&joined("", name)));
        spelled = joined(&spelled, name);
    }
    spelled
}

fn pointer_of_steps<'a>(steps: impl Iterator<Item = &'a str>) -> String {
    let steps = steps.take(STEPS_LIMIT);
    steps.fold(String::new(), |at, step| joined(&at, step))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_in_every_notation_become_pointers() {
        for (name, pointer) in [
            ("qty", Some("/qty")),
            ("items.0.qty", Some("/items/0/qty")),
            ("Items[0].Qty", Some("/Items/0/Qty")),
            ("items[0][qty]", Some("/items/0/qty")),
            ("items['a'].b", Some("/items/a/b")),
            ("$.items[2]", Some("/items/2")),
            ("/purchase_units/0/value", Some("/purchase_units/0/value")),
            ("#/age", Some("/age")),
            ("/a~b/c", Some("/a~0b/c")),
            ("first name", Some("/first name")),
            ("tags[]", Some("/tags")),
            ("", None),
            ("#", None),
            ("$", None),
            ("...", None),
        ] {
            assert_eq!(pointer_of_name(name).as_deref(), pointer, "{name}");
        }
        let long = |length: usize| pointer_of_name(&"a".repeat(length)).is_some();
        assert!(long(NAME_BYTES_LIMIT) && !long(NAME_BYTES_LIMIT + 1));
    }

    #[test]
    fn lists_of_steps_are_not_split_further() {
        for (steps, pointer) in [
            (json!(["items", 0, "a/b"]), Some("/items/0/a~1b")),
            (json!(["a.b"]), Some("/a.b")),
            (json!([]), None),
            (json!([{"a": 1}]), None),
        ] {
            let found = pointer_of_list(steps.as_array().unwrap());
            assert_eq!(found.as_deref(), pointer, "{steps}");
        }
    }

    #[test]
    fn names_get_the_spelling_of_the_input() {
        let input = json!({"items": [{"qty": 0, "Name": 1, "name": 2}]});
        for (pointer, expected) in [
            ("/items/0/Qty", "/items/0/qty"),
            ("/Items/0/QTY", "/items/0/qty"),
            ("/items/0/NAME", "/items/0/NAME"),
            ("/items/7/Qty", "/items/7/Qty"),
            ("/items/0/sku", "/items/0/sku"),
        ] {
            assert_eq!(spelled_as_in(&input, pointer.to_owned()), expected);
        }
    }
}
