use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {}

fn main() {
    let _ = ReadFileError::definitions();
}
