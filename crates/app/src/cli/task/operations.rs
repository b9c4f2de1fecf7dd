//! The operations `tasks/*` of a server, or of this process.

use std::time::Duration;

use futures_util::StreamExt as _;
use panpan_contract::operation::OperationType;
use panpan_failure::Redacted;
use panpan_flow::{TaskId, Worker};
use panpan_redact::Secret;
use panpan_runtime::{CancellationToken, Subscription};
use panpan_upstream::remote::{Remote, RemoteCall, RemoteItems, RemoteSettings};
use serde_json::{Value, json};

use super::super::call::{Call, End, local, redact, remote};
use super::super::target::Target;
use crate::backend::{Backend, DRAIN};
use crate::store::StoreAddress;

/// The operation that streams what happens to a flow.
const EVENTS: &str = "tasks/events";

/// The operations of a server, or of this process.
#[derive(Debug)]
pub(super) enum Operations {
    Local {
        backend: Box<Backend>,
        token: Option<Secret<String>>,
        /// Whether tasks outlive this process.
        keeps_tasks: bool,
    },
    Server {
        remote: Box<Remote>,
        settings: RemoteSettings,
    },
}

impl Operations {
    pub(super) fn open(target: Target) -> anyhow::Result<Self> {
        Ok(match target {
            Target::Local { store, token } => Self::Local {
                keeps_tasks: store != StoreAddress::Memory,
                backend: Box::new(Backend::open(&store)?),
                token,
            },
            Target::Server(settings) => Self::Server {
                remote: Box::new(remote::connect(&settings)?),
                settings,
            },
        })
    }

    /// Does some work. In this process, the store is maintained meanwhile, and calls with a key end first.
    pub(super) async fn run<T>(&self, work: impl Future<Output = T>) -> T {
        match self {
            Self::Local { backend, .. } => backend.run_and_drain(None, work, || DRAIN).await,
            Self::Server { .. } => work.await,
        }
    }

    /// Calls an operation.
    pub(super) async fn call(&self, operation: &str, input: Value) -> anyhow::Result<End> {
        let call = Call::new(operation, input);
        let mut no_items = |_| Ok(());
        match self {
            Self::Local { backend, token, .. } => {
                let request = local::request(call, CancellationToken::new());
                local::identify_and_call(backend, token.clone(), request, &mut no_items).await
            }
            Self::Server { remote, settings } => {
                remote::call_or_subscribe(remote, settings, call, &mut no_items).await
            }
        }
    }

    /// Subscribes to the events of a flow after a number.
    pub(super) async fn events(&self, task: TaskId, after: u64) -> Result<Events, Interruption> {
        let input = json!({"task_id": task.to_string(), "after": after});
        let call = Call::new(EVENTS, input);
        match self {
            Self::Local { backend, token, .. } => {
                let mut request = local::request(call, CancellationToken::new());
                if let Some(token) = token {
                    let identity = backend.tokens().identify(token.expose()).await;
                    let refused = |it| Interruption::Ends(redact(it, Some(token)));
                    request.caller = Some(identity.map_err(refused)?);
                }
                let items = backend.dispatcher().subscribe(request);
                let items = items.map_err(Interruption::Ends)?;
                Ok(Events::Local(Box::new(items)))
            }
            Self::Server { remote, settings } => {
                let call = RemoteCall {
                    op_type: Some(OperationType::Subscription),
                    ..remote::remote_call(call)
                };
                let items = remote.subscribe(&call).await;
                let items = items.map_err(|it| lost(redact(it, settings.token.as_ref())))?;
                let (items, token) = (Box::new(items), settings.token.clone());
                Ok(Events::Server { items, token })
            }
        }
    }

    /// The worker that runs a flow in this process; a server has its own.
    pub(super) fn worker(&self, root: TaskId) -> Option<Worker> {
        match self {
            Self::Local { backend, .. } => Some(backend.worker_of(root)),
            Self::Server { .. } => None,
        }
    }

    /// Whether this process runs the tasks.
    pub(super) fn is_local(&self) -> bool {
        matches!(self, Self::Local { .. })
    }

    /// Whether tasks outlive this process.
    pub(super) fn keeps_tasks(&self) -> bool {
        match self {
            Self::Local { keeps_tasks, .. } => *keeps_tasks,
            Self::Server { .. } => true,
        }
    }

    /// Ends the process without waiting.
    pub(super) fn exit_at_once(&self) {
        if let Self::Local { backend, .. } = self {
            super::super::exit_at_once(backend);
        }
    }
}

/// How long running tasks may continue after an interrupt.
pub(super) const STOP_TIMEOUT: Duration = DRAIN;

/// The events of a flow.
#[derive(Debug)]
pub(super) enum Events {
    Local(Box<Subscription>),
    Server {
        items: Box<RemoteItems>,
        token: Option<Secret<String>>,
    },
}

/// Why there are no more events although the flow does not rest.
#[derive(Debug)]
pub(super) enum Interruption {
    /// The server stopped, or the connection broke: another subscription can continue.
    Lost(Redacted),
    /// Another subscription would fail, too.
    Ends(Redacted),
}

impl Events {
    /// The next event; `None` after the last one. Nothing is lost if the future is dropped.
    pub(super) async fn next(&mut self) -> Result<Option<Value>, Interruption> {
        match self {
            Self::Local(items) => match items.next().await {
                Some(item) => item.map(Some).map_err(Interruption::Ends),
                None => Ok(None),
            },
            Self::Server { items, token } => match items.next().await {
                Ok(Some(Ok(item))) => Ok(Some(item)),
                Ok(Some(Err(failure))) | Err(failure) => Err(lost(redact(failure, token.as_ref()))),
                Ok(None) => Ok(None),
            },
        }
    }
}

fn lost(failure: Redacted) -> Interruption {
    match failure.may_repeat() {
        true => Interruption::Lost(failure),
        false => Interruption::Ends(failure),
    }
}
