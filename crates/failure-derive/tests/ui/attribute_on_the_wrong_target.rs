use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
#[failure(code = "FILE_NOT_FOUND")]
enum ReadFileError {
    #[failure(code = "FILE_NOT_FOUND", skip, no_display)]
    FileNotFound {
        #[failure(message = "gone")]
        path: String,
    },
}

fn main() {
    let _ = ReadFileError::definitions();
}
