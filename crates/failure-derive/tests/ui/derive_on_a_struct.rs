use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
struct ReadFileError {
    path: String,
}

fn main() {
    let _ = ReadFileError::definitions();
}
