//! Texts must not be blank.
use panpan_failure::Failure;

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(code = "FILE_GONE", message = "", action = "")]
    Gone,
    #[failure(code = "FILE_LOCKED", description = " ", actions = ["Close it", "   ", ""])]
    Locked,
    #[failure(code = "FILE_MOVED", alternative = "\t\n")]
    Moved {
        #[failure(rename = "")]
        place: String,
    },
}

fn main() {}
