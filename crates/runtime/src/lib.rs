//! The verbs of panpan: which operations there are, and the one way a call takes through them.
//!
//! [`Registry`] holds operations with their handlers, checked against each other. [`Dispatcher`] walks
//! a call through the rooms in `dispatch`, one file each. What the runtime needs from the ports, time,
//! ids and places to write to, it names as traits in [`ports`]; only [`system`] reads a clock, and
//! nothing here opens a socket or knows a protocol.

mod context;
mod credentials;
mod dispatch;
mod handler;
mod idempotency;
mod identity;
pub mod json;
mod output;
pub mod ports;
mod registry;
pub mod replay;
pub mod retry;
mod schema;
mod services;
mod settings;
pub mod system;
mod tally;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod trace;

pub use context::{Context, SIGNS_OF_LIFE_LIMIT_MS};
pub use credentials::Credentials;
pub use dispatch::{
    Answer, CALL_DEPTH_LIMIT, CallRequest, DEFAULT_CALL_TIMEOUT_MS, DEFAULT_PATIENCE_MS,
    DEFAULT_TIMEOUT_MS, Dispatcher, GATEWAY, Held, InFlight, Origin, PARAMETERS_BYTES_LIMIT,
    Subscription, TaskTurn, UNKNOWN_OPERATION, absent, meant,
};
pub use handler::{
    Answerable, AskPerson, BoxFuture, BoxStream, Handler, Listener, Notice, PROMPT_BYTES_LIMIT,
    Progress, QUESTION_BYTES_LIMIT, QUESTIONS_WAIT_LIMIT_MS, Question, Reconcile, Reconciled,
    Reply, ReportProgress, StreamHandler, Typed, Unasked, Wanted, untyped,
};
pub use idempotency::{IdempotencyKey, KEY_LENGTH_LIMIT, KeyError};
pub use identity::{Identity, StateOwner, WATCH_SCOPE};
pub use output::Output;
pub use ports::Ports;
pub use registry::{Builder, Operation, Problem, Problems, Registration, Registry, Related};
pub use schema::{
    BACKTRACKS_LIMIT, CHECK_STEPS_LIMIT, Checked, IN_A_ROW_LIMIT, LISTED_VALUES_LIMIT,
    PATTERN_BYTES_LIMIT, SEARCH_STEPS_LIMIT, SHOWN_CHARACTERS_LIMIT, VIOLATIONS_LIMIT, WAYS_LIMIT,
    check_once, shown,
};
pub use settings::{
    Freeze, RECOVERIES_LIMIT, Record, SHORTEST_KEEP_MS, SHORTEST_LEASE_MS, Settings,
};
pub use tokio_util::sync::CancellationToken;
pub use trace::Trace;
