use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(code = "WRITE_CUT", effect = "aplied")]
    Cut,
}

fn main() {
    let _ = ReadFileError::definitions();
}
