use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(code = "FILE_NOT_FOUND", category = "CLIENT_ERROR", retryable = true)]
    FileNotFound,
    #[failure(code = "FILE_LOCKED", http = 403, retryable = true)]
    Locked,
}

fn main() {
    let _ = ReadFileError::definitions();
}
