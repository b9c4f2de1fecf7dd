use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(code = "file-not-found")]
    FileNotFound,
    #[failure(code = "_X")]
    Short,
    #[failure(code = "LOCKED_")]
    Locked,
}

fn main() {
    let _ = ReadFileError::definitions();
}
