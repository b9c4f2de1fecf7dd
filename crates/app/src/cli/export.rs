//! `panpan export`: the contracts of operations, as a document other programs read.
//!
//! How such a document looks is decided where it is made: the openapi crate, the contract, MCP.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ValueEnum;
use panpan_contract::contract_file::{self, ContractFile, FILE_BYTES_LIMIT, Problem};
use panpan_contract::operation::{OperationSpec, Visibility};
use panpan_openapi::About;
use panpan_surfaces::mcp;
use serde_json::Value;

use super::Done;
use super::error::Hinted;
use crate::backend::Backend;
use crate::store::StoreAddress;

/// How many problems of a contract file are told; the others are counted.
const PROBLEMS_TOLD: usize = 20;

/// What is written, of which operations, and where to.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The kind of document
    what: What,
    /// The contract file whose operations are written; those that come with panpan if left out
    #[arg(long, value_name = "FILE")]
    contract: Option<PathBuf>,
    /// The file to write, in place of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// OpenAPI 3.1: one path for each operation, every declared failure under its status
    Openapi,
    /// A contract file, which panpan reads back
    Contract,
    /// The list of tools as an MCP client is shown it
    Mcp,
}

/// Writes the document.
pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<Done> {
    let file = match &args.contract {
        Some(path) => read(path)?,
        None => built_in()?,
    };
    let text = written(args.what, file)?;
    match &args.output {
        Some(path) => std::fs::write(path, text).with_context(|| {
            let hint = "name a file in a folder that exists and that you may write to";
            Hinted::new(format!("cannot write {}", path.display()), hint)
        })?,
        None => out.write_all(text.as_bytes())?,
    }
    Ok(Done::Yes)
}

fn written(what: What, file: ContractFile) -> anyhow::Result<String> {
    let document = match what {
        What::Contract => return Ok(file.to_text()),
        What::Openapi => openapi(&file),
        What::Mcp => mcp::tool_list(&standing_alone(&file)),
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn openapi(file: &ContractFile) -> Value {
    let about = About {
        title: &file.service.name,
        version: file.service.version.as_deref().unwrap_or("0"),
        server: None,
    };
    panpan_openapi::export(standing_alone(file).iter(), &about)
}

/// The operations with every shared definition their schemas need.
fn standing_alone(file: &ContractFile) -> Vec<OperationSpec> {
    let alone = |spec: &OperationSpec| {
        let mut spec = spec.clone();
        spec.input_schema = file.self_contained(&spec.input_schema);
        spec.output_schema = file.self_contained(&spec.output_schema);
        for definition in &mut spec.error_schemas {
            definition.schema = file.self_contained(&definition.schema);
        }
        spec
    };
    file.operations.iter().map(alone).collect()
}

/// What comes with panpan, as far as it can be called from outside.
fn built_in() -> anyhow::Result<ContractFile> {
    let backend = Backend::open(&StoreAddress::Memory)?;
    let mut file = ContractFile::new("panpan");
    file.service.version = Some(env!("CARGO_PKG_VERSION").to_owned());
    let registry = backend.dispatcher().registry();
    let specs = registry.operations().map(|operation| operation.spec());
    let outside = specs.filter(|spec| spec.visibility == Visibility::External);
    file.operations = outside.cloned().collect();
    Ok(file)
}

fn read(path: &Path) -> anyhow::Result<ContractFile> {
    let bytes = bytes(path).with_context(|| {
        let hint = "name the file of a contract that exists and that you may read";
        Hinted::new(format!("cannot read {}", path.display()), hint)
    })?;
    contract_file::check(&bytes).map_err(|problems| refused(path, &problems).into())
}

/// One byte more than is read at most, so that a larger file is noticed and refused.
fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let limit = u64::try_from(FILE_BYTES_LIMIT).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn refused(path: &Path, problems: &[Problem]) -> Hinted {
    let told = problems.iter().take(PROBLEMS_TOLD);
    let mut lines: Vec<String> = told.map(|problem| format!("\n  {problem}")).collect();
    if let Some(more @ 1..) = problems.len().checked_sub(PROBLEMS_TOLD) {
        lines.push(format!("\n  and {more} more"));
    }
    let message = format!("{} is no contract file:{}", path.display(), lines.concat());
    Hinted::new(
        message,
        "mend what is listed; panpan export contract writes one that is right",
    )
}
