//! One process of a gateway: a set of tasks that crash together and stall together.
//!
//! A crash drops every task at its current await point; a stall stops all tasks while time goes on.

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

/// One process of a gateway, from its start to its crash.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) environment: Arc<Environment>,
    pub(crate) state: Arc<ProcessState>,
    gateway: usize,
    tasks: Mutex<Option<JoinSet<()>>>,
}

/// The state of a process as seen from outside.
#[derive(Debug, Default)]
pub(crate) struct ProcessState {
    dead: AtomicBool,
    stalled_until_ms: AtomicI64,
    stalled_ms: AtomicI64,
}

impl ProcessState {
    pub(crate) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Relaxed)
    }

    /// Whether the process was stalled at some time after this one.
    pub(crate) fn stalled_after(&self, ms: i64) -> bool {
        self.stalled_until_ms.load(Ordering::Relaxed) > ms
    }

    /// The total time that the process has been stalled.
    pub(crate) fn stalled_ms(&self, now_ms: i64) -> i64 {
        let to_come_ms = self.stalled_until_ms.load(Ordering::Relaxed) - now_ms;
        self.stalled_ms.load(Ordering::Relaxed) - to_come_ms.max(0)
    }
}

impl Process {
    pub(crate) fn new(environment: Arc<Environment>, gateway: usize) -> Arc<Self> {
        Arc::new(Self {
            environment,
            state: Arc::default(),
            gateway,
            tasks: Mutex::new(Some(JoinSet::new())),
        })
    }

    /// A point between two steps, where the process may crash or stall.
    pub(crate) async fn step(&self, point: Point) {
        if self.environment.faults.occurs(Fault::Crash(point)) {
            self.crash(point);
            std::future::pending::<()>().await;
        }
        if self.environment.faults.occurs(Fault::Stall(point)) {
            self.stall();
            tokio::task::yield_now().await;
        }
    }

    pub(crate) fn note(&self, event: std::fmt::Arguments<'_>) {
        let journal = &self.environment.journal;
        journal.note(format_args!("gateway {}: {event}", self.gateway));
    }

    pub(crate) fn crash(&self, point: Point) {
        if self.state.is_dead() {
            return;
        }
        self.note(format_args!("crashes {point:?}"));
        self.end();
        self.environment.restart(self.gateway);
    }

    /// Drops all tasks.
    pub(crate) fn end(&self) {
        self.state.dead.store(true, Ordering::Relaxed);
        let tasks = self.tasks().take();
        drop(tasks);
    }

    pub(crate) fn stall(&self) {
        let now_ms = self.environment.journal.now_ms();
        if self.state.stalled_after(now_ms) {
            return;
        }
        let stall_ms = self
            .environment
            .faults
            .random
            .between(LEASE_MS / 2, 3 * LEASE_MS);
        self.note(format_args!("stalls for {stall_ms} ms"));
        let until_ms = now_ms + stall_ms.cast_signed();
        let ProcessState {
            stalled_until_ms,
            stalled_ms,
            ..
        } = &*self.state;
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
        // A crashed process starts no tasks.
        let Some(tasks) = &mut *tasks else { return };
        while tasks.try_join_next().is_some() {}
        tasks.spawn(Stallable {
            state: self.state.clone(),
            clock: self.environment.clock,
            work,
            resume: None,
        });
    }
}

/// A task that makes no progress while its process is stalled.
struct Stallable {
    state: Arc<ProcessState>,
    clock: TestClock,
    work: BoxFuture<'static, ()>,
    resume: Option<Pin<Box<Sleep>>>,
}

impl Future for Stallable {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<()> {
        loop {
            let now_ms = self.clock.now().as_millisecond();
            let until_ms = self.state.stalled_until_ms.load(Ordering::Relaxed);
            let Ok(left_ms @ 1..) = u64::try_from(until_ms - now_ms) else {
                self.resume = None;
                return self.work.as_mut().poll(task);
            };
            let wait = || Box::pin(tokio::time::sleep(Duration::from_millis(left_ms)));
            ready!(self.resume.get_or_insert_with(wait).as_mut().poll(task));
            self.resume = None;
        }
    }
}

/// The clock of a process.
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
