//! The names of tools as steps of operations' names.
//!
//! The same tools get the same names in whatever order they come: a name that is legal as it is stays as
//! it is, and of those that became alike the later ones, by their original names, are numbered.

use std::collections::{BTreeMap, BTreeSet};

use panpan_contract::operation::NAME_LENGTH_LIMIT;

/// What a tool is called whose name has nothing to keep.
const NAMELESS: &str = "tool";

/// Room for the number of a name that became like another.
const NUMBER_ROOM: usize = 8;

/// The step for each of these names.
pub(super) fn steps<'a>(
    namespace: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> BTreeMap<&'a str, String> {
    let room = NAME_LENGTH_LIMIT.saturating_sub(namespace.len() + 1 + NUMBER_ROOM);
    let names: BTreeSet<&str> = names.into_iter().collect();
    let mut taken: BTreeSet<String> = names
        .iter()
        .filter(|name| legal(name, room) == **name)
        .map(|name| (*name).to_owned())
        .collect();
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    names
        .into_iter()
        .map(|name| {
            let step = legal(name, room);
            if step == name {
                return (name, step);
            }
            // Counting on from where it was left keeps many alike from being many times many.
            let number = numbers.entry(step.clone()).or_insert(1);
            let mut free = step.clone();
            while !taken.insert(free.clone()) {
                *number += 1;
                free = format!("{step}_{number}");
            }
            (name, free)
        })
        .collect()
}

fn legal(name: &str, room: usize) -> String {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    let step: String = name
        .chars()
        .map(|letter| if is_word(letter) { letter } else { '_' })
        .take(room)
        .collect();
    if step.chars().all(|letter| letter == '_') {
        NAMELESS.to_owned()
    } else {
        step
    }
}

#[cfg(test)]
mod tests {
    use panpan_contract::operation::OperationName;

    use super::*;

    #[test]
    fn names_are_legal_different_and_the_same_in_any_order() {
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
        let made = steps("files", names);
        for (name, step) in [
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
            assert_eq!(made[name], step, "{name}");
        }
        let distinct: BTreeSet<&String> = made.values().collect();
        assert_eq!(distinct.len(), names.len());
        for step in made.values() {
            assert!(
                OperationName::new(&format!("files/{step}")).is_ok(),
                "{step}"
            );
        }
        let backwards: Vec<&str> = names.iter().rev().copied().collect();
        assert_eq!(steps("files", backwards), made);
    }
}
