//! Files to an import, and what is said about those that give none.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::Context;
use panpan_contract::operation::OperationSpec;
use panpan_failure::catalogue::nearest;
use panpan_openapi::{
    DOCUMENT_BYTES_LIMIT, Import, ImportError, ImportOptions, Overlay, OverlayProblem,
    RemoteReference, apply_overlay, import, parse,
};
use serde_json::Value;

use super::{STANDARD_INPUT, name_of};
use crate::cli::error::Hinted;
use crate::sources::read_overlay;

/// How many problems of a file are told; the others are counted.
const PROBLEMS_TOLD: usize = 10;

const NO_FILE: &str =
    "name an OpenAPI document in JSON or YAML that you may read, or - for standard input";

/// What to do about a document that is too large.
pub(super) const CHOOSE: &str =
    "choose some operations; `panpan import openapi --help` lists the flags that do";

/// Reads and imports a document.
pub(super) fn imported(
    file: &Path,
    input: impl Read,
    options: &ImportOptions,
) -> anyhow::Result<Import> {
    let name = name_of(file);
    let bytes = match file.as_os_str() == STANDARD_INPUT {
        true => bounded(input),
        false => File::open(file).and_then(bounded),
    };
    let bytes = bytes.with_context(|| Hinted::new(format!("cannot read {name}"), NO_FILE))?;
    if bytes.trim_ascii().is_empty() {
        return Err(Hinted::new(format!("there is nothing in {name}"), NO_FILE).into());
    }
    let document = parse(&bytes).map_err(|error| {
        let hint = "mend it there; panpan reads OpenAPI documents in JSON or YAML";
        anyhow::Error::from(error).context(Hinted::new(format!("cannot read {name}"), hint))
    })?;
    import(&document, options).map_err(|error| refused(&name, &document, &error).into())
}

/// One byte more than is read at most, so that a larger document is noticed and refused.
fn bounded(input: impl Read) -> io::Result<Vec<u8>> {
    let limit = u64::try_from(DOCUMENT_BYTES_LIMIT).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    input
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn refused(name: &str, document: &Value, error: &ImportError) -> Hinted {
    match error {
        ImportError::Swagger(version) => Hinted::new(
            format!("{name} is Swagger {version}, which is not read"),
            "convert it to OpenAPI 3, for example with `npx swagger2openapi FILE -o openapi.json`",
        ),
        ImportError::RemoteReferences(references) => Hinted::new(
            format!(
                "{name} refers to other documents, and nothing is fetched:{}",
                remote(references)
            ),
            "bundle it into one file, for example with `npx @redocly/cli bundle FILE -o bundled.yaml`",
        ),
        ImportError::NotOpenApi if document.get("panpan").is_some() => Hinted::new(
            format!("{name} is a contract already"),
            "serve it as it is with `panpan serve --openapi FILE`",
        ),
        ImportError::Namespace(_) => Hinted::new(
            error.to_string(),
            "choose one with --namespace, such as billing",
        ),
        ImportError::TooManyOperations(_) | ImportError::TooLarge => {
            Hinted::new(format!("cannot import {name}: {error}"), CHOOSE)
        }
        ImportError::Version(_) | ImportError::NotOpenApi | ImportError::NoPaths => Hinted::new(
            format!("cannot import {name}: {error}"),
            "check that it is the document you meant",
        ),
    }
}

fn remote(references: &[RemoteReference]) -> String {
    let told = references.iter();
    listed(told.map(|it| format!("{:?} at {}", it.reference, it.pointer)))
}

/// Applies an overlay file to the operations.
pub(super) fn overlay(path: &Path, operations: &mut Vec<OperationSpec>) -> anyhow::Result<()> {
    let name = path.display();
    let bytes = File::open(path).and_then(bounded).with_context(|| {
        let hint = "name an overlay in JSON, YAML or TOML that you may read";
        Hinted::new(format!("cannot read {name}"), hint)
    })?;
    let overlay = read_overlay(path, &bytes).with_context(|| {
        let hint = "an overlay is a list \"operations\", each with \"match\" and what is to change; JSON, YAML, or TOML in a file whose name ends in .toml";
        Hinted::new(format!("cannot use {name}"), hint)
    })?;
    apply_overlay(operations, &overlay).map_err(|problems| {
        let message = format!("{name} does not fit the operations:{}", misfits(&problems));
        Hinted::new(message, names_meant(&overlay, operations)).into()
    })
}

fn misfits(problems: &[OverlayProblem]) -> String {
    listed(problems.iter().map(ToString::to_string))
}

/// The names that come near those that no operation has.
fn names_meant(overlay: &Overlay, operations: &[OperationSpec]) -> String {
    let names: Vec<&str> = operations.iter().map(|it| it.name.as_str()).collect();
    let patterns = overlay.operations.iter().map(|line| line.pattern.as_str());
    let exact = patterns.filter(|it| !it.contains('*') && !names.contains(it));
    let near: Vec<&str> = exact
        .flat_map(|it| nearest(it, names.iter().copied()))
        .collect();
    match near.as_slice() {
        [] => "mend or remove what is listed; the names are those in the contract".to_owned(),
        near => format!("did you mean {}?", near.join(", ")),
    }
}

/// A line each, the first few.
fn listed(problems: impl ExactSizeIterator<Item = String>) -> String {
    let more = problems.len().saturating_sub(PROBLEMS_TOLD);
    let told = problems.take(PROBLEMS_TOLD);
    let mut lines: Vec<String> = told.map(|problem| format!("\n  {problem}")).collect();
    if more > 0 {
        lines.push(format!("\n  and {more} more"));
    }
    lines.concat()
}
