use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(code = "NOT_FOUND", http = 404)]
    FileNotFound,
    #[failure(code = TIMEOUT)]
    Timeout,
}

fn main() {
    let _ = ReadFileError::definitions();
}
