use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(code = "FILE_NOT_FOUND", http_status = 404, mesage = "gone")]
    FileNotFound {
        #[failure(renamed = "file")]
        path: String,
    },
    #[failure(code = "FILE_LOCKED", colour = "red")]
    Locked,
}

fn main() {
    let _ = ReadFileError::definitions();
}
