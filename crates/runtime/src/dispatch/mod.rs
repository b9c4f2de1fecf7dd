//! The pipeline that every call from every protocol goes through. Each stage is one file.
//!
//! ```text
//! decode → options → resolve → authorize → validate → claim → { attempt → stamp → redact → settle → decide }* → advise → record
//!                       └─────────┴───────────┴─────────┴────→ stamp → redact → settle → advise → failure
//! ```
//!
//! `decode` belongs to the protocols, which build a `CallRequest` (`request`). `options` is `input_options`,
//! for the few operations with options in their input. `claim` asks the store through `claim_in_store`. The
//! braces are the only loop, `attempt_loop`; `decide` is `retry::decide`. `record` covers calls without a key,
//! `record_keyed` calls with one.
//!
//! Each stage consumes the type that the previous stage returned and returns the next one. Only its own
//! stage can construct a type, so the compiler enforces the order. A refusal skips ahead to stamp, a
//! replay to the answer. Stamp comes before redact because it adds the parameters, and the redactor
//! learns secrets from them.
//!
//! When the caller leaves, a call without a key stops. A call that holds a key continues until its
//! outcome is recorded; only an abort stops it.

mod advise;
mod answer;
mod argument_order;
mod attempt;
mod attempt_loop;
mod authorize;
mod circuit_refusal;
mod claim;
mod claim_in_store;
mod correction;
mod failure_streaks;
mod input_options;
mod keyed;
mod maintain;
mod raised;
mod record;
mod record_keyed;
mod recover;
mod redact;
mod repeated_failures;
mod repetition;
mod replay;
mod request;
mod resolve;
mod settle;
mod stamp;
mod subscribe;
mod task;
#[cfg(test)]
mod tests;
mod validate;
mod whole_numbers;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use jiff::Timestamp;
use panpan_contract::recording::RecordedOutcome;
use panpan_failure::{Code, Failure, Redacted, codes};
use tokio::sync::watch;

use crate::idempotency::IdempotencyKey;
use crate::identity::Identity;
use crate::lock::lock;
use crate::ports::{Calls, Counts, Fingerprint, Ports, Scope, StoreState};
use crate::registry::{Operation, Registry};
use crate::retry::OpenCircuit;
use crate::settings::Settings;
use advise::Retention;
pub(crate) use attempt_loop::output_violation;
use claim::{KeyCheck, check_key};
use failure_streaks::FailureStreaks;
use keyed::RunningCalls;
use raised::Raised;
use repeated_failures::RepeatedFailures;
use validate::{Expected, Validated};

pub use answer::{Answer, TaskAttempt};
pub(crate) use attempt::worse;
pub(crate) use claim::is_harmless;
pub(crate) use request::Call;
pub use request::{CALL_DEPTH_LIMIT, CallRequest, InFlight, Origin, TaskState};
pub use resolve::{operation_not_found, similar_names};
pub use stamp::{GATEWAY, PARAMETERS_BYTES_LIMIT};
pub use subscribe::Subscription;
pub use validate::{DEFAULT_CALL_TIMEOUT_MS, DEFAULT_PATIENCE_MS, DEFAULT_TIMEOUT_MS};

/// The name under which calls of unknown operations are counted.
pub const UNKNOWN_OPERATION: &str = "(unknown)";

/// A call that was neither retried nor replayed.
const ONE_CALL: Calls = Calls {
    calls: 1,
    retried: 0,
    replayed: 0,
};

/// The minimum time to wait for the store, even when the deadline of the call is sooner.
const STORE_PATIENCE_MS: u64 = 2000;

/// Takes calls through the stages. Clones share their state.
#[derive(Clone, Debug)]
pub struct Dispatcher(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    registry: ArcSwap<Registry>,
    /// Notifies subscribers that the registry was replaced.
    changed: watch::Sender<()>,
    /// Replaced registries whose operations may still be running.
    retired: Mutex<Vec<Arc<Registry>>>,
    ports: Ports,
    settings: Settings,
    /// Calls that the store does not know yet.
    tally: Mutex<Counts>,
    repeated_failures: RepeatedFailures,
    streaks: FailureStreaks,
    running: RunningCalls,
    /// Keys whose outcome is known but not stored yet, with the fingerprint of their input.
    unwritten: Mutex<BTreeMap<Scope, Fingerprint>>,
}

