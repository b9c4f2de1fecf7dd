//! `panpan import`: the description of a service as a contract, and what is in it for people.
//!
//! How a description is read is decided in the openapi crate; here are files, flags and exit codes.

mod read;
mod report;
mod told;

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Subcommand;
use panpan_contract::contract_file::{ContractFile, FILE_BYTES_LIMIT};
use panpan_openapi::{Filters, ImportOptions, Selection};

use self::report::{Report, Written};
use super::Done;
use super::error::Hinted;
use crate::sources;
use crate::terminal::say;

/// What stands for standard input in place of a file.
const STANDARD_INPUT: &str = "-";

/// What is imported.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Make a contract of an OpenAPI document of version 3.0, 3.1 or 3.2, in JSON or YAML
    Openapi(OpenApi),
}

/// What is read, which of it is taken, and where the contract goes.
#[derive(Debug, clap::Args)]
struct OpenApi {
    /// The document; - for standard input
    file: PathBuf,
    /// The file to write the contract to, in place of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The first step of the operations' names [default: made of the name of the file]
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// What is known about the service beyond its description; may be given several times
    #[arg(long, value_name = "FILE")]
    overlay: Vec<PathBuf>,
    #[command(flatten)]
    choice: Choice,
    /// Print what is told about the import as JSON to standard output; the contract is in it where no -o
    /// says where it goes
    #[arg(long)]
    json: bool,
    /// Write nothing and end with 1 if there are warnings
    #[arg(long)]
    strict: bool,
}

/// Which operations are taken. Every flag may be given several times.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Which operations (* stands for any text)")]
struct Choice {
    /// Only operations with this tag
    #[arg(long, value_name = "TAG")]
    include_tag: Vec<String>,
    /// Only operations of this path, as the document writes it
    #[arg(long, value_name = "PATH")]
    include_path: Vec<String>,
    /// Only operations of this method
    #[arg(long, value_name = "METHOD")]
    include_method: Vec<String>,
    /// Only the operation of this operationId
    #[arg(long, value_name = "ID")]
    include_operation_id: Vec<String>,
    /// No operations with this tag
    #[arg(long, value_name = "TAG")]
    exclude_tag: Vec<String>,
    /// No operations of this path
    #[arg(long, value_name = "PATH")]
    exclude_path: Vec<String>,
    /// No operations of this method
    #[arg(long, value_name = "METHOD")]
    exclude_method: Vec<String>,
    /// Not the operation of this operationId
    #[arg(long, value_name = "ID")]
    exclude_operation_id: Vec<String>,
}

impl Choice {
    fn filters(&self) -> Filters {
        Filters {
            include: Selection {
                tags: self.include_tag.clone(),
                paths: self.include_path.clone(),
                methods: self.include_method.clone(),
                operation_ids: self.include_operation_id.clone(),
            },
            exclude: Selection {
                tags: self.exclude_tag.clone(),
                paths: self.exclude_path.clone(),
                methods: self.exclude_method.clone(),
                operation_ids: self.exclude_operation_id.clone(),
            },
        }
    }
}

/// Imports the document, writes the contract and tells what is in it.
pub(super) fn run(args: &Args, input: impl Read, out: &mut impl Write) -> anyhow::Result<Done> {
    let What::Openapi(args) = &args.what;
    check_output(args)?;
    let options = ImportOptions {
        namespace: namespace(args),
        filters: args.choice.filters(),
    };
    let mut import = read::imported(&args.file, input, &options)?;
    for path in &args.overlay {
        read::overlay(path, &mut import.operations)?;
    }
    let mut report = Report::of(&import, &options.namespace, &name_of(&args.file));
    let contract = import.into_contract();
    if args.strict && report.warnings > 0 {
        return refused(args, &report, out);
    }
    report.written = match &args.output {
        Some(path) => {
            write(path, &text_of(args, &contract)?)?;
            Written::File(path.clone())
        }
        None if args.json => Written::Inside(contract),
        None => {
            out.write_all(text_of(args, &contract)?.as_bytes())?;
            Written::Printed
        }
    };
    tell(args, &report, out)?;
    Ok(Done::Yes)
}

fn tell(args: &OpenApi, report: &Report, out: &mut impl Write) -> anyhow::Result<()> {
    match args.json {
        true => writeln!(out, "{:#}", report.to_json())?,
        false => say(&told::text(report)),
    }
    Ok(())
}

fn refused(args: &OpenApi, report: &Report, out: &mut impl Write) -> anyhow::Result<Done> {
    tell(args, report, out)?;
    let message = format!("there are warnings about {}", name_of(&args.file));
    let hint = "mend what they point at, or leave --strict out";
    Ok(Done::No(Hinted::new(message, hint)))
}

/// The name of a file as messages say it.
fn name_of(file: &Path) -> String {
    match file.as_os_str() == STANDARD_INPUT {
        true => "standard input".to_owned(),
        false => file.display().to_string(),
    }
}

/// The name that was said, or what a server would call a service with this file.
fn namespace(args: &OpenApi) -> String {
    let file_name = args.file.file_name().unwrap_or_default();
    let made = || {
        // Behind a folder, nothing in the name of a file can be taken for something else.
        let source = sources::openapi(Path::new(""), &format!("./{}", file_name.display()));
        source.map_or_else(|| "service".to_owned(), |source| source.namespace)
    };
    args.namespace.clone().unwrap_or_else(made)
}

/// Refuses to write over a file that is read.
fn check_output(args: &OpenApi) -> Result<(), Hinted> {
    let Some(output) = &args.output else {
        return Ok(());
    };
    // What does not exist yet cannot be what is read.
    let Ok(real) = fs::canonicalize(output) else {
        return Ok(());
    };
    let is_same = |path: &&PathBuf| fs::canonicalize(path).is_ok_and(|it| it == real);
    let mut read = std::iter::once(&args.file).chain(&args.overlay);
    match read.find(is_same) {
        Some(path) => {
            let message = format!(
                "{} would be written over {}",
                output.display(),
                path.display()
            );
            Err(Hinted::new(message, "name another file with -o"))
        }
        None => Ok(()),
    }
}

/// The contract as a text that can be read again.
fn text_of(args: &OpenApi, contract: &ContractFile) -> Result<String, Hinted> {
    let (text, file) = (contract.to_text(), name_of(&args.file));
    if text.len() <= FILE_BYTES_LIMIT {
        return Ok(text);
    }
    let length = text.len();
    let message = format!(
        "the contract of {file} has {length} bytes, and at most {FILE_BYTES_LIMIT} are read again"
    );
    Err(Hinted::new(message, read::CHOOSE))
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| {
        let hint = "name a file in a folder that exists and that you may write to";
        Hinted::new(format!("cannot write {}", path.display()), hint)
    })
}
