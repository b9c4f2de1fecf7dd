//! Converts the names of tools into segments of operation names.
//!
//! The result does not depend on the order of the tools: a legal name is kept, and of names that
//! became equal all but the first, by original name, are numbered.

use std::collections::{BTreeMap, BTreeSet};

use panpan_contract::operation::NAME_LENGTH_LIMIT;

/// The segment for a name without a legal character.
const NAMELESS: &str = "tool";

/// The space reserved for a number.
const NUMBER_LENGTH: usize = 8;

/// The segment for each of these names.
pub(super) fn segments<'a>(
    namespace: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> BTreeMap<&'a str, String> {
    let length_limit = NAME_LENGTH_LIMIT.saturating_sub(namespace.len() + 1 + NUMBER_LENGTH);
    let names: BTreeSet<&str> = names.into_iter().collect();
    let mut taken: BTreeSet<String> = names
        .iter()
        .filter(|name| legal(name, length_limit) == **name)
        .map(|name| (*name).to_owned())
        .collect();
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    names
        .into_iter()
        .map(|name| {
            let segment = legal(name, length_limit);
            if segment == name {
                return (name, segment);
            }
            // Continues from the last number: starting over for each name would take quadratic
            // time.
            let number = numbers.entry(segment.clone()).or_insert(1);
            let mut free = segment.clone();
            while !taken.insert(free.clone()) {
                *number += 1;
                free = format!("{segment}_{number}");
            }
            (name, free)
        })
        .collect()
}

fn legal(name: &str, length_limit: usize) -> String {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    let segment: String = name
        .chars()
        .map(|letter| if is_word(letter) { letter } else { '_' })
        .take(length_limit)
        .collect();
    if segment.chars().all(|letter| letter == '_') {
        NAMELESS.to_owned()
    } else {
        segment
    }
}

#[cfg(test)]
mod tests {
    use panpan_contract::operation::OperationName;

    use super::*;

    #[test]
    fn segments_are_legal_unique_and_independent_of_the_order() {
        let long = "n".repeat(500);
        let names = [
            "read_file",
            "read file",
            "read-file",
            "read/file",
            "read_file_2",
            "日本",
            "",
            "__",
            "a.b",
            long.as_str(),
        ];
        let made = segments("files", names);
        for (name, segment) in [
            ("read_file", "read_file"),
            ("read file", "read_file_3"),
            ("read/file", "read_file_4"),
            ("read-file", "read-file"),
            ("read_file_2", "read_file_2"),
            ("", "tool"),
            ("__", "tool_2"),
            ("日本", "tool_3"),
            ("a.b", "a.b"),
        ] {
            assert_eq!(made[name], segment, "{name}");
        }
        let distinct: BTreeSet<&String> = made.values().collect();
        assert_eq!(distinct.len(), names.len());
        for segment in made.values() {
            assert!(
                OperationName::new(&format!("files/{segment}")).is_ok(),
                "{segment}"
            );
        }
        let backwards: Vec<&str> = names.iter().rev().copied().collect();
        assert_eq!(segments("files", backwards), made);
    }
}
