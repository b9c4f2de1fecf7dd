use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(code = "FILE_NOT_FOUND", remedy = [])]
    FileNotFound,
    #[failure(code = "FILE_LOCKED", remedy = "")]
    Locked,
}

fn main() {
    let _ = ReadFileError::definitions();
}
