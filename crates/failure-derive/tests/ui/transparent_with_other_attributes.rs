use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(transparent, code = "FILE_NOT_FOUND")]
    FileNotFound(Inner),
    #[failure(transparent)]
    Two(Inner, Inner),
    #[failure(transparent)]
    None,
    #[failure(transparent)]
    Marked(#[failure(source)] Inner),
}

#[derive(Debug, Failure)]
enum Inner {
    #[failure(code = "INNER_FAILED")]
    Failed,
}

fn main() {
    let _ = ReadFileError::definitions();
}
