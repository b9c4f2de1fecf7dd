use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
#[failure(no_displays)]
enum ReadFileError {
    #[failure(code = "NOT_FOUND", http = 200, message = "no file at {file}")]
    FileNotFound { path: String },
    QuotaReached(u64),
    #[failure(code = "ERR_TIMEOUT", category = SLOW, retryable = false)]
    Timeout,
}

fn main() {
    let _ = ReadFileError::definitions();
}
