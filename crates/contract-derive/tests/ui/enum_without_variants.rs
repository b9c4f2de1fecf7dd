use panpan_contract::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {}

fn main() {
    let _ = ReadFileError::definitions();
}
