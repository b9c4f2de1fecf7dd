//! Declares the failures of an operation, fails with one, and shows it in all eight dialects.
#![expect(clippy::print_stdout, reason = "an example prints its result")]

use panpan_failure::dialect::{Dialect, Envelope};
use panpan_failure::{DeclareFailures, Failure};

/// How reading a file can fail.
#[derive(Debug, Failure)]
enum ReadFileError {
    /// The file does not exist.
    #[failure(
        code = "FILE_NOT_FOUND",
        http = 404,
        message = "no file at {path}",
        action = "List the folder and use a name that exists"
    )]
    FileNotFound { path: String },
    /// The reads of this hour are used up.
    #[failure(code = "READ_QUOTA_REACHED", category = RATE_LIMIT, http = 429, message = "{used} of {limit} reads used")]
    QuotaReached {
        used: u64,
        limit: u64,
        #[failure(retry_after_ms)]
        wait_ms: u64,
    },
    // The catalogue defines the facts of its codes.
    #[failure(code = "ERR_TIMEOUT")]
    Timeout,
}

fn read_file(path: &str) -> Result<String, ReadFileError> {
    match path {
        "/slow" => Err(ReadFileError::Timeout),
        "/busy" => Err(ReadFileError::QuotaReached {
            used: 100,
            limit: 100,
            wait_ms: 2000,
        }),
        _ => Err(ReadFileError::FileNotFound {
            path: path.to_owned(),
        }),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let definitions = serde_json::to_string_pretty(&ReadFileError::definitions())?;
    println!("declared: {definitions}");

    let path = std::env::args().nth(1).unwrap_or("/busy".to_owned());
    if let Err(error) = read_file(&path) {
        let failure = Failure::from(error)
            .with_operation("fs/readFile")
            .redacted();
        for dialect in Dialect::ALL {
            let view = dialect.failure(&failure, Envelope::default());
            println!("\n{dialect}: {}", serde_json::to_string_pretty(&view)?);
        }
    }
    Ok(())
}
