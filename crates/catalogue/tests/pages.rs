//! Every code has its own page, with four sections and no sentence from another page.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;

use panpan_catalogue::{Family, entries};

const HEADINGS: [&str; 4] = [
    "## What happened",
    "## Why it usually happens",
    "## What an agent should do",
    "## What a person should do",
];

fn pages() -> impl Iterator<Item = (&'static str, &'static str)> {
    let families = [
        ("ERR_HTTP_<status>", Family::ErrHttp.page()),
        ("HTTP_<status>", Family::Http.page()),
    ];
    entries().map(|row| (row.code, row.page)).chain(families)
}

#[test]
fn every_page_has_the_four_sections_in_order() {
    for (code, page) in pages() {
        let headings: Vec<_> = page.lines().filter(|line| line.starts_with('#')).collect();
        assert_eq!(headings, HEADINGS, "{code}");
        let words = page.split_whitespace().count();
        assert!((100..=260).contains(&words), "{code} has {words} words");
    }
}

#[test]
fn no_sentence_is_on_two_pages() {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    for (code, page) in pages() {
        for line in page.lines().filter(|line| !line.starts_with('#')) {
            let sentence = line
                .trim_start_matches(|c: char| "-*. ".contains(c) || c.is_ascii_digit())
                .trim();
            if sentence.is_empty() {
                continue;
            }
            if let Some(other) = seen.insert(sentence, code) {
                panic!("{code} and {other} share: {sentence}");
            }
        }
    }
}

#[test]
fn every_page_on_disk_belongs_to_a_code() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/pages");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let mut expected: Vec<String> = entries().map(|row| format!("{}.md", row.code)).collect();
    expected.extend(["ERR_HTTP_STATUS.md".to_owned(), "HTTP_STATUS.md".to_owned()]);
    expected.sort();
    assert_eq!(names, expected);
}