impl Dispatcher {
    /// A dispatcher with default settings.
    pub fn new(registry: Registry, ports: Ports) -> Self {
        Self::with_settings(registry, ports, Settings::default())
    }

    /// A dispatcher with these settings; leases and retention that are too short for keys are raised.
    pub fn with_settings(registry: Registry, ports: Ports, settings: Settings) -> Self {
        Self(Arc::new(Inner {
            registry: ArcSwap::from_pointee(registry),
            changed: watch::Sender::new(()),
            retired: Mutex::default(),
            ports,
            settings: settings.corrected(),
            tally: Mutex::default(),
            repeated_failures: RepeatedFailures::default(),
            streaks: FailureStreaks::default(),
            running: RunningCalls::default(),
            unwritten: Mutex::default(),
        }))
    }

    /// The current registry.
    pub fn registry(&self) -> Arc<Registry> {
        self.0.registry.load_full()
    }

    /// Reads the current registry without keeping a reference to it.
    pub fn with_registry<T>(&self, read: impl FnOnce(&Registry) -> T) -> T {
        read(&self.0.registry.load())
    }

    /// Replaces the registry; running calls finish with the operations they started with.
    pub fn replace(&self, registry: Registry) {
        let before = self.0.registry.swap(Arc::new(registry));
        lock(&self.0.retired).push(before);
        self.0.changed.send_replace(());
    }

    /// Notifies each time the registry is replaced.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }

    /// The external operations that this caller may call, ordered by name.
    pub fn callable(&self, caller: Option<&Identity>) -> Vec<Arc<Operation>> {
        let registry = self.0.registry.load();
        let external = registry.operations().filter(|it| it.is_external());
        external.filter(|it| it.admits(caller)).cloned().collect()
    }

    /// The circuits of these operations and their hosts that are not closed.
    pub fn open_circuits(&self, of: impl Fn(&Operation) -> bool) -> Vec<OpenCircuit> {
        let now = self.ports().clock.now();
        let registry = self.0.registry.load();
        let operations = registry.operations().filter(|operation| of(operation));
        let upstreams = operations.filter_map(|operation| operation.upstream());
        let mut open: Vec<_> = upstreams.flat_map(|it| it.open_circuits(now)).collect();
        let identity = |it: &OpenCircuit| (it.upstream.clone(), it.level, it.operation.clone());
        open.sort_by_key(identity);
        open.dedup_by_key(|it| identity(it));
        open
    }

    /// How much space the store uses, and its limits.
    pub fn store_state(&self) -> StoreState {
        self.ports().outcomes.state()
    }

    /// Runs one call.
    ///
    /// Refuses with NOT_FOUND, FORBIDDEN, INVALID_OPERATION_TYPE, INVALID_INPUT and the codes of the
    /// stage `claim`; adds TIMEOUT, ERR_OUTCOME_UNKNOWN, ERR_CANCELLED, ERR_CIRCUIT_OPEN and INTERNAL to
    /// the failures of the handler. Retryable failures are retried first.
    pub async fn dispatch(&self, request: CallRequest) -> Answer {
        let call = self.begin(request);
        let validated = match self.resolve_authorize_validate(call.clone(), Expected::Answer) {
            Ok(validated) => validated,
            Err(raised) => return self.refuse(raised, &call),
        };
        match check_key(validated) {
            Ok(KeyCheck::Unkeyed(claimed)) => self.record(attempt_loop::run(self, claimed).await),
            Ok(KeyCheck::Keyed(keyed)) => self.dispatch_keyed(keyed).await,
            Err(raised) => self.refuse(raised, &call),
        }
    }

    /// Opens a subscription.
    pub fn subscribe(&self, request: CallRequest) -> Result<Subscription, Redacted> {
        let call = self.begin(request);
        match self.resolve_authorize_validate(call.clone(), Expected::Stream) {
            Ok(validated) => Ok(Subscription::open(self.clone(), validated)),
            Err(raised) => Err(self.refused(raised, &call)),
        }
    }

