use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(code = "QUOTA_REACHED", category = RateLimited, retryable = true, retry_after_ms = 5)]
    QuotaReached,
    #[failure(code = "FILE_NOT_FOUND", category = "bad luck")]
    FileNotFound,
}

fn main() {
    let _ = ReadFileError::definitions();
}
