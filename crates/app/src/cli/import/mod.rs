//! `panpan import`: turns an OpenAPI document into a contract file and reports its contents.
//!
//! The openapi crate does the import; here are files, flags and exit codes.

mod read;
mod report;
mod summary;

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use clap::Subcommand;
use panpan_contract::contract_file::{ContractFile, FILE_BYTES_LIMIT};
use panpan_openapi::{Filters, ImportOptions, Selection};

use self::report::{Destination, Report};
use super::Status;
use super::error::{Hinted, write_file};
use crate::log;
use crate::sources;

/// The file name that means stdin.
const STDIN: &str = "-";

/// The options of `panpan import`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    format: Format,
}

#[derive(Debug, Subcommand)]
enum Format {
    /// Import an OpenAPI document (3.0, 3.1 or 3.2, JSON or YAML)
    Openapi(OpenApi),
}

/// The options of `panpan import openapi`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes: 0 imported, 1 --strict found warnings, 2 cannot be imported.

Examples:
  panpan import openapi api.yaml -o api.contract.json
  panpan import openapi api.yaml --include-tag orders --exclude-method delete --strict")]
struct OpenApi {
    /// The document; - for stdin
    file: PathBuf,
    /// Write the contract to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The namespace of the operations [default: the name of the file]
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// Apply this overlay file to the operations; can be repeated
    #[arg(long, value_name = "FILE")]
    overlay: Vec<PathBuf>,
    /// Print the report as JSON on stdout; without -o it contains the contract
    #[arg(long)]
    json: bool,
    /// Fail with exit code 1 and write nothing if there are warnings
    #[arg(long)]
    strict: bool,
    // Last, since its heading applies to all options after it.
    #[command(flatten)]
    filter: Filter,
}

/// The operations to import.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Filters (can be repeated; * matches any text)")]
struct Filter {
    /// Only operations with this tag
    #[arg(long, value_name = "TAG")]
    include_tag: Vec<String>,
    /// Only operations with this path, as written in the document
    #[arg(long, value_name = "PATH")]
    include_path: Vec<String>,
    /// Only operations with this method
    #[arg(long, value_name = "METHOD")]
    include_method: Vec<String>,
    /// Only operations with this operationId
    #[arg(long, value_name = "ID")]
    include_operation_id: Vec<String>,
    /// Skip operations with this tag
    #[arg(long, value_name = "TAG")]
    exclude_tag: Vec<String>,
    /// Skip operations with this path
    #[arg(long, value_name = "PATH")]
    exclude_path: Vec<String>,
    /// Skip operations with this method
    #[arg(long, value_name = "METHOD")]
    exclude_method: Vec<String>,
    /// Skip operations with this operationId
    #[arg(long, value_name = "ID")]
    exclude_operation_id: Vec<String>,
}

impl Filter {
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

/// Imports the document, writes the contract and prints the report.
pub(super) fn run(args: &Args, input: impl Read, out: &mut impl Write) -> anyhow::Result<Status> {
    let Format::Openapi(args) = &args.format;
    check_output(args)?;
    let options = ImportOptions {
        namespace: namespace(args),
        filters: args.filter.filters(),
    };
    let mut import = read::import_document(&args.file, input, &options)?;
    for path in &args.overlay {
        read::apply_overlay_file(path, &mut import.operations)?;
    }
    let mut report = Report::of(&import, &options.namespace, &display_name(&args.file));
    let contract = import.into_contract();
    if args.strict && report.warnings > 0 {
        print(args, &report, out)?;
        let message = format!("there are warnings about {}", display_name(&args.file));
        let hint = "fix the listed problems, or omit --strict";
        return Ok(Status::Negative(Hinted::new(message, hint)));
    }
    report.destination = match &args.output {
        Some(path) => {
            write_file(path, &contract_text(args, &contract)?)?;
            Destination::File(path.clone())
        }
        None if args.json => Destination::Report(contract),
        None => {
            out.write_all(contract_text(args, &contract)?.as_bytes())?;
            Destination::Stdout
        }
    };
    print(args, &report, out)?;
    Ok(Status::Success)
}

fn print(args: &OpenApi, report: &Report, out: &mut impl Write) -> anyhow::Result<()> {
    match args.json {
        true => writeln!(out, "{:#}", report.to_json())?,
        false => log::print(&summary::text(report)),
    }
    Ok(())
}

/// The name of a file in messages.
fn display_name(file: &Path) -> String {
    match file.as_os_str() == STDIN {
        true => "stdin".to_owned(),
        false => file.display().to_string(),
    }
}

/// The given namespace, or the one that `panpan serve` derives from the file name.
fn namespace(args: &OpenApi) -> String {
    let file_name = args.file.file_name().unwrap_or_default();
    let derived = || {
        // With a folder in front, no part of the file name is taken for a namespace or a URL.
        let source = sources::parse_service(Path::new(""), &format!("./{}", file_name.display()));
        source.map_or_else(|| "service".to_owned(), |source| source.namespace)
    };
    args.namespace.clone().unwrap_or_else(derived)
}

/// Refuses to overwrite a file that is read.
fn check_output(args: &OpenApi) -> Result<(), Hinted> {
    let Some(output) = &args.output else {
        return Ok(());
    };
    // A file that does not exist yet is not read.
    let Ok(real) = fs::canonicalize(output) else {
        return Ok(());
    };
    let is_same = |path: &&PathBuf| fs::canonicalize(path).is_ok_and(|it| it == real);
    let mut read = std::iter::once(&args.file).chain(&args.overlay);
    match read.find(is_same) {
        Some(path) => {
            let message = format!(
                "output {} would overwrite the input {}",
                output.display(),
                path.display()
            );
            Err(Hinted::new(message, "choose another file with -o"))
        }
        None => Ok(()),
    }
}

/// The text of the contract, if it is small enough to be read again.
fn contract_text(args: &OpenApi, contract: &ContractFile) -> Result<String, Hinted> {
    let (text, file) = (contract.to_text(), display_name(&args.file));
    if text.len() <= FILE_BYTES_LIMIT {
        return Ok(text);
    }
    let length = text.len();
    let message = format!(
        "the contract of {file} has {length} bytes; contract files are limited to {FILE_BYTES_LIMIT} bytes"
    );
    Err(Hinted::new(message, read::FILTER_HINT))
}
