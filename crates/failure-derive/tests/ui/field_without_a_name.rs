use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(code = "FILE_NOT_FOUND", message = "no file at {0}")]
    FileNotFound(String),
}

fn main() {
    let _ = ReadFileError::definitions();
}
