//! The real world behind the runtime's ports: the system's clock, random ids, the log on stderr.
//!
//! Whatever is written to stderr has passed redaction, panics too.

use std::io::Write;
use std::panic::{self, PanicHookInfo};
use std::time::Duration;

use jiff::Timestamp;
use panpan_contract::redact::Redactor;
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::{Clock, Ids, PrivateLog};
use uuid::Uuid;

/// The system's clock.
#[derive(Debug)]
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // Milliseconds are all that every reader of a timestamp understands.
        let now = Timestamp::now();
        Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
    }

    fn sleep(&self, duration_ms: u64) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(Duration::from_millis(duration_ms)))
    }
}

/// Random ids.
#[derive(Debug)]
pub(crate) struct RandomIds;

impl Ids for RandomIds {
    fn new_id(&self) -> Uuid {
        Uuid::new_v4()
    }
}

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
