//! `panpan export`: operations as an OpenAPI document, a contract file or a list of MCP tools.
//!
//! The formats are implemented elsewhere: in the openapi crate, the contract crate and the MCP surface.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ValueEnum;
use panpan_contract::contract_file::{self, ContractFile, FILE_BYTES_LIMIT, Problem};
use panpan_contract::operation::OperationSpec;
use panpan_openapi::DocumentInfo;
use panpan_surfaces::mcp;
use serde_json::Value;

use super::Status;
use super::error::Hinted;
use crate::backend::Backend;
use crate::files::read_up_to;
use crate::store::StoreAddress;

/// How many problems of a contract file are listed; the rest are counted.
const PROBLEMS_LISTED: usize = 20;

/// The options of `panpan export`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The format to write
    format: Format,
    /// Export the operations of this contract file [default: the built-in operations]
    #[arg(long, value_name = "FILE")]
    contract: Option<PathBuf>,
    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// OpenAPI 3.1: one path per operation, each declared failure under its status
    Openapi,
    /// A contract file, which `panpan serve --openapi` can serve
    Contract,
    /// The list of tools that an MCP client sees
    Mcp,
}

/// Writes the document.
pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<Status> {
    let file = match &args.contract {
        Some(path) => read(path)?,
        None => built_in()?,
    };
    let text = document(args.format, file)?;
    match &args.output {
        Some(path) => std::fs::write(path, text).with_context(|| {
            let hint = "choose a file in an existing folder that you may write to";
            Hinted::new(format!("cannot write {}", path.display()), hint)
        })?,
        None => out.write_all(text.as_bytes())?,
    }
    Ok(Status::Success)
}

fn document(format: Format, file: ContractFile) -> anyhow::Result<String> {
    let document = match format {
        Format::Contract => return Ok(file.to_text()),
        Format::Openapi => openapi(&file),
        Format::Mcp => mcp::tool_list(&self_contained(&file)),
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn openapi(file: &ContractFile) -> Value {
    let about = DocumentInfo {
        title: &file.service.name,
        version: file.service.version.as_deref().unwrap_or("0"),
        server: None,
    };
    panpan_openapi::export(self_contained(file).iter(), &about)
}

/// The operations, each with the shared definitions that its schemas refer to.
fn self_contained(file: &ContractFile) -> Vec<OperationSpec> {
    let self_contained = |spec: &OperationSpec| {
        let mut spec = spec.clone();
        spec.input_schema = file.self_contained(&spec.input_schema);
        spec.output_schema = file.self_contained(&spec.output_schema);
        for definition in &mut spec.error_schemas {
            definition.schema = file.self_contained(&definition.schema);
        }
        spec
    };
    file.operations.iter().map(self_contained).collect()
}

/// The built-in operations that callers can see.
fn built_in() -> anyhow::Result<ContractFile> {
    let backend = Backend::open(&StoreAddress::Memory)?;
    let mut file = ContractFile::new("panpan");
    file.service.version = Some(env!("CARGO_PKG_VERSION").to_owned());
    let registry = backend.dispatcher().registry();
    let external = registry.operations().filter(|it| it.is_external());
    file.operations = external.map(|it| it.spec().clone()).collect();
    Ok(file)
}

fn read(path: &Path) -> anyhow::Result<ContractFile> {
    let bytes = File::open(path).and_then(|file| read_up_to(file, FILE_BYTES_LIMIT));
    let bytes = bytes.with_context(|| {
        let hint = "name an existing contract file that you may read";
        Hinted::new(format!("cannot read {}", path.display()), hint)
    })?;
    contract_file::check(&bytes).map_err(|problems| invalid(path, &problems).into())
}

fn invalid(path: &Path, problems: &[Problem]) -> Hinted {
    let listed = problems.iter().take(PROBLEMS_LISTED);
    let mut lines: Vec<String> = listed.map(|problem| format!("\n  {problem}")).collect();
    if let Some(more @ 1..) = problems.len().checked_sub(PROBLEMS_LISTED) {
        lines.push(format!("\n  and {more} more"));
    }
    let message = format!(
        "{} is not a valid contract file:{}",
        path.display(),
        lines.concat()
    );
    Hinted::new(
        message,
        "fix the listed problems; `panpan export contract` prints a valid example",
    )
}
