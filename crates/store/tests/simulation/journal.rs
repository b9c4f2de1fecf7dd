//! The journal of a run: one line per event.
//!
//! Contains nothing that depends on the machine: two runs with the same seed write the same bytes.

use std::fmt::{self, Write as _};
use std::sync::{Mutex, PoisonError};

use panpan_runtime::ports::Clock as _;
use panpan_runtime::testing::TestClock;
use uuid::Uuid;

/// The journal of a run.
#[derive(Debug)]
pub(crate) struct Journal {
    clock: TestClock,
    text: Mutex<String>,
}

impl Journal {
    pub(crate) fn new(clock: TestClock) -> Self {
        Self {
            clock,
            text: Mutex::default(),
        }
    }

    /// The current time in milliseconds since the start of the run.
    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now().as_millisecond()
    }

    pub(crate) fn note(&self, event: fmt::Arguments<'_>) {
        let now_ms = self.now_ms();
        let mut text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(text, "{now_ms} {event}").unwrap();
    }

    pub(crate) fn take(&self) -> String {
        let mut text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *text)
    }
}

/// The short form of a call id.
pub(crate) fn short(call: Uuid) -> String {
    format!("{:08x}", call.as_u128() >> 96)
}
