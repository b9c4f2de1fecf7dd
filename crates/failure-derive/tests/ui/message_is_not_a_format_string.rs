use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(code = "FILE_A", message = "no file at {}")]
    A { path: String },
    #[failure(code = "FILE_B", message = "no file at {path")]
    B { path: String },
    #[failure(code = "FILE_C", message = "{path.len()} bytes")]
    C { path: String },
    #[failure(code = "FILE_D", message = "{path:>width$}")]
    D { path: String, width: usize },
}

fn main() {
    let _ = ReadFileError::definitions();
}
