//! Rules about the repository itself: which crate may depend on which, what may be named where, how long
//! files may be, which words are out of use. Each rule is a function over a [`Repository`], and each is
//! shown to fail on a planted violation.

mod arrows;
mod boundaries;
mod commands;
mod lengths;
mod names;
mod paths;
mod repository;
mod words;

use repository::Repository;

type Rule = fn(&Repository) -> Vec<String>;

const RULES: [(&str, Rule); 8] = [
    (
        "crates depend on each other as ARCHITECTURE.md draws it",
        arrows::check,
    ),
    (
        "only one crate knows SQL, listens, connects",
        boundaries::check,
    ),
    (
        "every file that is read has a size limit",
        boundaries::check_file_reads,
    ),
    (
        "commands and options that a text names exist",
        commands::check,
    ),
    (
        "long files and functions are listed, and the list only shrinks",
        lengths::check,
    ),
    ("a public type name means one thing", names::check),
    ("paths in documents lead to files", paths::check),
    ("texts use plain words", words::check),
];

#[test]
fn the_repository_keeps_its_rules() {
    let repository = Repository::read();
    let mut report = String::new();
    for (name, rule) in RULES {
        let findings = rule(&repository);
        if !findings.is_empty() {
            report.push_str(&format!("\n{name}:\n  {}\n", findings.join("\n  ")));
        }
    }
    assert!(report.is_empty(), "{report}");
}

/// Asserts that a rule finds nothing in the repository as it is, and something after a change to one file.
#[track_caller]
fn notices(rule: Rule, path: &str, change: impl FnOnce(&mut String)) {
    let mut repository = Repository::read();
    let before = rule(&repository);
    change(repository.file_mut(path));
    let after = rule(&repository);
    let new: Vec<_> = after.iter().filter(|it| !before.contains(it)).collect();
    assert!(
        !new.is_empty(),
        "the planted violation in {path} was not noticed"
    );
}
