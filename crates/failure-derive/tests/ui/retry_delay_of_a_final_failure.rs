use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(code = "FILE_NOT_FOUND", http = 404, retry_after_ms = 100)]
    FileNotFound,
    #[failure(code = "ERR_HTTP_403_FORBIDDEN")]
    Forbidden {
        #[failure(retry_after_ms)]
        wait_ms: u64,
    },
}

fn main() {
    let _ = ReadFileError::definitions();
}
