//! The one way through the dispatcher, for every call from every protocol.
//!
//! ```text
//! resolve → authorize → validate → claim → { attempt → stamp → redact → settle → decide }* → record
//!     └─────────┴───────────┴────────┴──────→ stamp → redact → settle → failure
//! ```
//!
//! Each room consumes what the room before gave and returns the next type, whose fields no other room
//! can make: the order is a fact of compilation. A refusal drops forward to stamp; a replay drops
//! forward to the answer; nothing climbs, and the braces are the only loop (`perform`). Stamping comes
//! before redaction, because a secret among the parameters has to be known before the message can be
//! cleaned of it.
//!
//! When a caller goes away, work without a key stops; work that holds a key goes on to its record, and
//! only an abort stops it.

mod advise;
mod answer;
mod ask;
mod attempt;
mod authorize;
mod circuit;
mod claim;
mod correction;
mod keep;
mod keyed;
mod perform;
mod raised;
mod record;
mod recover;
mod redact;
mod repeats;
mod replayed;
mod request;
mod resolve;
mod rows;
mod settle;
mod stamp;
mod steer;
mod subscribe;
mod tend;
#[cfg(test)]
mod tests;
mod validate;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use jiff::{SignedDuration, Timestamp};
use panpan_contract::recording::{RecordedOutcome, Recording};
use panpan_contract::retry::Terms;
use panpan_failure::{Failure, Redacted, codes};
use tokio::sync::watch;

use crate::idempotency::IdempotencyKey;
use crate::identity::{Identity, lacking};
use crate::ports::Ports;
use crate::ports::{Fingerprint, Scope, StoreState};
use crate::registry::{Operation, Registry};
use crate::retry::OpenCircuit;
use crate::settings::Settings;
use crate::tally::{Tally, Way};
use advise::Keeping;
use claim::{Claimed, Keys, look_for_key};
use keyed::Running;
use raised::Raised;
use repeats::Repeats;
use rows::Rows;
use validate::{Expected, Validated};

pub use answer::{Answer, TaskTurn};
pub(crate) use attempt::worse;
pub(crate) use claim::is_harmless;
pub(crate) use request::Call;
pub use request::{CALL_DEPTH_LIMIT, CallRequest, Held, InFlight, Origin};
pub use resolve::{absent, meant};
pub use stamp::{GATEWAY, PARAMETERS_BYTES_LIMIT};
pub use subscribe::Subscription;
pub use validate::{DEFAULT_CALL_TIMEOUT_MS, DEFAULT_PATIENCE_MS, DEFAULT_TIMEOUT_MS};

/// What calls of operations that do not exist are counted under.
pub const UNKNOWN_OPERATION: &str = "(unknown)";

/// How long a store that does not answer is waited for, even by a call whose time is over sooner.
const STORE_PATIENCE_MS: u64 = 2000;

/// Walks calls through the rooms. Clones are the same inner.
#[derive(Clone, Debug)]
pub struct Dispatcher(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    registry: ArcSwap<Registry>,
    /// Tells that there are other operations now.
    changed: watch::Sender<()>,
    /// Registries that were replaced while calls were still running in them.
    retired: Mutex<Vec<Arc<Registry>>>,
    ports: Ports,
    settings: Settings,
    tally: Tally,
    repeats: Repeats,
    rows: Rows,
    running: Running,
    /// Keys whose outcome is known and waits for the store, with what was asked under them.
    unwritten: Mutex<BTreeMap<Scope, Fingerprint>>,
}

impl Dispatcher {
    /// A dispatcher over a registry, with everything it needs from outside.
    pub fn new(registry: Registry, ports: Ports) -> Self {
        Self::with_settings(registry, ports, Settings::default())
    }

    /// A dispatcher that works in other than the usual ways; settings that would defeat keys are raised.
    pub fn with_settings(registry: Registry, ports: Ports, settings: Settings) -> Self {
        Self(Arc::new(Inner {
            registry: ArcSwap::from_pointee(registry),
            changed: watch::Sender::new(()),
            retired: Mutex::default(),
            ports,
            settings: settings.corrected(),
            tally: Tally::default(),
            repeats: Repeats::default(),
            rows: Rows::default(),
            running: Running::default(),
            unwritten: Mutex::default(),
        }))
    }

    /// The operations it serves now.
    pub fn registry(&self) -> Arc<Registry> {
        self.0.registry.load_full()
    }

