//! A code that names a status has that one, and its number is no other code's.
use panpan_failure::Failure;

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(code = "HTTP_404", http = 500)]
    Gone,
    #[failure(code = "FILE_GONE", jsonrpc = 2404)]
    Moved,
}

fn main() {}
