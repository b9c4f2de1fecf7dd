//! The runtime of panpan: the registry of operations, and the pipeline that every call goes through.
//!
//! [`Registry`] contains operations with their handlers, checked against each other. [`Dispatcher`] takes
//! a call through the stages in `dispatch`, one file each. The traits in [`ports`] provide time, ids,
//! tasks, storage and the log. Only [`system`] reads a clock; nothing here opens a socket or knows a
//! protocol.

mod context;
mod credentials;
mod dispatch;
mod handler;
mod idempotency;
mod identity;
pub mod json;
mod lock;
mod output;
pub mod ports;
mod registry;
pub mod replay;
pub mod retry;
mod schema;
mod services;
mod settings;
pub mod system;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod time;
mod trace;

pub use context::{Context, EXTENDED_ATTEMPT_LIMIT_MS};
pub use credentials::Credentials;
pub use dispatch::{
    Answer, CALL_DEPTH_LIMIT, CallRequest, DEFAULT_CALL_TIMEOUT_MS, DEFAULT_PATIENCE_MS,
    DEFAULT_TIMEOUT_MS, Dispatcher, GATEWAY, InFlight, Origin, PARAMETERS_BYTES_LIMIT,
    Subscription, TaskAttempt, TaskState, UNKNOWN_OPERATION, operation_not_found, similar_names,
};
pub use handler::{
    AskClient, AskError, BoxFuture, BoxStream, Handler, Listener, PROMPT_BYTES_LIMIT, Progress,
    QUESTION_BYTES_LIMIT, QUESTIONS_WAIT_LIMIT_MS, Question, QuestionKind, QuestionKinds,
    QuestionReply, Reconcile, Reconciled, ReportProgress, ServiceNotification, StreamHandler,
    Typed, untyped,
};
pub use idempotency::{IdempotencyKey, KEY_LENGTH_LIMIT, KeyError};
pub use identity::{Identity, StateOwner, WATCH_SCOPE};
pub use output::Output;
pub use ports::Ports;
pub use registry::{
    Builder, Operation, Registration, Registry, RegistryProblem, RegistryProblems, Related,
    most_specific,
};
pub use schema::{
    APPLIED_SUBSCHEMAS_LIMIT, BACKTRACKS_LIMIT, CHECK_STEPS_LIMIT, Checked, LISTED_VALUES_LIMIT,
    NESTED_SUBSCHEMAS_LIMIT, PATTERN_BYTES_LIMIT, SEARCH_STEPS_LIMIT, SHOWN_CHARACTERS_LIMIT,
    SentSchema, VIOLATIONS_LIMIT, check_once, shown,
};
pub use settings::{RECOVERIES_LIMIT, Record, SHORTEST_KEEP_MS, SHORTEST_LEASE_MS, Settings};
pub use tokio_util::sync::CancellationToken;
pub use trace::Trace;