    /// Looks at the operations it serves now, without holding on to them.
    pub fn look<T>(&self, look: impl FnOnce(&Registry) -> T) -> T {
        look(&self.0.registry.load())
    }

    /// Serves other operations from now on; calls under way end as they began.
    pub fn replace(&self, registry: Registry) {
        let before = self.0.registry.swap(Arc::new(registry));
        let mut retired = self
            .0
            .retired
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        retired.push(before);
        self.0.changed.send_replace(());
    }

    /// Tells each time there are other operations.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }

    /// The operations this caller may call from outside, in the order of their names.
    pub fn callable(&self, caller: Option<&Identity>) -> Vec<Arc<Operation>> {
        let registry = self.0.registry.load();
        let callable = registry.operations().filter(|operation| {
            resolve::is_visible(operation, &Origin::Wire)
                && lacking(&operation.spec().access_control, caller).is_none()
        });
        callable.cloned().collect()
    }

    /// The circuits that are not closed, of these operations and of the hosts behind them.
    pub fn open_circuits(&self, of: impl Fn(&Operation) -> bool) -> Vec<OpenCircuit> {
        let now = self.ports().clock.now();
        let registry = self.0.registry.load();
        let operations = registry.operations().filter(|operation| of(operation));
        let behind = operations.filter_map(|operation| operation.behind());
        let mut open: Vec<_> = behind.flat_map(|it| it.open_circuits(now)).collect();
        let place = |it: &OpenCircuit| (it.upstream.clone(), it.level, it.operation.clone());
        open.sort_by_key(place);
        open.dedup_by_key(|it| place(it));
        open
    }

    /// How much room the store has.
    pub fn store_state(&self) -> StoreState {
        self.ports().outcomes.state()
    }

    /// Serves one call.
    ///
    /// Refuses with NOT_FOUND, FORBIDDEN, INVALID_OPERATION_TYPE, INVALID_INPUT and the codes of the
    /// room `claim`; adds TIMEOUT, ERR_OUTCOME_UNKNOWN, ERR_CANCELLED, ERR_CIRCUIT_OPEN and INTERNAL to
    /// what the handler answers. Failures that may pass are retried first.
    pub async fn dispatch(&self, request: CallRequest) -> Answer {
        let call = self.admit(request);
        let validated = match self.enter(call.clone(), Expected::Answer) {
            Ok(validated) => validated,
            Err(raised) => return self.refuse(raised, &call),
        };
        match look_for_key(validated) {
            Ok(Keys::Without(claimed)) => self.record(perform::perform(self, claimed).await),
            Ok(Keys::With(keyed)) => self.dispatch_keyed(keyed).await,
            Err(raised) => self.refuse(raised, &call),
        }
    }

    /// Serves one attempt of a task, whose owner holds the lease, waits and keeps the outcome.
    pub async fn dispatch_task(&self, request: CallRequest, held: Held) -> TaskTurn {
        let call = self.admit(request);
        let validated = match self.enter(call.clone(), Expected::Answer) {
            Ok(validated) => validated,
            Err(raised) => {
                return TaskTurn {
                    answer: self.refuse(raised, &call),
                    attempt: None,
                    again_at: None,
                };
            }
        };
        let performed = perform::perform_once(self, Claimed::brought(validated), held).await;
        let last = performed.steps.last();
        TaskTurn {
            attempt: last.and_then(|step| step.failed.clone()),
            again_at: performed.again_at,
            answer: self.record(performed),
        }
    }

    /// Serves a subscription: its items, or why there are none.
    pub fn subscribe(&self, request: CallRequest) -> Result<Subscription, Redacted> {
        let call = self.admit(request);
        match self.enter(call.clone(), Expected::Stream) {
            Ok(validated) => Ok(Subscription::open(self.clone(), validated)),
            Err(raised) => Err(self.refused(raised, &call)),
        }
    }

    /// Answers a call before it is one, because its protocol could not read it or there is no room for
    /// it: the failure is stamped, redacted and recorded like that of any other call.
    pub fn reject(&self, request: CallRequest, failure: Failure) -> Answer {
        let call = self.admit(request);
        let registry = self.0.registry.load();
        let operation = registry.get(&call.operation);
        let operation = operation.filter(|it| resolve::is_visible(it, &call.origin));
        self.refuse(Raised::by_gateway(failure, operation.cloned()), &call)
    }

