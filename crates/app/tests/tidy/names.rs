//! No public type of one crate has the name of a public type of another crate.

use std::collections::{BTreeMap, BTreeSet};

use crate::repository::{Repository, crate_of};

/// Names that mean the same wherever they appear, or are always written with their module.
const SHARED: [&str; 0] = [];

pub(crate) fn check(repository: &Repository) -> Vec<String> {
    let mut crates: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (path, text) in repository.sources() {
        for name in text.lines().filter_map(declared) {
            crates.entry(name).or_default().insert(crate_of(path));
        }
    }
    let shared = crates
        .into_iter()
        .filter(|(name, crates)| crates.len() > 1 && !SHARED.contains(name));
    shared
        .map(|(name, crates)| format!("{name} is a public type of {crates:?}"))
        .collect()
}

/// The public type that a line declares.
fn declared(line: &str) -> Option<&str> {
    let line = line.strip_prefix("pub ")?;
    let kinds = ["struct ", "enum ", "trait "];
    let name = kinds.iter().find_map(|kind| line.strip_prefix(kind))?;
    name.split(|character: char| !character.is_alphanumeric())
        .next()
}

#[test]
fn a_second_type_of_the_same_name_is_noticed() {
    crate::notices(check, "crates/store/src/lib.rs", |text| {
        text.push_str("pub struct Dispatcher;\n")
    });
}
