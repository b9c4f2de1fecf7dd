//! Reads and imports documents and overlay files, with hints about files that cannot be used.

use std::fmt::Display;
use std::io::Read;
use std::path::Path;

use anyhow::Context;
use panpan_contract::operation::OperationSpec;
use panpan_failure::catalogue::nearest;
use panpan_openapi::{
    DOCUMENT_BYTES_LIMIT, Import, ImportError, ImportOptions, Overlay, apply_overlay, import, parse,
};
use serde_json::Value;

use super::{STDIN, display_name};
use crate::cli::error::{Hinted, first_of, read_file};
use crate::files::read_up_to;
use crate::sources::{Lines, OVERLAY_HINT, read_overlay};

/// How many problems of a file are listed; the rest are counted.
const PROBLEMS_LISTED: usize = 10;

const FILE_HINT: &str =
    "name an OpenAPI document in JSON or YAML that you may read, or - for stdin";

/// What to do about a document that is too large.
pub(super) const FILTER_HINT: &str =
    "import fewer operations; `panpan import openapi --help` lists the filters";

/// Reads and imports a document.
pub(super) fn import_document(
    file: &Path,
    input: impl Read,
    options: &ImportOptions,
) -> anyhow::Result<Import> {
    let name = display_name(file);
    let bytes = match file.as_os_str() == STDIN {
        true => read_up_to(input, DOCUMENT_BYTES_LIMIT)
            .with_context(|| Hinted::new("cannot read stdin", FILE_HINT))?,
        false => read_file(file, DOCUMENT_BYTES_LIMIT, FILE_HINT)?,
    };
    if bytes.trim_ascii().is_empty() {
        return Err(Hinted::new(format!("{name} is empty"), FILE_HINT).into());
    }
    let document = parse(&bytes).map_err(|error| {
        let hint = "fix the document; panpan reads OpenAPI in JSON or YAML";
        anyhow::Error::from(error).context(Hinted::new(format!("cannot read {name}"), hint))
    })?;
    import(&document, options).map_err(|error| import_error(&name, &document, &error).into())
}

fn import_error(name: &str, document: &Value, error: &ImportError) -> Hinted {
    match error {
        ImportError::Swagger(version) => Hinted::new(
            format!("{name} is Swagger {version}, which panpan does not read"),
            "convert it to OpenAPI 3, for example with `npx swagger2openapi FILE -o openapi.json`",
        ),
        ImportError::RemoteReferences(references) => Hinted::new(
            format!(
                "{name} refers to other documents, which panpan does not fetch:{}",
                listed(
                    references
                        .iter()
                        .map(|it| format!("{:?} at {}", it.reference, it.pointer))
                )
            ),
            "bundle it into one file, for example with `npx @redocly/cli bundle FILE -o bundled.yaml`",
        ),
        ImportError::NotOpenApi if document.get("panpan").is_some() => Hinted::new(
            format!("{name} is already a contract file"),
            "serve it with `panpan serve --openapi FILE`",
        ),
        ImportError::Namespace(_) => Hinted::new(
            error.to_string(),
            "set a valid one with --namespace, such as billing",
        ),
        ImportError::TooManyOperations(_) | ImportError::TooLarge => {
            Hinted::new(format!("cannot import {name}: {error}"), FILTER_HINT)
        }
        ImportError::Version(_) | ImportError::NotOpenApi | ImportError::NoPaths => Hinted::new(
            format!("cannot import {name}: {error}"),
            "check that the file is an OpenAPI document",
        ),
    }
}

/// Applies an overlay file to the operations.
pub(super) fn apply_overlay_file(
    path: &Path,
    operations: &mut Vec<OperationSpec>,
) -> anyhow::Result<()> {
    let name = path.display();
    let hint = "name an overlay file in JSON, YAML or TOML that you may read";
    let bytes = read_file(path, DOCUMENT_BYTES_LIMIT, hint)?;
    let overlay = read_overlay(path, &bytes)
        .with_context(|| Hinted::new(format!("cannot use {name}"), OVERLAY_HINT))?;
    apply_overlay(operations, &overlay).map_err(|problems| {
        let message = format!("{name} does not match the operations:{}", listed(problems));
        Hinted::new(message, suggest_names(&overlay, operations)).into()
    })
}

/// Suggests the nearest names for entries that match no operation.
fn suggest_names(overlay: &Overlay, operations: &[OperationSpec]) -> String {
    let names: Vec<&str> = operations.iter().map(|it| it.name.as_str()).collect();
    let patterns = overlay
        .operations
        .iter()
        .map(|entry| entry.pattern.as_str());
    let exact = patterns.filter(|it| !it.contains('*') && !names.contains(it));
    let near: Vec<&str> = exact
        .flat_map(|it| nearest(it, names.iter().copied()))
        .collect();
    match near.as_slice() {
        [] => "correct or remove the listed entries; the contract contains the names of the operations".to_owned(),
        near => format!("did you mean {}?", near.join(", ")),
    }
}

/// The first problems, one per line.
fn listed<T: Display>(problems: impl IntoIterator<Item = T>) -> Lines {
    Lines::of(first_of(problems, PROBLEMS_LISTED))
}