    /// A key for a piece of work that came without one. Should nobody know how it ended, the failure
    /// names the key, and asking again with it gives the recorded outcome.
    pub fn new_key(&self) -> IdempotencyKey {
        claim::made_key(self.ports().ids.new_id())
    }

    pub(crate) fn ports(&self) -> &Ports {
        &self.0.ports
    }

    fn settings(&self) -> &Settings {
        &self.0.settings
    }

    fn running(&self) -> &Running {
        &self.0.running
    }

    fn tally(&self) -> &Tally {
        &self.0.tally
    }

    fn repeats(&self) -> &Repeats {
        &self.0.repeats
    }

    fn rows(&self) -> &Rows {
        &self.0.rows
    }

    fn admit(&self, mut request: CallRequest) -> Arc<Call> {
        let ports = self.ports();
        let named = self.0.registry.load().get(&request.operation).cloned();
        let steering = steer::steer(named.as_deref(), &mut request);
        let (id, now) = (ports.ids.new_id(), ports.clock.now());
        Arc::new(Call::of(request, named, steering, id, now))
    }

    fn enter(&self, call: Arc<Call>, expected: Expected) -> Result<Validated, Raised> {
        let resolved = resolve::resolve(call, || self.registry())?;
        let authorized = authorize::authorize(resolved)?;
        validate::validate(authorized, expected)
    }

    /// A refusal: the call ends before its handler was ever called.
    fn refuse(&self, raised: Raised, call: &Call) -> Answer {
        Answer::failed(call, self.refused(raised, call))
    }

    fn refused(&self, raised: Raised, call: &Call) -> Redacted {
        let known = raised.operation.is_some();
        let failure = self.refusal_of(raised, call);
        let operation = failure.operation().filter(|_| known);
        let operation = operation.unwrap_or(UNKNOWN_OPERATION);
        self.tally()
            .add(operation, Some(failure.code()), call.at, Way::default(), 1);
        let is_known = known && failure.code().as_str() != codes::FORBIDDEN.code;
        // What anyone can send costs no room: a person looks for calls of callers who may call.
        let is_noise = call.caller.is_none() && !is_known;
        if !is_noise && !self.is_only_counted(operation, &failure, call) {
            self.note(refusal(&failure, call));
        }
        failure
    }

    /// A failure that is the last word about its call: finished, with the way forward for its caller.
    fn refusal_of(&self, raised: Raised, call: &Call) -> Redacted {
        let operation = raised.operation.clone();
        let failure = self.finish(raised, call);
        self.advised(failure, operation.as_deref(), call, Keeping::NotKept)
    }

    /// Stamps, redacts and settles a failure; its private part goes to the log.
    fn finish(&self, raised: Raised, call: &Call) -> Redacted {
        let ports = self.ports();
        let stamped = stamp::stamp(raised, call, &*ports.ids, &*ports.clock);
        let settled = settle::settle(redact::redact(stamped, call), self.settings().strict);
        if let (Some(id), Some(cause)) = (settled.failure.id(), &settled.private_cause) {
            let operation = settled.failure.operation().unwrap_or_default();
            ports.log.note(id, operation, cause);
        }
        settled.failure
    }
}

fn refusal(failure: &Redacted, call: &Call) -> Recording {
    Recording {
        id: call.id,
        at: call.at,
        operation: failure.operation().unwrap_or_default().to_owned(),
        caller: call.caller.as_ref().map(|it| it.id.clone()),
        input: None,
        retry_seed: call.retry_seed.unwrap_or_default(),
        terms: Terms::NONE,
        earlier: Vec::new(),
        steps: Vec::new(),
        items: None,
        repeats: 0,
        outcome: RecordedOutcome::Failed(failure.clone()),
    }
}

/// A time so much later, or the last there is.
pub(crate) fn later(now: Timestamp, delay_ms: u64) -> Timestamp {
    let delay = i64::try_from(delay_ms).map_or(SignedDuration::MAX, SignedDuration::from_millis);
    now.saturating_add(delay).unwrap_or(Timestamp::MAX)
}

/// How much later the second time is; nothing when it is earlier.
pub(crate) fn milliseconds_between(now: Timestamp, then: Timestamp) -> u64 {
    u64::try_from(then.duration_since(now).as_millis()).unwrap_or_default()
}
