use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(code = "FILE_NOT_FOUND")]
    FileNotFound,
    #[failure(code = FILE_NOT_FOUND, http = 404)]
    FolderNotFound,
}

fn main() {
    let _ = ReadFileError::definitions();
}
