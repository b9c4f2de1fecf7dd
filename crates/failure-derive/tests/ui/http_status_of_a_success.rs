use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(code = "FILE_NOT_FOUND", http = 399)]
    FileNotFound,
    #[failure(code = "FILE_LOCKED", http = 600)]
    Locked,
    #[failure(code = "FILE_ODD", http = 99999)]
    Odd,
}

fn main() {
    let _ = ReadFileError::definitions();
}
