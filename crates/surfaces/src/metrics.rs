//! Counters about calls, in OpenMetrics text.
//!
//! Labels are names of operations, codes and protocols. Text that a caller can choose never becomes a label.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use arc_swap::ArcSwap;
use foldhash::{HashMap, HashSet};
use panpan_failure::Redacted;
use panpan_runtime::ports::StoreState;
use panpan_runtime::retry::OpenCircuit;
use panpan_runtime::{Answer, UNKNOWN_OPERATION};
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::gateway::Surface;

/// Upper bounds of the duration buckets, in seconds.
const BUCKETS: [f64; 12] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0, 30.0,
];

/// The label of successful calls in place of a code.
const OK: &str = "OK";

/// The counters. Clones share their values.
#[derive(Clone, Debug)]
pub(crate) struct Metrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    registry: Registry,
    families: Families,
    /// Replaced when an operation is called for the first time, otherwise only read.
    by_operation: ArcSwap<HashMap<String, Arc<OperationMetrics>>>,
    calls_in_flight: Gauge,
    connections: Gauge,
    /// In the order of [`STORE_GAUGES`].
    store: [Gauge; 4],
}

/// Gauges about the size of the store: names and descriptions.
const STORE_GAUGES: [(&str, &str); 4] = [
    ("store_bytes", "Size of the store in bytes"),
    (
        "store_limit_bytes",
        "Size limit of the store in bytes; 0 without a limit",
    ),
    (
        "store_recordings_bytes",
        "Size of the recordings in the store in bytes",
    ),
    (
        "store_full",
        "1 while the store is full and takes no new keys or recordings",
    ),
];

/// The metric families about calls. Clones share their values.
#[derive(Clone, Debug)]
struct Families {
    calls: Family<CallLabels, Counter>,
    durations: Family<OperationLabel, Histogram, fn() -> Histogram>,
    retries: Family<OperationLabel, Counter>,
    replays: Family<OperationLabel, Counter>,
    undeclared_outputs: Family<OperationLabel, Counter>,
}

/// The counters that most calls of an operation use, cached to avoid building labels. One per operation that
/// was called.
#[derive(Debug)]
struct OperationMetrics {
    operation: String,
    families: Families,
    /// Successful calls, by protocol.
    succeeded: [OnceLock<Counter>; Surface::ALL.len()],
    durations: OnceLock<Histogram>,
}

/// The labels of an ended call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    surface: Surface,
    operation: String,
    code: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OperationLabel {
    operation: String,
}

impl EncodeLabelValue for Surface {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), std::fmt::Error> {
        self.name().encode(encoder)
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let histogram: fn() -> Histogram = || Histogram::new(BUCKETS);
        let families = Families {
            calls: Family::default(),
            durations: Family::new_with_constructor(histogram),
            retries: Family::default(),
            replays: Family::default(),
            undeclared_outputs: Family::default(),
        };
        let mut inner = Inner {
            registry: Registry::with_prefix("panpan"),
            families,
            by_operation: ArcSwap::default(),
            calls_in_flight: Gauge::default(),
            connections: Gauge::default(),
            store: Default::default(),
        };
        inner.register();
        Self(Arc::new(inner))
    }
}

impl Inner {
    fn register(&mut self) {
        let (registry, families) = (&mut self.registry, &self.families);
        let calls = "Ended calls by protocol, operation and code";
        registry.register("calls", calls, families.calls.clone());
        let durations = "Duration of calls in seconds";
        registry.register(
            "call_duration_seconds",
            durations,
            families.durations.clone(),
        );
        let retries = "Attempts after the first";
        registry.register("retries", retries, families.retries.clone());
        let replays = "Calls answered with a recorded outcome";
        registry.register("replays", replays, families.replays.clone());
        let undeclared = "Delivered outputs that do not match their declared schema";
        registry.register(
            "outputs_undeclared",
            undeclared,
            families.undeclared_outputs.clone(),
        );
        let running = "Running calls and open subscriptions";
        registry.register("calls_in_flight", running, self.calls_in_flight.clone());
        let connections = "Open connections";
        registry.register("connections", connections, self.connections.clone());
        for ((name, help), gauge) in STORE_GAUGES.iter().zip(&self.store) {
            registry.register(*name, *help, gauge.clone());
        }
    }
}

impl Metrics {
    /// Starts to measure a call; `None` for an operation that does not exist.
    pub(crate) fn begin(&self, surface: Surface, operation: Option<&str>) -> CallMetrics {
        CallMetrics {
            operation: self.operation(operation.unwrap_or(UNKNOWN_OPERATION)),
            surface,
            started: Instant::now(),
        }
    }