    /// Rejects a call that its protocol could not decode or the gateway could not admit. The failure is
    /// stamped, redacted and recorded like any other.
    pub fn reject(&self, request: CallRequest, failure: Failure) -> Answer {
        let call = self.begin(request);
        let operation = call.named.clone();
        let operation = operation.filter(|it| resolve::is_visible(it, &call.origin));
        self.refuse(Raised::refusal(failure, operation), &call)
    }

    /// Generates a key for a call that has none. If the outcome is unknown, the failure names the key;
    /// repeating the call with it returns the recorded outcome.
    pub fn new_key(&self) -> IdempotencyKey {
        claim::generated_key(self.ports().ids.new_id())
    }

    pub(crate) fn ports(&self) -> &Ports {
        &self.0.ports
    }

    /// Counts calls until they are stored.
    fn count(&self, operation: &str, code: Option<&Code>, at: Timestamp, calls: Calls) {
        lock(&self.0.tally).add(operation, code, at, calls);
    }

    /// Assigns an id and a time to a decoded request, names its arguments, and applies the options in its input.
    fn begin(&self, mut request: CallRequest) -> Arc<Call> {
        let ports = self.ports();
        let named = self.0.registry.load().get(&request.operation).cloned();
        // The input of an operation that the caller cannot see stays as it is: a change would show that it exists.
        let visible = named
            .as_deref()
            .filter(|it| resolve::is_visible(it, &request.origin));
        let surplus = argument_order::name_arguments(visible, &mut request);
        let mut options = input_options::take_input_options(visible, &mut request);
        options.violations.extend(surplus);
        whole_numbers::rewrite_whole_numbers(visible, &mut request);
        let (id, now) = (ports.ids.new_id(), ports.clock.now());
        Arc::new(Call::of(request, named, options, id, now))
    }

    fn resolve_authorize_validate(
        &self,
        call: Arc<Call>,
        expected: Expected,
    ) -> Result<Validated, Raised> {
        let resolved = resolve::resolve(call, || self.registry())?;
        let authorized = authorize::authorize(resolved)?;
        validate::validate(authorized, expected)
    }

    /// Answers a call whose handler did not run.
    fn refuse(&self, raised: Raised, call: &Call) -> Answer {
        Answer::new(call.id, Err(self.refused(raised, call)))
    }

    fn refused(&self, raised: Raised, call: &Call) -> Redacted {
        let known = raised.operation.is_some();
        let failure = self.refusal_of(raised, call);
        let operation = failure.operation().filter(|_| known);
        let operation = operation.unwrap_or(UNKNOWN_OPERATION);
        self.count(operation, Some(failure.code()), call.at, ONE_CALL);
        let is_known = known && failure.code().as_str() != codes::FORBIDDEN.code;
        // Recording calls that anyone can make up would let anyone fill the store.
        let is_noise = call.caller.is_none() && !is_known;
        if !is_noise && !call.unrecorded && !self.is_only_counted(operation, &failure, call) {
            let name = failure.operation().unwrap_or_default().to_owned();
            let outcome = RecordedOutcome::Failed(failure.clone());
            self.note(record::recording(call, name, outcome));
        }
        failure
    }

    /// The final failure of a call: stamped, redacted, settled, and with advice for the caller.
    fn refusal_of(&self, raised: Raised, call: &Call) -> Redacted {
        let operation = raised.operation.clone();
        let failure = self.stamp_redact_settle(raised, call, self.ports().clock.now());
        self.advise(failure, operation.as_deref(), call, Retention::NotKept)
    }

    /// Takes a failure through these three stages and logs its private cause.
    fn stamp_redact_settle(&self, raised: Raised, call: &Call, at: Timestamp) -> Redacted {
        let ports = self.ports();
        let stamped = stamp::stamp(raised, call, &*ports.ids, at);
        let cleaned = redact::redact(stamped, call);
        let (failure, private_cause) = settle::settle(cleaned, self.0.settings.strict);
        if let (Some(id), Some(cause)) = (failure.id(), &private_cause) {
            let operation = failure.operation().unwrap_or_default();
            ports.log.note(id, operation, cause);
        }
        failure
    }
}
