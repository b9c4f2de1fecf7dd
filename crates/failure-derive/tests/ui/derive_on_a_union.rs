use panpan_failure::{DeclareFailures, Failure};

#[derive(Failure)]
#[failure(no_display)]
union ReadFileError {
    number: u32,
}

fn main() {
    let _ = ReadFileError::definitions();
}
