//! The operations of the test server.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::stream;
use panpan_contract::operation::{AccessControl, OperationSpec, OperationType, Visibility};
use panpan_failure::{Failure, codes};
use panpan_runtime::{Context, Registration, Registry};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// Observes and controls the running test operations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Probe(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    running: AtomicUsize,
    finished: AtomicUsize,
    yielded: AtomicUsize,
    changed: Notify,
    gate: Notify,
    seen: Mutex<Vec<Value>>,
}

/// Counts a running operation until it is dropped.
struct Running(Probe);

impl Running {
    fn start(probe: &Probe) -> Self {
        probe.0.running.fetch_add(1, Ordering::SeqCst);
        probe.0.changed.notify_waiters();
        Self(probe.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.0.running.fetch_sub(1, Ordering::SeqCst);
        self.0.0.changed.notify_waiters();
    }
}

impl Probe {
    /// The number of running operations.
    pub(crate) fn running(&self) -> usize {
        self.0.running.load(Ordering::SeqCst)
    }

    /// The number of finished operations.
    pub(crate) fn finished(&self) -> usize {
        self.0.finished.load(Ordering::SeqCst)
    }

    /// The number of items that streams have yielded.
    pub(crate) fn yielded(&self) -> usize {
        self.0.yielded.load(Ordering::SeqCst)
    }

    /// The inputs, callers and traces of `test/see` and `test/note`.
    pub(crate) fn seen(&self) -> Vec<Value> {
        self.0.seen.lock().unwrap().clone()
    }

    /// Lets one operation that waits at the gate continue.
    pub(crate) fn open_gate(&self) {
        self.0.gate.notify_one();
    }

    /// Waits until this many operations are running.
    pub(crate) async fn until_running(&self, count: usize) {
        self.until(|probe| probe.running() == count).await;
    }

    /// Waits until a condition is true.
    pub(crate) async fn until(&self, condition: impl Fn(&Self) -> bool) {
        let waiting = async {
            loop {
                let changed = self.0.changed.notified();
                if condition(self) {
                    return;
                }
                // Not every change notifies.
                let _ = tokio::time::timeout(std::time::Duration::from_millis(20), changed).await;
            }
        };
        tokio::time::timeout(super::TIMEOUT, waiting)
            .await
            .expect("the condition never became true");
    }
}

fn spec(name: &str, op_type: OperationType) -> OperationSpec {
    OperationSpec::new(name.parse().unwrap(), op_type)
}

/// `test/echo`, `test/typed` (requires two integers), `test/fail` (by code), `test/see` and `test/note` (record their calls), `test/hold`
/// and `test/change` (wait at the gate), `test/endless` (a stream), `test/scoped`, `test/granted`,
/// `test/hidden`, `test/hushed` (a hidden stream).
pub(crate) fn registry(probe: &Probe) -> Registry {
    let echo =
        |_: Context, input: Arc<Value>| async move { Ok::<_, Failure>(Value::clone(&input)) };
    let mut typed = spec("test/typed", OperationType::Query);
    typed.input_schema = json!({"type": "object", "required": ["n", "m"], "properties": {"n": {"type": "integer"}, "m": {"type": "integer"}}});
    let mut scoped = spec("test/scoped", OperationType::Query);
    scoped.access_control = AccessControl {
        required_scopes: vec!["tests:run".to_owned()],
        ..AccessControl::default()
    };
    let mut granted = spec("test/granted", OperationType::Query);
    granted.access_control = AccessControl {
        resource_type: Some("file".to_owned()),
        resource_action: Some("read".to_owned()),
        ..AccessControl::default()
    };
    let mut hidden = spec("test/hidden", OperationType::Query);
    hidden.visibility = Visibility::Internal;
    let registry = Registry::builder()
        .register(spec("test/echo", OperationType::Query), echo)
        .register(typed, echo)
        .register(scoped, echo)
        .register(granted, echo)
        .register(hidden, echo)
        .register(spec("test/fail", OperationType::Query), fail)
        .register(spec("test/see", OperationType::Query), see(probe))
        .register(spec("test/note", OperationType::Mutation), see(probe))
        .register(spec("test/hold", OperationType::Query), hold(probe))
        .register(spec("test/change", OperationType::Mutation), hold(probe))
        .add(endless(probe))
        .add(endless(probe).with(|spec| {
            spec.name = "test/hushed".parse().unwrap();
            spec.visibility = Visibility::Internal;
        }))
        .with_services();
    registry.build().unwrap()
}

async fn fail(_: Context, input: Arc<Value>) -> Result<Value, Failure> {
    match input["code"].as_str() {
        Some("panic") => panic!("this is the test's own panic"),
        Some("ERR_HTTP_429_RATE_LIMITED") => {
            Err(Failure::new(codes::ERR_HTTP_429_RATE_LIMITED).with_retry_after_ms(90_500))
        }
        Some("ERR_HTTP_404_NOT_FOUND") => Err(Failure::new(codes::ERR_HTTP_404_NOT_FOUND)
            .with_message("no such thing for token sk-live-abcdefghijklmnop1234567890")),
        _ => Err(Failure::new(codes::INTERNAL_ERROR)),
    }
}

fn see(probe: &Probe) -> impl panpan_runtime::Handler {
    let probe = probe.clone();
    move |context: Context, input: Arc<Value>| {
        let caller = context.caller().map(|caller| caller.id.clone());
        let trace = context.trace().map(|trace| trace.to_string());
        let seen = json!({"input": *input, "caller": caller, "trace": trace});
        probe.0.seen.lock().unwrap().push(seen.clone());
        async move { Ok::<_, Failure>(seen) }
    }
}

fn hold(probe: &Probe) -> impl panpan_runtime::Handler {
    let probe = probe.clone();
    move |_: Context, _: Arc<Value>| {
        let probe = probe.clone();
        async move {
            let _running = Running::start(&probe);
            probe.0.gate.notified().await;
            probe.0.finished.fetch_add(1, Ordering::SeqCst);
            Ok::<_, Failure>(json!({"held": true}))
        }
    }
}

/// Endless large items, produced as fast as they are read.
fn endless(probe: &Probe) -> Registration {
    let probe = probe.clone();
    let open = move |_: Context, _: Arc<Value>| {
        let probe = probe.clone();
        let running = Running::start(&probe);
        stream::unfold((0_u64, running), move |(count, running)| {
            let probe = probe.clone();
            async move {
                tokio::task::yield_now().await;
                probe.0.yielded.fetch_add(1, Ordering::SeqCst);
                let item = json!({"count": count, "padding": "x".repeat(16 * 1024)});
                Some((Ok::<_, Failure>(item), (count + 1, running)))
            }
        })
    };
    Registration::streaming(spec("test/endless", OperationType::Subscription), open)
}
