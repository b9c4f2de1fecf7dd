//! A code with a status in its name has that status, and a number belongs to one code.
use panpan_failure::Failure;

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(code = "HTTP_404", http = 500)]
    Gone,
    #[failure(code = "FILE_GONE", jsonrpc = 2404)]
    Moved,
}

fn main() {}
