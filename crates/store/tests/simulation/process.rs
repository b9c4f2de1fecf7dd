//! One run of a gateway: a set of tasks that crash together and stand still together.
//!
//! A crash drops every task at whatever it waits for; a stall lets none of them go on while time does.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use jiff::Timestamp;
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::{Clock, Spawn};
use panpan_runtime::testing::TestClock;
use tokio::task::JoinSet;
use tokio::time::Sleep;

use crate::environment::{Environment, LEASE_MS};
use crate::faults::{Fault, Point};

/// One run of a gateway, from its start to its crash.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) environment: Arc<Environment>,
    pub(crate) life: Arc<Life>,
    gateway: usize,
    tasks: Mutex<Option<JoinSet<()>>>,
}

/// What can be known of a process from outside.
#[derive(Debug, Default)]
pub(crate) struct Life {
    dead: AtomicBool,
    stalled_until_ms: AtomicI64,
    stalled_ms: AtomicI64,
}

impl Life {
    pub(crate) fn is_over(&self) -> bool {
        self.dead.load(Ordering::Relaxed)
    }

    /// Whether it stood still at some time after this one.
    pub(crate) fn stalled_after(&self, ms: i64) -> bool {
        self.stalled_until_ms.load(Ordering::Relaxed) > ms
    }

    /// How long it has stood still until now, all stalls together.
    pub(crate) fn stalled_ms(&self, now_ms: i64) -> i64 {
        let to_come_ms = self.stalled_until_ms.load(Ordering::Relaxed) - now_ms;
        self.stalled_ms.load(Ordering::Relaxed) - to_come_ms.max(0)
    }
}

impl Process {
    pub(crate) fn new(environment: Arc<Environment>, gateway: usize) -> Arc<Self> {
        Arc::new(Self {
            environment,
            life: Arc::default(),
            gateway,
            tasks: Mutex::new(Some(JoinSet::new())),
        })
    }

    /// Between two steps of a process: it may crash here and never go on, or stand still.
    pub(crate) async fn step(&self, point: Point) {
        if self.environment.faults.strikes(Fault::Crash(point)) {
            self.crash(point);
            std::future::pending::<()>().await;
        }
        if self.environment.faults.strikes(Fault::Stall(point)) {
            self.stall();
            tokio::task::yield_now().await;
        }
    }

    pub(crate) fn note(&self, event: std::fmt::Arguments<'_>) {
        let journal = &self.environment.journal;
        journal.note(format_args!("gateway {}: {event}", self.gateway));
    }

    pub(crate) fn crash(&self, point: Point) {
        if self.life.is_over() {
            return;
        }
        self.note(format_args!("crashes {point:?}"));
        self.end();
        self.environment.restart(self.gateway);
    }

    /// Drops every task of it, wherever they are.
    pub(crate) fn end(&self) {
        self.life.dead.store(true, Ordering::Relaxed);
        let tasks = self.tasks().take();
        drop(tasks);
    }

    pub(crate) fn stall(&self) {
        let now_ms = self.environment.journal.now_ms();
        if self.life.stalled_after(now_ms) {
            return;
        }
        let stall_ms = self
            .environment
            .faults
            .random
            .between(LEASE_MS / 2, 3 * LEASE_MS);
        self.note(format_args!("stands still for {stall_ms} ms"));
        let until_ms = now_ms + stall_ms.cast_signed();
        let Life {
            stalled_until_ms,
            stalled_ms,
            ..
        } = &*self.life;
        stalled_until_ms.store(until_ms, Ordering::Relaxed);
        stalled_ms.fetch_add(stall_ms.cast_signed(), Ordering::Relaxed);
    }

    fn tasks(&self) -> MutexGuard<'_, Option<JoinSet<()>>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Spawn for Process {
    fn spawn(&self, work: BoxFuture<'static, ()>) {
        let mut tasks = self.tasks();
        // A dead process starts nothing.
        let Some(tasks) = &mut *tasks else { return };
        while tasks.try_join_next().is_some() {}
        tasks.spawn(Freezing {
            life: self.life.clone(),
            clock: self.environment.clock,
            work,
            thaw: None,
        });
    }
}

/// Work that makes no step while its process stands still.
struct Freezing {
    life: Arc<Life>,
    clock: TestClock,
    work: BoxFuture<'static, ()>,
    thaw: Option<Pin<Box<Sleep>>>,
}

impl Future for Freezing {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<()> {
        loop {
            let now_ms = self.clock.now().as_millisecond();
            let until_ms = self.life.stalled_until_ms.load(Ordering::Relaxed);
            let Ok(left_ms @ 1..) = u64::try_from(until_ms - now_ms) else {
                self.thaw = None;
                return self.work.as_mut().poll(task);
            };
            let rest = || Box::pin(tokio::time::sleep(Duration::from_millis(left_ms)));
            ready!(self.thaw.get_or_insert_with(rest).as_mut().poll(task));
            self.thaw = None;
        }
    }
}

/// Time as a process sees it.
#[derive(Debug)]
pub(crate) struct ProcessClock(pub(crate) Arc<Process>);

impl Clock for ProcessClock {
    fn now(&self) -> Timestamp {
        self.0.environment.clock.now()
    }

    fn sleep(&self, duration_ms: u64) -> BoxFuture<'static, ()> {
        let process = self.0.clone();
        Box::pin(async move {
            process.environment.clock.sleep(duration_ms).await;
            process.step(Point::AfterSleep).await;
        })
    }
}
