//! What is counted about calls, in the form Prometheus reads.
//!
//! Labels are names of operations, codes and protocols, which are few; nothing a caller can make up
//! becomes one.

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

/// Upper bounds of the buckets of durations, in seconds.
const BUCKETS: [f64; 12] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0, 30.0,
];

/// What a call that succeeded is counted under in place of a code.
const OK: &str = "OK";

/// The counters. Clones are the same counters.
#[derive(Clone, Debug)]
pub(crate) struct Metrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    registry: Registry,
    families: Families,
    /// Replaced when an operation is called for the first time, and otherwise only read.
    by_operation: ArcSwap<HashMap<String, Arc<OfOperation>>>,
    running: Gauge,
    connections: Gauge,
    store: StoreGauges,
}

/// What is known about the room in the store.
#[derive(Debug, Default)]
struct StoreGauges {
    bytes: Gauge,
    limit: Gauge,
    recordings: Gauge,
    is_full: Gauge,
}

/// What is counted about calls. Clones are the same counters.
#[derive(Clone, Debug)]
struct Families {
    calls: Family<Ended, Counter>,
    durations: Family<Of, Histogram, fn() -> Histogram>,
    retried: Family<Of, Counter>,
    replayed: Family<Of, Counter>,
    undeclared: Family<Of, Counter>,
}

/// What most calls of an operation are counted in, found without making labels. There is one for each
/// operation that was ever called.
#[derive(Debug)]
struct OfOperation {
    operation: String,
    families: Families,
    /// Those that succeeded, by protocol.
    succeeded: [OnceLock<Counter>; Surface::ALL.len()],
    durations: OnceLock<Histogram>,
}

/// How a call ended, and by which protocol it came.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    surface: Surface,
    operation: String,
    code: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Of {
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
            retried: Family::default(),
            replayed: Family::default(),
            undeclared: Family::default(),
        };
        let mut inner = Inner {
            registry: Registry::with_prefix("panpan"),
            families,
            by_operation: ArcSwap::default(),
            running: Gauge::default(),
            connections: Gauge::default(),
            store: StoreGauges::default(),
        };
        inner.register();
        Self(Arc::new(inner))
    }
}

impl Inner {
    fn register(&mut self) {
        let (registry, families) = (&mut self.registry, &self.families);
        let calls = "Calls that ended, by protocol, operation and code";
        registry.register("calls", calls, families.calls.clone());
        let durations = "How long calls took, in seconds";
        registry.register(
            "call_duration_seconds",
            durations,
            families.durations.clone(),
        );
        let retried = "Attempts beyond the first";
        registry.register("retries", retried, families.retried.clone());
        let replayed = "Calls answered with an outcome that was there already";
        registry.register("replays", replayed, families.replayed.clone());
        let undeclared = "Outputs that were delivered though they break their declared schema";
        registry.register(
            "outputs_undeclared",
            undeclared,
            families.undeclared.clone(),
        );
        let running = "Calls and subscriptions that are running";
        registry.register("calls_in_flight", running, self.running.clone());
        let connections = "Connections that are open";
        registry.register("connections", connections, self.connections.clone());
        for (name, help, gauge) in [
            (
                "store_bytes",
                "What is kept in the store, in bytes",
                &self.store.bytes,
            ),
            (
                "store_limit_bytes",
                "How much may be kept; 0 without a limit",
                &self.store.limit,
            ),
            (
                "store_recordings_bytes",
                "What recordings take of it",
                &self.store.recordings,
            ),
            (
                "store_full",
                "1 while the store takes no new keys and no recordings",
                &self.store.is_full,
            ),
        ] {
            registry.register(name, help, gauge.clone());
        }
    }
}

impl Metrics {
    /// Counts a call that begins, of an operation there is or of one there is not.
    pub(crate) fn begin(&self, surface: Surface, operation: Option<&str>) -> Counted {
        Counted {
            of: self.of(operation.unwrap_or(UNKNOWN_OPERATION)),
            surface,
            began: Instant::now(),
        }
    }

    fn of(&self, operation: &str) -> Arc<OfOperation> {
        if let Some(of) = self.0.by_operation.load().get(operation) {
            return of.clone();
        }
        let made = Arc::new(OfOperation {
            operation: operation.to_owned(),
            families: self.0.families.clone(),
            succeeded: Default::default(),
            durations: OnceLock::new(),
        });
        // Of two who meet here the counters are the same, whichever is kept.
        self.0.by_operation.rcu(|known| {
            let mut known = HashMap::clone(known);
            known.insert(operation.to_owned(), made.clone());
            known
        });
        made
    }

