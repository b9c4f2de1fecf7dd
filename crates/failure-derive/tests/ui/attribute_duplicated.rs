use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(code = "FILE_NOT_FOUND", http = 404, http = 410)]
    FileNotFound,
    #[failure(code = "FILE_LOCKED", action = "Wait")]
    #[failure(actions = ["Ask"])]
    Locked,
}

fn main() {
    let _ = ReadFileError::definitions();
}
