use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(code = "LOGIN_FAILED", message = "{secret} is wrong")]
    Login {
        #[failure(skip)]
        secret: String,
    },
    #[failure(code = "FILE_UNREADABLE", message = "unreadable: {error}")]
    Unreadable {
        #[failure(source)]
        error: std::io::Error,
    },
}

fn main() {
    let _ = ReadFileError::definitions();
}
