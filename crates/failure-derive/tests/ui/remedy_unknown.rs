use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(code = "FILE_NOT_FOUND", remedy = [ChangeInput, "pray", ask_human])]
    FileNotFound,
    #[failure(code = "FILE_LOCKED", remedy = "wait, ask_humans")]
    Locked,
}

fn main() {
    let _ = ReadFileError::definitions();
}
