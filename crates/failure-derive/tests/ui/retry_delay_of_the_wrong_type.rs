use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(code = "QUOTA_REACHED", category = RATE_LIMIT)]
    QuotaReached {
        #[failure(retry_after_ms)]
        wait: String,
    },
}

fn main() {
    let _ = ReadFileError::definitions();
}
