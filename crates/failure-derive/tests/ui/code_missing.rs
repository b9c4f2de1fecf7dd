use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(http = 404)]
    FileNotFound { path: String },
    Locked,
}

fn main() {
    let _ = ReadFileError::definitions();
}
