//! A JSON document or Python dictionary in a text, which is the body of a response.

use panpan_failure::read;
use serde_json::Value;

use crate::mcp::tool_error::FAILURE_BYTES_LIMIT;

/// Names in Python with their JSON.
const NAMES: [(&str, &str); 3] = [("None", "null"), ("True", "true"), ("False", "false")];

/// The document from the first brace of a text to its end, or the only list of objects in it.
pub(super) fn document(text: &str) -> Option<Value> {
    let object = text.find('{').map(|begin| text[begin..].trim_end());
    let list = || text.get(text.find("[{")?..text.rfind("}]")? + 2);
    object.and_then(parsed).or_else(|| parsed(list()?))
}

fn parsed(text: &str) -> Option<Value> {
    if text.len() > FAILURE_BYTES_LIMIT {
        return None;
    }
    let parse = |text: &str| read::document(text.as_bytes()).ok();
    parse(text).or_else(|| parse(&json_of_python(text)?))
}

/// The JSON of a Python dictionary; `None` if a string has no end.
fn json_of_python(text: &str) -> Option<String> {
    let mut json = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if first == '\'' || first == '"' {
            let end = string_end(rest, first)?;
            json.push_str(&Value::from(unescaped(&rest[1..end])).to_string());
            rest = &rest[end + 1..];
            continue;
        }
        let name = NAMES.iter().find(|(python, _)| rest.starts_with(python));
        let (length, written) = match name {
            Some((python, json)) => (python.len(), *json),
            None => (first.len_utf8(), &rest[..first.len_utf8()]),
        };
        json.push_str(written);
        rest = &rest[length..];
    }
    Some(json)
}

/// The position of the quote that ends a string.
fn string_end(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    text.char_indices().skip(1).find_map(|(at, character)| {
        let ends = character == quote && !is_escaped;
        is_escaped = character == '\\' && !is_escaped;
        ends.then_some(at)
    })
}

fn unescaped(text: &str) -> String {
    let mut characters = text.chars();
    let mut plain = String::with_capacity(text.len());
    while let Some(character) = characters.next() {
        match character {
            '\\' => plain.extend(characters.next().map(|it| match it {
                'n' => '\n',
                't' => '\t',
                other => other,
            })),
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_at_the_end_of_a_text_are_parsed() {
        for (text, expected) in [
            (r#"failed: {"a": 1}"#, Some(json!({"a": 1}))),
            (
                "x {'a': None, 'b': [True, False]}",
                Some(json!({"a": null, "b": [true, false]})),
            ),
            (
                r#"{'a': "it's", 'b': 'say "no"'}"#,
                Some(json!({"a": "it's", "b": "say \"no\""})),
            ),
            (r"{'a': 'it\'s\nnew'}", Some(json!({"a": "it's\nnew"}))),
            ("{'None': 'None'}", Some(json!({"None": "None"}))),
            (
                "returned \"no\". Details: \"[{'reason': 'notFound'}]\">",
                Some(json!([{"reason": "notFound"}])),
            ),
            ("}] and [{", None),
            ("{'a': 1} and more", None),
            ("{'a", None),
            ("{'a': x}", None),
            ("none", None),
        ] {
            assert_eq!(document(text), expected, "{text}");
        }
    }
}
