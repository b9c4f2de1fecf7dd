//! What trouble on the way means: its code by what broke, its effect by how far the call had got.
//!
//! Looks at the types of errors and never at their texts.

use std::error::Error;
use std::io;
use std::time::Duration;

use panpan_contract::classify::NetworkFailure;
use panpan_contract::failure::Cause;
use panpan_contract::operation::OperationType;
use panpan_contract::{Effect, Failure, Kind, codes};
use reqwest::Url;

use super::RemoteCall;
use super::client::shown;

/// How many sources of an error are looked at; a chain may be endless.
const CHAIN_LIMIT: usize = 32;

/// What has to be known about a call to tell what trouble means for it.
#[derive(Clone, Debug)]
pub(super) struct Trouble {
    url: Url,
    operation: String,
    stake: Stake,
    patience: Duration,
}

/// What is at stake when a call was sent and its answer is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stake {
    /// Nothing: it only reads.
    Nothing,
    /// The key finds its outcome again.
    Keyed,
    /// It changes something, and nothing finds its outcome again.
    Change,
    /// Nobody here knows whether it changes anything.
    Unknown,
}

impl Stake {
    fn of(call: &RemoteCall) -> Self {
        match (call.op_type, &call.key) {
            (Some(OperationType::Query | OperationType::Subscription), _) => Self::Nothing,
            (_, Some(_)) => Self::Keyed,
            (Some(OperationType::Mutation), None) => Self::Change,
            (None, None) => Self::Unknown,
        }
    }
}

impl Trouble {
    pub(super) fn new(url: &Url, call: &RemoteCall, patience: Duration) -> Self {
        Self {
            url: url.clone(),
            operation: call.operation.clone(),
            stake: Stake::of(call),
            patience,
        }
    }

    /// Whom the trouble is with.
    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    /// The failure an error stands for.
    pub(super) fn of(&self, error: &reqwest::Error) -> Failure {
        let way = way(error);
        let failure = if error.is_connect() {
            self.failure(way, &self.before(way))
                .with_effect(Effect::None)
        } else {
            self.lost(way)
        };
        failure.caused_by(error)
    }

    /// Nothing came in time, and the call may have been sent.
    pub(super) fn silence(&self) -> Failure {
        self.lost(NetworkFailure::Timeout)
    }

    /// The connection ended in the middle.
    pub(super) fn cut(&self) -> Failure {
        self.lost(NetworkFailure::Socket)
    }

    fn lost(&self, way: NetworkFailure) -> Failure {
        let failure = self.failure(way, &self.after(way));
        match self.stake {
            Stake::Nothing => failure.with_effect(Effect::None),
            Stake::Unknown => failure.with_effect(Effect::Unknown),
            Stake::Keyed => failure
                .with_effect(Effect::Unknown)
                .with_actions(["Ask again with the same idempotency key: it gives the outcome and runs nothing twice"]),
            Stake::Change => {
                let cause = Cause {
                    code: Some(failure.code().clone()),
                    message: failure.message().to_owned(),
                };
                let unknown = Kind::from(codes::ERR_OUTCOME_UNKNOWN);
                failure
                    .restated(unknown)
                    .with_effect(Effect::Unknown)
                    .with_cause(cause)
            }
        }
    }

    fn failure(&self, way: NetworkFailure, message: &str) -> Failure {
        Failure::new(way)
            .with_message(message)
            .with_operation(self.operation.as_str())
            .with_detail("server", shown(&self.url))
    }

    fn before(&self, way: NetworkFailure) -> String {
        let url = shown(&self.url);
        match way {
            NetworkFailure::Connection => format!("no server answers at {url}"),
            NetworkFailure::Timeout => format!("no connection to {url} came about in time"),
            NetworkFailure::Dns => format!("the host of {url} has no address"),
            NetworkFailure::Tls => format!("no secure connection to {url} came about"),
            NetworkFailure::Socket => format!("{url} cannot be reached"),
        }
    }

    fn after(&self, way: NetworkFailure) -> String {
        let url = shown(&self.url);
        match way {
            NetworkFailure::Timeout => {
                let patience_ms = self.patience.as_millis();
                format!("{url} did not answer within {patience_ms} ms")
            }
            _ => format!("the connection to {url} broke before the answer was complete"),
        }
    }
}

fn way(error: &reqwest::Error) -> NetworkFailure {
    if error.is_dns() {
        return NetworkFailure::Dns;
    }
    if chain(error).any(|cause| cause.is::<rustls::Error>()) {
        return NetworkFailure::Tls;
    }
    if error.is_timeout() {
        return NetworkFailure::Timeout;
    }
    let refused = chain(error)
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::ConnectionRefused);
    if refused {
        NetworkFailure::Connection
    } else {
        NetworkFailure::Socket
    }
}

/// An error and what led to it. The error an I/O error was made of is part of the chain, though it is
/// not its source.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        let inner = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        inner.map_or_else(|| error.source(), |inner| Some(inner))
    })
    .take(CHAIN_LIMIT)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_lost_answer_means_depends_on_what_was_asked() {
        use OperationType::{Mutation, Query, Subscription};
        for (op_type, key, code, effect) in [
            (Some(Query), None, "ERR_TIMEOUT", Effect::None),
            (Some(Subscription), None, "ERR_TIMEOUT", Effect::None),
            (Some(Mutation), Some("k"), "ERR_TIMEOUT", Effect::Unknown),
            (Some(Mutation), None, "ERR_OUTCOME_UNKNOWN", Effect::Unknown),
            (None, Some("k"), "ERR_TIMEOUT", Effect::Unknown),
            (None, None, "ERR_TIMEOUT", Effect::Unknown),
        ] {
            let call = RemoteCall {
                operation: "demo/order".to_owned(),
                input: json!({}),
                key: key.map(str::to_owned),
                retry_seed: None,
                timeout_ms: None,
                op_type,
            };
            let url = Url::parse("http://127.0.0.1:7077/").unwrap();
            let failure = Trouble::new(&url, &call, Duration::from_secs(1)).silence();
            let found = (failure.code().as_str(), failure.effect());
            assert_eq!(found, (code, effect), "{op_type:?} {key:?}");
        }
    }

    #[test]
    fn an_error_inside_an_io_error_is_found() {
        let inner = rustls::Error::DecryptError;
        let error = io::Error::other(io::Error::other(inner));
        assert!(chain(&error).any(|cause| cause.is::<rustls::Error>()));
    }
}
