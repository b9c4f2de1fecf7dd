//! A handler that follows a script and records its runs.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use panpan_failure::Failure;
use panpan_runtime::{BoxFuture, Context, Handler};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// What one run does. Runs after the end of the script return their number.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Returns the number of the run, such as `{"run": 1}`.
    ReturnRun,
    /// Returns this output.
    Return(Value),
    /// Fails.
    Fail(Failure),
    /// Returns the number of the run once it is unblocked.
    Block,
    /// Never ends.
    Hang,
    /// Panics.
    Panic,
}

/// A handler with a script. Clones share their state.
#[derive(Clone, Debug)]
pub(crate) struct ScriptedHandler(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    script: Mutex<VecDeque<Step>>,
    runs: Mutex<Vec<Run>>,
    dropped: AtomicUsize,
    gate: Semaphore,
}

/// The context of one run.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) attempt: u32,
    pub(crate) downstream_key: Option<String>,
}

impl ScriptedHandler {
    pub(crate) fn of(script: impl IntoIterator<Item = Step>) -> Self {
        Self(Arc::new(Inner {
            script: Mutex::new(script.into_iter().collect()),
            runs: Mutex::default(),
            dropped: AtomicUsize::new(0),
            gate: Semaphore::new(0),
        }))
    }

    /// A handler without a script.
    pub(crate) fn unscripted() -> Self {
        Self::of([])
    }

    pub(crate) fn run_log(&self) -> Vec<Run> {
        self.0.runs.lock().unwrap().clone()
    }

    pub(crate) fn runs(&self) -> usize {
        self.run_log().len()
    }

    pub(crate) fn attempts(&self) -> Vec<u32> {
        self.run_log().iter().map(|run| run.attempt).collect()
    }

    /// How many runs were dropped before they ended.
    pub(crate) fn dropped(&self) -> usize {
        self.0.dropped.load(Ordering::SeqCst)
    }

    /// Unblocks one blocked run.
    pub(crate) fn unblock(&self) {
        self.0.gate.add_permits(1);
    }

    /// Waits until this many runs have started.
    pub(crate) async fn wait_for_runs(&self, runs: usize) {
        until(|| self.runs() >= runs).await;
    }

    /// Waits until this many runs were dropped.
    pub(crate) async fn wait_for_dropped(&self, runs: usize) {
        until(|| self.dropped() >= runs).await;
    }

    fn start(&self, context: &Context) -> (usize, Step) {
        let mut runs = self.0.runs.lock().unwrap();
        runs.push(Run {
            attempt: context.attempt(),
            downstream_key: context.downstream_key(),
        });
        let step = self.0.script.lock().unwrap().pop_front();
        (runs.len(), step.unwrap_or(Step::ReturnRun))
    }

    async fn run(self, number: usize, step: Step) -> Result<Value, Failure> {
        let guard = CountDropped(&self.0.dropped);
        let result = match step {
            Step::ReturnRun => Ok(json!({"run": number})),
            Step::Return(output) => Ok(output),
            Step::Fail(failure) => Err(failure),
            Step::Block => {
                self.0.gate.acquire().await.unwrap().forget();
                Ok(json!({"run": number}))
            }
            Step::Hang => std::future::pending().await,
            Step::Panic => panic!("run {number} panics"),
        };
        std::mem::forget(guard);
        result
    }
}

impl Handler for ScriptedHandler {
    fn call(&self, context: Context, _: Arc<Value>) -> BoxFuture<'_, Result<Arc<Value>, Failure>> {
        let (number, step) = self.start(&context);
        let run = self.clone().run(number, step);
        Box::pin(async move { run.await.map(Arc::new) })
    }
}

struct CountDropped<'a>(&'a AtomicUsize);

impl Drop for CountDropped<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
