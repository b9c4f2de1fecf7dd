use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(code = "FILE_UNREADABLE", category = TRANSIENT)]
    Unreadable {
        #[failure(source, skip, rename = "cause", retry_after_ms)]
        error: std::io::Error,
    },
}

fn main() {
    let _ = ReadFileError::definitions();
}
