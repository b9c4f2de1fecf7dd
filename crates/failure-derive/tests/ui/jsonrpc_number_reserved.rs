use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(code = "FILE_NOT_FOUND", jsonrpc = -32601)]
    FileNotFound,
}

fn main() {
    let _ = ReadFileError::definitions();
}
