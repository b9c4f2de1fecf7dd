use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure = "FILE_NOT_FOUND"]
    FileNotFound,
    #[failure]
    Locked,
    #[failure(code("FILE_ODD"), http =, "text")]
    Odd,
}

fn main() {
    let _ = ReadFileError::definitions();
}
