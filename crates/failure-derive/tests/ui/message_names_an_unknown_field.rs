use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(code = "FILE_NOT_FOUND", message = "no file at {paht} on {host}")]
    FileNotFound { path: String },
    #[failure(code = "FILE_LOCKED", message = "locked by {0}")]
    Locked,
}

fn main() {
    let _ = ReadFileError::definitions();
}
