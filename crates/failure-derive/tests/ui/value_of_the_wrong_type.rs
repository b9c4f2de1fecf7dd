use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(code = 404, http = "404", retryable = "yes", category = 4, message = gone, action = 7)]
    FileNotFound,
    #[failure(code = "FILE_LOCKED", retry_after_ms = 1.5, description)]
    Locked {
        #[failure(skip = true)]
        path: String,
    },
    #[failure(transparent = true)]
    Other(Infallible),
}

#[derive(Debug, Failure)]
enum Infallible {
    #[failure(code = "NEVER_SEEN")]
    Never,
}

fn main() {
    let _ = ReadFileError::definitions();
}
