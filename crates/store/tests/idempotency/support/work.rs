//! A handler that acts by a script, remembers how it was called, and tells each run from the others.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use panpan_failure::Failure;
use panpan_runtime::{BoxFuture, Context, Handler};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// What one run does. A run beyond the script gives its number.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Gives its number, as `{"run": 1}`.
    Number,
    /// Gives this.
    Give(Value),
    /// Fails.
    Fail(Failure),
    /// Gives its number once it is let go on.
    Hold,
    /// Never ends.
    Hang,
    /// Panics.
    Panic,
}

/// The work behind an operation. Clones are the same work.
#[derive(Clone, Debug)]
pub(crate) struct Work(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    script: Mutex<VecDeque<Act>>,
    runs: Mutex<Vec<Run>>,
    dropped: AtomicUsize,
    gate: Semaphore,
}

/// What a run was told.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) attempt: u32,
    pub(crate) downstream_key: Option<String>,
}

impl Work {
    pub(crate) fn of(script: impl IntoIterator<Item = Act>) -> Self {
        Self(Arc::new(Inner {
            script: Mutex::new(script.into_iter().collect()),
            runs: Mutex::default(),
            dropped: AtomicUsize::new(0),
            gate: Semaphore::new(0),
        }))
    }

    /// Work without a script.
    pub(crate) fn plain() -> Self {
        Self::of([])
    }

    pub(crate) fn seen(&self) -> Vec<Run> {
        self.0.runs.lock().unwrap().clone()
    }

    pub(crate) fn runs(&self) -> usize {
        self.seen().len()
    }

    pub(crate) fn attempts(&self) -> Vec<u32> {
        self.seen().iter().map(|run| run.attempt).collect()
    }

    /// How many runs were dropped before their end.
    pub(crate) fn dropped(&self) -> usize {
        self.0.dropped.load(Ordering::SeqCst)
    }

    /// Lets one run that holds go on.
    pub(crate) fn let_go(&self) {
        self.0.gate.add_permits(1);
    }

    /// Waits until so many runs have begun.
    pub(crate) async fn began(&self, runs: usize) {
        until(|| self.runs() >= runs).await;
    }

    /// Waits until so many runs were dropped.
    pub(crate) async fn ended_early(&self, runs: usize) {
        until(|| self.dropped() >= runs).await;
    }

    fn begin(&self, context: &Context) -> (usize, Act) {
        let mut runs = self.0.runs.lock().unwrap();
        runs.push(Run {
            attempt: context.attempt(),
            downstream_key: context.downstream_key(),
        });
        let act = self.0.script.lock().unwrap().pop_front();
        (runs.len(), act.unwrap_or(Act::Number))
    }

    async fn act(self, number: usize, act: Act) -> Result<Value, Failure> {
        let ended = EndedEarly(&self.0.dropped);
        let result = match act {
            Act::Number => Ok(json!({"run": number})),
            Act::Give(output) => Ok(output),
            Act::Fail(failure) => Err(failure),
            Act::Hold => {
                self.0.gate.acquire().await.unwrap().forget();
                Ok(json!({"run": number}))
            }
            Act::Hang => std::future::pending().await,
            Act::Panic => panic!("run {number} panics"),
        };
        std::mem::forget(ended);
        result
    }
}

impl Handler for Work {
    fn call(&self, context: Context, _: Arc<Value>) -> BoxFuture<'_, Result<Arc<Value>, Failure>> {
        let (number, act) = self.begin(&context);
        let work = self.clone().act(number, act);
        Box::pin(async move { work.await.map(Arc::new) })
    }
}

struct EndedEarly<'a>(&'a AtomicUsize);

impl Drop for EndedEarly<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

async fn until(holds: impl Fn() -> bool) {
    while !holds() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
