//! The files of the repository, as text.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders that are built or installed, not written.
const GENERATED: [&str; 6] = [
    ".git",
    ".venv",
    ".venv-agents",
    "corpus",
    "node_modules",
    "target",
];

/// The endings of the files that rules look at.
const READ: [&str; 8] = ["md", "rs", "toml", "mjs", "py", "yml", "json", "stderr"];

/// All texts by their path from the top of the repository.
pub(crate) struct Repository(BTreeMap<String, String>);

/// A part of the repository that rules treat alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Rust that ends up in a program or library.
    Source,
    /// Rust that only tests and benchmarks run.
    Test,
    /// Markdown.
    Prose,
    /// Anything else.
    Other,
}

impl Repository {
    pub(crate) fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut files = BTreeMap::new();
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(root.join(&folder)).expect("the folder can be listed") {
                let entry = entry.expect("the folder can be listed");
                let name = entry.file_name().into_string().expect("names are UTF-8");
                let path = folder.join(&name);
                if entry.file_type().expect("an entry has a type").is_dir() {
                    if !GENERATED.contains(&name.as_str()) {
                        folders.push(path);
                    }
                } else if READ
                    .iter()
                    .any(|ending| name.ends_with(&format!(".{ending}")))
                {
                    let text = fs::read_to_string(root.join(&path)).expect("files are UTF-8");
                    files.insert(path.to_str().expect("names are UTF-8").to_owned(), text);
                }
            }
        }
        Self(files)
    }

    pub(crate) fn file(&self, path: &str) -> &str {
        self.0.get(path).unwrap_or_else(|| panic!("no file {path}"))
    }

    /// The text of a file, to be changed; a new file where there is none.
    pub(crate) fn file_mut(&mut self, path: &str) -> &mut String {
        self.0.entry(path.to_owned()).or_default()
    }

    pub(crate) fn of(&self, kind: Kind) -> impl Iterator<Item = (&str, &str)> {
        let files = self.0.iter().filter(move |(path, _)| kind_of(path) == kind);
        files.map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The text of the source files without their tests.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&str, &str)> {
        self.of(Kind::Source)
            .map(|(path, text)| (path, without_tests(text)))
    }

    pub(crate) fn ending_with(&self, ending: &str) -> impl Iterator<Item = (&str, &str)> {
        let files = self
            .0
            .iter()
            .filter(move |(path, _)| path.ends_with(ending));
        files.map(|(path, text)| (path.as_str(), text.as_str()))
    }
}

pub(crate) fn kind_of(path: &str) -> Kind {
    let is_test = [
        "/tests/",
        "/tests.rs",
        "/testing.rs",
        "/testing/",
        "/testkit/",
        "/examples/",
    ];
    if path.ends_with(".md") {
        Kind::Prose
    } else if !path.ends_with(".rs") {
        Kind::Other
    } else if path.starts_with("crates/") && !is_test.iter().any(|part| path.contains(part)) {
        Kind::Source
    } else {
        Kind::Test
    }
}

/// The crate a path belongs to.
pub(crate) fn crate_of(path: &str) -> &str {
    let within = path.strip_prefix("crates/").unwrap_or_default();
    within.split('/').next().unwrap_or_default()
}

/// A file up to its inline tests.
fn without_tests(text: &str) -> &str {
    let tests = text.find("#[cfg(test)]\nmod tests {");
    &text[..tests.unwrap_or(text.len())]
}
