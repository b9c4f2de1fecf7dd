use panpan_contract::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
struct ReadFileError {
    path: String,
}

fn main() {
    let _ = ReadFileError::definitions();
}
