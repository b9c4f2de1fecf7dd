use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(transparent)]
    Io(std::io::Error),
}

fn main() {
    let _ = ReadFileError::definitions();
}
