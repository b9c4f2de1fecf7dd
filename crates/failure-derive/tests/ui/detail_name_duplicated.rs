use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(code = "COPY_FAILED")]
    Copy {
        from: String,
        #[failure(rename = "from")]
        to: String,
    },
}

fn main() {
    let _ = ReadFileError::definitions();
}