    /// Connections that are open.
    pub(crate) fn connections(&self) -> &Gauge {
        &self.0.connections
    }

    /// All of it, as text, while so many calls and subscriptions are running and this is in the store.
    pub(crate) fn text(&self, running: usize, store: &StoreState) -> String {
        let running = i64::try_from(running).unwrap_or(i64::MAX);
        self.0.running.set(running);
        self.0.store.set(store);
        let mut text = String::new();
        encode(&mut text, &self.0.registry).expect("writing to a string does not fail");
        text
    }
}

impl StoreGauges {
    fn set(&self, state: &StoreState) {
        let bytes = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        self.bytes.set(bytes(state.used_bytes));
        self.limit.set(bytes(state.limit_bytes.unwrap_or_default()));
        self.recordings.set(bytes(state.recordings_bytes));
        self.is_full.set(i64::from(state.is_full));
    }
}

/// The lines of a text that are about these operations, or about none in particular.
pub(crate) fn about(text: &str, operations: &HashSet<&str>) -> String {
    let is_about = |line: &&str| match line.split_once("operation=\"") {
        Some((_, rest)) => {
            let name = rest.split('"').next().unwrap_or_default();
            name == UNKNOWN_OPERATION || operations.contains(name)
        }
        None => true,
    };
    text.split_inclusive('\n').filter(is_about).collect()
}

/// A text with circuits that are not closed. They are added for each caller anew: what is open now is no
/// count, and not for everyone to see.
pub(crate) fn with_circuits(text: &str, open: &[OpenCircuit]) -> String {
    let mut registry = Registry::with_prefix("panpan");
    let family = Family::<NotClosed, Gauge>::default();
    let help = "Circuits that are open or half open, by service and operation";
    registry.register("circuit_open", help, family.clone());
    for circuit in open {
        family.get_or_create(&NotClosed::of(circuit)).set(1);
    }
    let mut circuits = String::new();
    encode(&mut circuits, &registry).expect("writing to a string does not fail");
    let counts = text.strip_suffix(END).unwrap_or(text);
    format!("{counts}{circuits}")
}

/// The last line of every text.
const END: &str = "# EOF\n";

/// Which circuit, and what it lets through.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct NotClosed {
    circuit: &'static str,
    upstream: String,
    /// Empty for the circuit of a host.
    operation: String,
    state: &'static str,
}

impl NotClosed {
    fn of(open: &OpenCircuit) -> Self {
        let operation = open.operation.as_ref();
        Self {
            circuit: open.level.word(),
            upstream: open.upstream.clone(),
            operation: operation.map_or_else(String::new, ToString::to_string),
            state: open.state.word(),
        }
    }
}

/// A call that is counted when it ends; one that is given up half-way is not.
#[derive(Debug)]
pub(crate) struct Counted {
    surface: Surface,
    of: Arc<OfOperation>,
    began: Instant,
}

impl Counted {
    /// Counts how a call was answered.
    pub(crate) fn answered(self, answer: &Answer) {
        let metrics = &self.of.families;
        if answer.replayed {
            metrics.replayed.get_or_create(&self.of.label()).inc();
        }
        if !answer.as_declared {
            metrics.undeclared.get_or_create(&self.of.label()).inc();
        }
        if answer.attempts > 1 {
            let beyond = u64::from(answer.attempts - 1);
            let retried = metrics.retried.get_or_create(&self.of.label());
            retried.inc_by(beyond);
        }
        let took = self.began.elapsed().as_secs_f64();
        let durations = || metrics.durations.get_or_create_owned(&self.of.label());
        self.of.durations.get_or_init(durations).observe(took);
        self.ended(answer.outcome.as_ref().err());
    }

    /// Counts how a call or a subscription ended.
    pub(crate) fn ended(self, failure: Option<&Redacted>) {
        let calls = &self.of.families.calls;
        let ended = |code: &str| Ended {
            surface: self.surface,
            operation: self.of.operation.clone(),
            code: code.to_owned(),
        };
        match failure {
            Some(failure) => calls.get_or_create(&ended(failure.code().as_str())).inc(),
            None => self.of.succeeded[self.surface as usize]
                .get_or_init(|| calls.get_or_create_owned(&ended(OK)))
                .inc(),
        };
    }
}

impl OfOperation {
    fn label(&self) -> Of {
        Of {
            operation: self.operation.clone(),
        }
    }
}
