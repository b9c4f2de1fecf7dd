//! Waiting is a remedy exactly where the identical call may succeed later.
use panpan_failure::Failure;

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(code = "FILE_GONE", category = CLIENT_ERROR, remedy = wait)]
    Gone,
    #[failure(code = "DISK_BUSY", category = TRANSIENT, remedy = change_input)]
    Busy,
    // Whether it is retryable cannot be read, so nothing is concluded from it.
    #[failure(code = "DISK_SLOW", category = TRANSIENT, retryable = no, remedy = change_input)]
    Slow,
}

fn main() {}
