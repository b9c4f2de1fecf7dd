//! `panpan export`: operations as an OpenAPI document, a contract file or a list of MCP tools.
//!
//! The formats are implemented elsewhere: in the openapi crate, the contract crate and the MCP surface.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use panpan_contract::contract_file::{self, ContractFile, FILE_BYTES_LIMIT, Problem};
use panpan_contract::operation::OperationSpec;
use panpan_openapi::DocumentInfo;
use panpan_surfaces::mcp;
use serde_json::Value;

use super::Status;
use super::error::{Hinted, first_of, read_file, write_file};
use crate::backend::Backend;
use crate::sources::Lines;
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
        Some(path) => write_file(path, &text)?,
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
    let hint = "name an existing contract file that you may read";
    let bytes = read_file(path, FILE_BYTES_LIMIT, hint)?;
    contract_file::check(&bytes).map_err(|problems| invalid(path, &problems).into())
}

fn invalid(path: &Path, problems: &[Problem]) -> Hinted {
    let (file, lines) = (
        path.display(),
        Lines::of(first_of(problems, PROBLEMS_LISTED)),
    );
    Hinted::new(
        format!("{file} is not a valid contract file:{lines}"),
        "fix the listed problems; `panpan export contract` prints a valid example",
    )
}
