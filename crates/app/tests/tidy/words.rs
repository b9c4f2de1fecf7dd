//! Phrases that were replaced by plain technical English stay away from documents and sources; tests may use them as data.

use crate::repository::{Kind, Repository};

/// The phrase in lower case, and what to write instead.
const BANNED: [(&str, &str); 17] = [
    ("whoever", "the caller, client or process"),
    ("nobody", "no caller, no client"),
    ("somebody", "a caller, a client"),
    ("of other makers", "third-party"),
    ("come about", "happen, be made"),
    ("comes about", "happens, is made"),
    ("left alone", "not called, not changed"),
    ("in vain", "without success"),
    ("of its own accord", "unsolicited"),
    ("under way", "in flight, running"),
    ("underway", "in flight, running"),
    ("stands behind", "is behind"),
    ("stands in", "is in"),
    ("stand in", "are in"),
    ("stands twice", "is duplicated"),
    ("stand twice", "are duplicated"),
    ("what stands", "name the thing"),
];

/// Files in which such a word is data.
const EXEMPT: [&str; 1] = ["crates/faulty/src/fault.rs"];

pub(crate) fn check(repository: &Repository) -> Vec<String> {
    let mut findings = Vec::new();
    let files = [Kind::Source, Kind::Prose]
        .into_iter()
        .flat_map(|kind| repository.of(kind));
    let files = files.filter(|(path, _)| !EXEMPT.contains(path));
    for (path, text) in files {
        for (number, line) in text.lines().enumerate() {
            let line = line.to_lowercase();
            let found = BANNED.iter().find(|(phrase, _)| has_words(&line, phrase));
            if let Some((phrase, instead)) = found {
                findings.push(format!(
                    "{path}:{}: \"{phrase}\"; write {instead}",
                    number + 1
                ));
            }
        }
    }
    findings
}

/// Whether a line has the phrase between word boundaries.
fn has_words(line: &str, phrase: &str) -> bool {
    line.match_indices(phrase).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + phrase.len()..].chars().next();
        let is_boundary = |it: Option<char>| !it.is_some_and(|it| it.is_alphanumeric());
        is_boundary(before) && is_boundary(after)
    })
}

#[test]
fn a_banned_phrase_is_noticed() {
    crate::notices(check, "README.md", |text| {
        text.push_str("\nWhoever calls is answered.\n");
    });
}