    fn operation(&self, operation: &str) -> Arc<OperationMetrics> {
        if let Some(known) = self.0.by_operation.load().get(operation) {
            return known.clone();
        }
        let new = Arc::new(OperationMetrics {
            operation: operation.to_owned(),
            families: self.0.families.clone(),
            succeeded: Default::default(),
            durations: OnceLock::new(),
        });
        // Two threads may race here: both entries share the same counters, so either may stay.
        self.0.by_operation.rcu(|known| {
            let mut known = HashMap::clone(known);
            known.insert(operation.to_owned(), new.clone());
            known
        });
        new
    }

    /// The gauge of open connections.
    pub(crate) fn connections(&self) -> &Gauge {
        &self.0.connections
    }

    /// All metrics as text, with the current number of running calls and the state of the store.
    pub(crate) fn text(&self, running: usize, store: &StoreState) -> String {
        let running = i64::try_from(running).unwrap_or(i64::MAX);
        self.0.calls_in_flight.set(running);
        let limit = store.limit_bytes.unwrap_or_default();
        let is_full = u64::from(store.is_full);
        let values = [store.used_bytes, limit, store.recordings_bytes, is_full];
        for (gauge, value) in self.0.store.iter().zip(values) {
            gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        }
        let mut text = String::new();
        encode(&mut text, &self.0.registry).expect("writing to a string does not fail");
        text
    }
}

/// The lines of a metrics text that are about these operations or have no operation label.
pub(crate) fn only_about(text: &str, operations: &HashSet<&str>) -> String {
    let is_about = |line: &&str| match line.split_once("operation=\"") {
        Some((_, rest)) => {
            let name = rest.split('"').next().unwrap_or_default();
            name == UNKNOWN_OPERATION || operations.contains(name)
        }
        None => true,
    };
    text.split_inclusive('\n').filter(is_about).collect()
}

/// A metrics text with the circuits that are not closed. They are added per request, since each caller sees
/// only some of them.
pub(crate) fn with_circuits(text: &str, open: &[OpenCircuit]) -> String {
    let mut registry = Registry::with_prefix("panpan");
    let family = Family::<CircuitLabels, Gauge>::default();
    let help = "Circuits that are open or half open, by service and operation";
    registry.register("circuit_open", help, family.clone());
    for circuit in open {
        let operation = circuit.operation.as_ref();
        let labels = CircuitLabels {
            circuit: circuit.level.word(),
            upstream: circuit.upstream.clone(),
            operation: operation.map_or_else(String::new, ToString::to_string),
            state: circuit.state.word(),
        };
        family.get_or_create(&labels).set(1);
    }
    let mut circuits = String::new();
    encode(&mut circuits, &registry).expect("writing to a string does not fail");
    let counters = text.strip_suffix(END).unwrap_or(text);
    format!("{counters}{circuits}")
}

/// The last line of every OpenMetrics text.
const END: &str = "# EOF\n";

/// The labels of a circuit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CircuitLabels {
    circuit: &'static str,
    upstream: String,
    /// Empty for the circuit of a host.
    operation: String,
    state: &'static str,
}

/// The measurement of one call, counted when the call ends. A call whose future is dropped is not counted.
#[derive(Debug)]
pub(crate) struct CallMetrics {
    surface: Surface,
    operation: Arc<OperationMetrics>,
    started: Instant,
}

impl CallMetrics {
    /// Counts an answered call.
    pub(crate) fn answered(self, answer: &Answer) {
        let (operation, families) = (&*self.operation, &self.operation.families);
        if answer.replayed {
            families.replays.get_or_create(&operation.label()).inc();
        }
        if answer.schema_violation.is_some() {
            let undeclared = &families.undeclared_outputs;
            undeclared.get_or_create(&operation.label()).inc();
        }
        let seconds = self.started.elapsed().as_secs_f64();
        let durations = || families.durations.get_or_create_owned(&operation.label());
        operation.durations.get_or_init(durations).observe(seconds);
        let retries = answer.attempts.saturating_sub(1);
        self.ended_after(retries, answer.outcome.as_ref().err());
    }

    /// Counts a call with this many attempts after the first, without a duration.
    pub(crate) fn ended_after(self, retries: u32, failure: Option<&Redacted>) {
        if retries > 0 {
            let label = self.operation.label();
            let family = &self.operation.families.retries;
            family.get_or_create(&label).inc_by(u64::from(retries));
        }
        self.ended(failure);
    }

    /// Counts an ended call or subscription.
    pub(crate) fn ended(self, failure: Option<&Redacted>) {
        let calls = &self.operation.families.calls;
        let labels = |code: &str| CallLabels {
            surface: self.surface,
            operation: self.operation.operation.clone(),
            code: code.to_owned(),
        };
        match failure {
            Some(failure) => calls.get_or_create(&labels(failure.code().as_str())).inc(),
            None => self.operation.succeeded[self.surface as usize]
                .get_or_init(|| calls.get_or_create_owned(&labels(OK)))
                .inc(),
        };
    }
}

impl OperationMetrics {
    fn label(&self) -> OperationLabel {
        OperationLabel {
            operation: self.operation.clone(),
        }
    }
}
