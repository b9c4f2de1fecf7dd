//! What the program adds to the runtime's real world: a log on stderr.
//!
//! Whatever is written to stderr has passed redaction, panics too.

use std::io::Write;
use std::panic::{self, PanicHookInfo};

use panpan_contract::redact::Redactor;
use panpan_runtime::ports::PrivateLog;
use uuid::Uuid;

/// One line on stderr for each private cause.
#[derive(Debug)]
pub(crate) struct StderrLog;

impl PrivateLog for StderrLog {
    fn note(&self, id: Uuid, operation: &str, cause: &str) {
        // A cause of several lines stays one line of the log. When stderr is gone there is nobody
        // left to tell.
        let _ = writeln!(
            std::io::stderr(),
            "panpan: failure {id} of {operation}: {cause:?}"
        );
    }
}

/// A line on stderr for whoever runs the program.
pub(crate) fn tell(line: &str) {
    // When stderr is gone there is nobody left to tell.
    let _ = writeln!(std::io::stderr(), "panpan: {line}");
}

/// Has panics told on stderr in one line and without secrets: a handler's panic may quote its input.
pub(crate) fn keep_secrets_in_panics() {
    panic::set_hook(Box::new(|info| {
        let _ = writeln!(std::io::stderr(), "panpan: {}", told(info));
    }));
}

fn told(info: &PanicHookInfo<'_>) -> String {
    let said = info.payload_as_str().unwrap_or("without a message");
    let place = info
        .location()
        .map_or_else(String::new, |place| format!(" at {place}"));
    format!("panic{place}: {:?}", Redactor::new().text(said))
}
