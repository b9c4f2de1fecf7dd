//! The process that runs untrusted code: one request on stdin, one answer on stdout, then it ends.
//!
//! A process of its own, so that the gateway can end it and no interpreter is linked into anything
//! else. No interpreter is linked yet: every well-formed request is answered with NOT_CONFIGURED.
//! Exit 0 when the code ran, 1 when the request was refused, 2 when it could not be run at all.

mod answer;

use std::io::{self, Read, Write};
use std::process::ExitCode;

use panpan_contract::dialect::{Dialect, Envelope};
use panpan_contract::read::DOCUMENT_BYTES_LIMIT;

fn main() -> ExitCode {
    serve(io::stdin().lock(), io::stdout().lock()).map_or(ExitCode::from(2), ExitCode::from)
}

/// Answers one request and gives the exit code.
fn serve(input: impl Read, mut output: impl Write) -> io::Result<u8> {
    let mut request = Vec::new();
    // One byte more than is read as a document, so that too much is seen and not cut off.
    let bytes_limit = DOCUMENT_BYTES_LIMIT as u64 + 1;
    input.take(bytes_limit).read_to_end(&mut request)?;
    let answer = answer::answer(&request);
    let mut line = Dialect::Outcome.write_failure(&answer.failure.redacted(), Envelope::default());
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()?;
    Ok(answer.exit_code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(request: &[u8], code: &str, exit_code: u8) {
        let mut output = Vec::new();
        let exit = serve(request, &mut output).unwrap();
        assert_eq!(output.iter().filter(|byte| **byte == b'\n').count(), 1);
        let failure = Dialect::Outcome
            .parse(&output)
            .unwrap()
            .outcome
            .unwrap_err();
        assert_eq!((failure.code().as_str(), exit), (code, exit_code));
    }

    #[test]
    fn every_request_is_answered_with_one_typed_line() {
        for (request, code, exit_code) in [
            (&br#"{"code": "1 + 1"}"#[..], "NOT_CONFIGURED", 2),
            (b"", "ERR_JSON_INVALID", 1),
            (b"{bad", "ERR_JSON_INVALID", 1),
            (b"[1]", "ERR_JSON_SCHEMA_MISMATCH", 1),
            (b"{}", "ERR_JSON_SCHEMA_MISMATCH", 1),
            (br#"{"code": 7}"#, "ERR_JSON_SCHEMA_MISMATCH", 1),
        ] {
            check(request, code, exit_code);
        }
    }

    #[test]
    fn limits_hold_on_both_sides() {
        let sized = |bytes: usize| format!(r#"{{"code":"{}"}}"#, "x".repeat(bytes - 11));
        check(sized(DOCUMENT_BYTES_LIMIT).as_bytes(), "NOT_CONFIGURED", 2);
        check(
            sized(DOCUMENT_BYTES_LIMIT + 1).as_bytes(),
            "ERR_JSON_SIZE_EXCEEDED",
            1,
        );
        check("[".repeat(1000).as_bytes(), "ERR_JSON_DEPTH_EXCEEDED", 1);
    }
}
