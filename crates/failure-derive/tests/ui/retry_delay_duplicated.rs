use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(code = "QUOTA_REACHED", category = RATE_LIMIT)]
    QuotaReached {
        #[failure(retry_after_ms)]
        wait_ms: u64,
        #[failure(retry_after_ms)]
        pause_ms: u64,
    },
}

fn main() {
    let _ = ReadFileError::definitions();
}
