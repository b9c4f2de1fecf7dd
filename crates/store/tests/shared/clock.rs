//! A clock that stands still until a test advances it, and then wakes the sleepers whose time has come.
//!
//! It does not use tokio's paused time: a store has threads that a paused runtime does not know, so time
//! must not advance merely because the runtime is idle.

#![allow(dead_code, reason = "a test that never sleeps needs half of it")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::Clock;
use tokio::sync::watch;

/// The time that the clock starts at.
pub(crate) const START_MS: i64 = 1_800_000_000_000;

/// A clock that stands still until a test advances it.
#[derive(Debug)]
pub(crate) struct ManualClock {
    now_ms: watch::Sender<i64>,
    sleepers: Arc<Sleepers>,
}

impl ManualClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            now_ms: watch::Sender::new(START_MS),
            sleepers: Arc::default(),
        })
    }

    /// Advances the time and wakes the sleepers whose time has come.
    pub(crate) fn advance(&self, ms: u64) {
        self.now_ms.send_modify(|now| *now += ms.cast_signed());
    }

    /// How far the time was advanced.
    pub(crate) fn elapsed_ms(&self) -> u64 {
        self.now_ms().abs_diff(START_MS)
    }

    /// Waits until a task sleeps for exactly this long from now.
    pub(crate) async fn wait_for_sleep(&self, ms: u64) {
        let until_ms = self.now_ms() + ms.cast_signed();
        while !self.sleepers.any(until_ms) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Advances the time once a task sleeps for exactly this long.
    pub(crate) async fn advance_when_asleep(&self, ms: u64) {
        self.wait_for_sleep(ms).await;
        self.advance(ms);
    }

    /// Advances the time again and again, until the future is dropped.
    pub(crate) async fn advance_forever(&self) {
        loop {
            self.tick().await;
        }
    }

    /// Advances the time a little. Not too fast: a call to a database that is busy must not reach its timeout.
    pub(crate) async fn tick(&self) {
        tokio::time::sleep(Duration::from_millis(1)).await;
        self.advance(10);
    }

    fn now_ms(&self) -> i64 {
        *self.now_ms.borrow()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.now_ms()).unwrap()
    }

    fn sleep(&self, duration_ms: u64) -> BoxFuture<'static, ()> {
        let mut now_ms = self.now_ms.subscribe();
        let until_ms = self.now_ms().saturating_add_unsigned(duration_ms);
        let sleeping = self.sleepers.begin(until_ms);
        Box::pin(async move {
            let _sleeping = sleeping;
            now_ms.wait_for(|now| *now >= until_ms).await.unwrap();
        })
    }
}

/// The number of sleepers by wake-up time.
#[derive(Debug, Default)]
struct Sleepers(Mutex<BTreeMap<i64, usize>>);

impl Sleepers {
    fn begin(self: &Arc<Self>, until_ms: i64) -> Sleeping {
        self.change(|counts| *counts.entry(until_ms).or_default() += 1);
        Sleeping {
            sleepers: self.clone(),
            until_ms,
        }
    }

    fn any(&self, until_ms: i64) -> bool {
        self.change(|counts| counts.get(&until_ms).is_some_and(|count| *count > 0))
    }

    fn change<T>(&self, change: impl FnOnce(&mut BTreeMap<i64, usize>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

struct Sleeping {
    sleepers: Arc<Sleepers>,
    until_ms: i64,
}

impl Drop for Sleeping {
    fn drop(&mut self) {
        self.sleepers.change(|counts| {
            if let Some(count) = counts.get_mut(&self.until_ms) {
                *count -= 1;
            }
        });
    }
}
