use panpan_failure::{DeclareFailures, Failure};

#[derive(Debug, Failure)]
enum ReadFileError {
    #[failure(code = "ERR_TIMEOUT", category = NETWORK, retryable = false, remedy = "ask_human", jsonrpc = 1001)]
    Timeout,
    #[failure(code = "HTTP_404", category = CLIENT_ERROR, retryable = true)]
    Missing,
}

fn main() {
    let _ = ReadFileError::definitions();
}
