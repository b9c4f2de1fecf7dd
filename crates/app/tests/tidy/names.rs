//! No public type of one crate has the name of a public type of another crate.

use std::collections::{BTreeMap, BTreeSet};

use crate::repository::{Repository, crate_of};

/// The service for tests, whose names are not seen by users.
const TESTS_ONLY: &str = "faulty";

pub(crate) fn check(repository: &Repository) -> Vec<String> {
    let mut crates: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (path, text) in repository
        .sources()
        .filter(|(path, _)| crate_of(path) != TESTS_ONLY)
    {
        for name in text.lines().filter_map(declared) {
            crates.entry(name).or_default().insert(crate_of(path));
        }
    }
    let shared = crates.into_iter().filter(|(_, crates)| crates.len() > 1);
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
        text.push_str("pub struct Dispatcher;\n");
    });
}
