//! The speed goals of importing OpenAPI documents, for each document in the folder that
//! PANPAN_OPENAPI_CORPUS names; without the variable nothing is measured.
//!
//! `goal.rs` does the measuring.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod goal;

use std::hint::black_box;
use std::path::PathBuf;
use std::process::ExitCode;

use goal::{Goal, Watch};
use panpan_openapi::{ImportOptions, import, parse};
use serde_json::Value;

/// Parsing, importing and writing, as a multiple of parsing alone.
const RATIO_LIMIT: f64 = 8.0;
/// The limit of the peak memory of the process, in megabytes.
const MEMORY_LIMIT: f64 = 200.0;

fn main() -> ExitCode {
    goal::run(|| {
        let documents = documents();
        if documents.is_empty() {
            println!("PANPAN_OPENAPI_CORPUS is not a folder with documents");
        }
        let importing = documents
            .into_iter()
            .map(|(name, text)| importing(&name, text));
        importing.chain([memory()]).collect()
    })
}

fn documents() -> Vec<(String, Vec<u8>)> {
    let folder = std::env::var_os("PANPAN_OPENAPI_CORPUS").map(PathBuf::from);
    let entries = folder.and_then(|it| std::fs::read_dir(it).ok());
    let files = entries.into_iter().flatten().flatten().map(|it| it.path());
    let mut files: Vec<_> = files
        .filter(|it| it.extension().is_some_and(|it| it == "json"))
        .collect();
    files.sort();
    let documents = files.into_iter().filter_map(|file| {
        let name = file.file_stem()?.to_string_lossy().into_owned();
        Some((name, std::fs::read(file).ok()?))
    });
    documents.collect()
}

/// Converts the text of a document to that of a contract, against parsing the text to a plain value.
fn importing(name: &str, text: Vec<u8>) -> Goal {
    let same = text.clone();
    Goal::Ratio {
        name: format!("import {name}"),
        limit: RATIO_LIMIT,
        work: Box::new(move || {
            let watch = Watch::start();
            black_box(contract(&text));
            watch.stop(1)
        }),
        baseline: Box::new(move || {
            let watch = Watch::start();
            black_box(serde_json::from_slice::<Value>(&same).is_ok());
            watch.stop(1)
        }),
    }
}

fn contract(text: &[u8]) -> String {
    let document = parse(text).expect("the corpus holds documents");
    let import = import(&document, &ImportOptions::new("bench"));
    import.expect("they are imported").into_contract().to_text()
}

/// The peak memory of this process, including the texts of all documents.
fn memory() -> Goal {
    Goal::Figure {
        name: "peak memory, MB".to_owned(),
        limit: MEMORY_LIMIT,
        measure: Box::new(|| {
            let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
            let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kilobytes = peak.and_then(|it| it.trim().strip_suffix(" kB"));
            kilobytes
                .and_then(|it| it.trim().parse().ok())
                .unwrap_or(0.0)
                / 1024.0
        }),
    }
}
