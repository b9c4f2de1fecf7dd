//! A command or option of `panpan` that a page, a document or a message names in backticks exists.

use std::collections::BTreeMap;

use crate::repository::{Kind, Repository};

/// Commands that panpan starts itself and `--help` does not list.
const HIDDEN: [&str; 1] = ["guard"];

/// The options of each command, from its help.
struct Program(BTreeMap<String, String>);

pub(crate) fn check(repository: &Repository) -> Vec<String> {
    let program = Program::from_help();
    let mut findings = Vec::new();
    let prose = repository
        .of(Kind::Prose)
        .filter(|(path, _)| *path != "CHANGELOG.md");
    for (path, text) in prose.chain(repository.sources()) {
        for quoted in quoted(text) {
            if let Some(problem) = program.problem(quoted) {
                findings.push(format!("{path}: `{quoted}` {problem}"));
            }
        }
    }
    findings
}

impl Program {
    fn from_help() -> Self {
        let commands = help(&["--help"]);
        let commands = commands
            .split_once("Commands:")
            .map_or("", |(_, after)| after);
        let commands = commands.split("\n\n").next().unwrap_or_default();
        let names = commands
            .lines()
            .filter_map(|line| line.split_whitespace().next());
        let names =
            names.filter(|name| name.chars().all(|it| it.is_ascii_lowercase() || it == '-'));
        Self(
            names
                .map(|name| (name.to_owned(), help(&[name, "--help"])))
                .collect(),
        )
    }

    /// What is wrong with a quoted command, if it is one.
    fn problem(&self, quoted: &str) -> Option<String> {
        let mut words = quoted.strip_prefix("panpan ")?.split_whitespace();
        let name = words.next()?;
        if name.starts_with('-') || !name.chars().all(|it| it.is_ascii_lowercase()) {
            return None;
        }
        if HIDDEN.contains(&name) {
            return None;
        }
        let Some(help) = self.0.get(name) else {
            return Some(format!("names no command: {name}"));
        };
        let mut help = help.clone();
        if let Some(sub) = words
            .clone()
            .next()
            .filter(|word| word.chars().all(|it| it.is_ascii_lowercase()))
        {
            help.push_str(&self::help(&[name, sub, "--help"]));
        }
        let mut options = words.filter(|word| word.starts_with("--"));
        let unknown = options
            .find(|option| !help.contains(option.split(['=', '[']).next().unwrap_or(option)))?;
        Some(format!("names an unknown option: {unknown}"))
    }
}

fn help(arguments: &[&str]) -> String {
    panpan_testkit::stdout(&panpan_testkit::run(
        &mut panpan_testkit::panpan(arguments),
        b"",
    ))
}

/// The parts of a text between single backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2))
}

#[test]
fn a_command_that_does_not_exist_is_noticed() {
    crate::notices(check, "README.md", |text| {
        text.push_str("\nRun `panpan conjure`.\n");
    });
}

#[test]
fn an_option_that_does_not_exist_is_noticed() {
    crate::notices(check, "README.md", |text| {
        text.push_str("\nRun `panpan serve --conjure`.\n");
    });
}
