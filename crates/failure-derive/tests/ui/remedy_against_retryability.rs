//! `wait` is a remedy exactly if the code is retryable.
use panpan_failure::Failure;

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(code = "FILE_GONE", category = CLIENT_ERROR, remedy = wait)]
    Gone,
    #[failure(code = "DISK_BUSY", category = TRANSIENT, remedy = change_input)]
    Busy,
    // `retryable` cannot be parsed, so the remedy is not checked.
    #[failure(code = "DISK_SLOW", category = TRANSIENT, retryable = no, remedy = change_input)]
    Slow,
}

fn main() {}
