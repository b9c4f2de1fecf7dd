//! Files over 400 lines and functions over 60 are listed in `long.txt`, and the list only shrinks: an entry
//! that is no longer needed, or that has grown, is a finding too.

use std::collections::BTreeMap;

use crate::repository::Repository;

const FILE_LINES_LIMIT: usize = 400;
const FUNCTION_LINES_LIMIT: usize = 60;

/// One entry a line: how many lines, then the path or the path and function.
const LISTED: &str = include_str!("long.txt");

pub(crate) fn check(repository: &Repository) -> Vec<String> {
    let mut listed: BTreeMap<&str, usize> = BTreeMap::new();
    for line in LISTED.lines() {
        let (lines, what) = line.trim().split_once(' ').expect("a number and a path");
        listed.insert(what, lines.parse().expect("a number of lines"));
    }
    let mut findings = Vec::new();
    for (what, lines) in long(repository) {
        match listed.remove(what.as_str()) {
            Some(allowed) if lines <= allowed => {}
            Some(allowed) => {
                findings.push(format!("{what} has grown from {allowed} to {lines} lines"));
            }
            None => findings.push(format!("{what} has {lines} lines")),
        }
    }
    findings.extend(
        listed
            .keys()
            .map(|what| format!("{what} is short enough: remove it from long.txt")),
    );
    findings
}

fn long(repository: &Repository) -> BTreeMap<String, usize> {
    let mut long = BTreeMap::new();
    for (path, text) in repository.sources() {
        let lines = text.lines().count();
        if lines > FILE_LINES_LIMIT {
            long.insert(path.to_owned(), lines);
        }
        for (name, lines) in functions(text).filter(|(_, lines)| *lines > FUNCTION_LINES_LIMIT) {
            long.insert(format!("{path} {name}"), lines);
        }
    }
    long
}

/// The functions of a file and how many lines each has. The file is formatted: a function ends at a closing
/// brace as far in as its first line.
fn functions(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let starts = 0..lines.len();
    let found: Vec<_> = starts
        .filter_map(|start| {
            let line = lines[start];
            let name = name_of_function(line)?;
            // A method that a trait only declares has no body.
            let is_end = |line: &&&str| line.ends_with('{') || line.ends_with(';');
            lines[start..]
                .iter()
                .find(is_end)
                .filter(|it| it.ends_with('{'))?;
            let indent = line.len() - line.trim_start().len();
            let end = format!("{}}}", " ".repeat(indent));
            let length = lines[start..].iter().position(|line| *line == end)?;
            Some((name, length + 1))
        })
        .collect();
    found.into_iter()
}

fn name_of_function(line: &str) -> Option<&str> {
    let (before, after) = line.trim_start().split_once("fn ")?;
    let is_start = before.split_whitespace().all(|word| {
        word.starts_with("pub")
            || ["async", "const", "in", "unsafe"].contains(&word)
            || word.ends_with(')')
    });
    is_start.then(|| after.split(['(', '<']).next()).flatten()
}

#[test]
fn a_long_function_is_noticed() {
    crate::notices(check, "crates/runtime/src/lib.rs", |text| {
        text.push_str(&format!(
            "fn endless() {{\n{}}}\n",
            "    step();\n".repeat(60)
        ));
    });
}

#[test]
fn a_long_file_is_noticed() {
    crate::notices(check, "crates/runtime/src/new.rs", |text| {
        text.push_str(&"use a;\n".repeat(401));
    });
}
