//! The requests in flight on one connection, and the routing of a server's input requests to them.
//!
//! Over HTTP the stream of an input request belongs to one request. The content of an input request
//! is not considered, or a server could choose whom it asks. Without a stream, an input request
//! goes to the only request in flight or is refused: it must never reach the wrong caller. On stdio
//! that is decided when the input request is read, because the next line may end its request.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, Extensions, GetExtensions, RequestId,
    ServerJsonRpcMessage, ServerRequest,
};
use rmcp::service::InboundStreamOrigin;

use super::input_requests::InteractiveRequest;

/// The number of abandoned requests that are tracked. Beyond it every later input request is in
/// doubt.
const ABANDONED_LIMIT: usize = 1_024;

/// Why an input request cannot be routed to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unrouted {
    #[error("several requests are in flight, and it is unclear which of them needs this input")]
    Ambiguous,
    #[error("a request was abandoned, and this input may belong to it")]
    Abandoned,
    #[error("no call is in flight that needs this input")]
    NoCall,
}

/// The requests in flight on one connection during which the server may ask for input. Clones share
/// the state.
#[derive(Clone, Debug, Default)]
pub(super) struct InFlight(Arc<Mutex<Requests>>);

#[derive(Debug, Default)]
struct Requests {
    last: u64,
    /// The callers of abandoned requests that the server may still be working on.
    abandoned: HashMap<RequestId, Option<String>>,
    /// Whether more requests were abandoned than are tracked.
    has_overflowed: bool,
    by_number: BTreeMap<u64, Pending>,
}

/// A request that waits for its response.
#[derive(Debug)]
struct Pending {
    /// The request itself, if its client can be asked for input.
    request: Option<InteractiveRequest>,
    /// The caller, if it is known.
    caller: Option<String>,
    /// The JSON-RPC id, once it was sent.
    id: Option<RequestId>,
}

/// The route of an input request, decided when it was read; attached to the message.
#[derive(Clone, Debug)]
struct Route(Result<InteractiveRequest, Unrouted>);

/// The number of a request on its connection; attached to the request and not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestNumber(u64);

/// A request in flight, until this is dropped.
#[derive(Debug)]
pub(super) struct InFlightGuard {
    in_flight: InFlight,
    pub(super) number: RequestNumber,
    has_response: bool,
}

impl InFlightGuard {
    /// Notes that the response has arrived.
    pub(super) fn responded(mut self) {
        self.has_response = true;
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        let mut requests = self.in_flight.requests();
        // A request whose response was read is already gone, and one that was not sent has no id.
        let pending = requests.by_number.remove(&self.number.0);
        let sent = pending.and_then(|pending| Some((pending.id?, pending.caller)));
        if let (Some((id, caller)), false) = (sent, self.has_response) {
            requests.abandon(id, caller);
        }
    }
}

impl Requests {
    fn abandon(&mut self, id: RequestId, caller: Option<String>) {
        if self.abandoned.len() < ABANDONED_LIMIT {
            self.abandoned.insert(id, caller);
        } else {
            self.has_overflowed = true;
        }
    }

    /// Whether an input request may belong to an abandoned request of another caller. Two unknown
    /// callers are never the same.
    fn is_in_doubt(&self, pending: Option<&Pending>) -> bool {
        let caller = pending.and_then(|pending| pending.caller.as_ref());
        let is_another = |other: &Option<String>| other.is_none() || other.as_ref() != caller;
        self.has_overflowed || self.abandoned.values().any(is_another)
    }

    /// Routes to the only request in flight. If that is ambiguous, the requests that could have
    /// been meant record it.
    fn route_to_only(&self) -> Result<InteractiveRequest, Unrouted> {
        let route = interactive(self.only());
        if let Err(reason @ (Unrouted::Ambiguous | Unrouted::Abandoned)) = route {
            let requests = self.by_number.values();
            let requests = requests.filter_map(|it| it.request.as_ref());
            requests.for_each(|request| request.record_unrouted(reason));
        }
        route
    }

    /// The only request in flight.
    fn only(&self) -> Result<Option<&Pending>, Unrouted> {
        let mut pending = self.by_number.values();
        let only = pending.next();
        if pending.next().is_some() {
            return Err(Unrouted::Ambiguous);
        }
        match self.is_in_doubt(only) {
            true => Err(Unrouted::Abandoned),
            false => Ok(only),
        }
    }
}

impl InFlight {
    /// Adds a request before it is sent: a server may ask for input immediately.
    pub(super) fn begin(&self, request: Option<&InteractiveRequest>) -> InFlightGuard {
        let mut requests = self.requests();
        requests.last += 1;
        let number = requests.last;
        let pending = Pending {
            request: request.cloned(),
            caller: request
                .and_then(InteractiveRequest::caller)
                .map(str::to_owned),
            id: None,
        };
        requests.by_number.insert(number, pending);
        InFlightGuard {
            in_flight: self.clone(),
            number: RequestNumber(number),
            has_response: false,
        }
    }

    /// Records the JSON-RPC id of a request before it is sent.
    pub(super) fn record_sent(&self, message: &ClientJsonRpcMessage) {
        let ClientJsonRpcMessage::Request(sent) = message else {
            return;
        };
        let Some(RequestNumber(number)) = sent.request.extensions().get() else {
            return;
        };
        let mut requests = self.requests();
        match requests.by_number.get_mut(number) {
            Some(pending) => pending.id = Some(sent.id.clone()),
            // It was abandoned before it was sent.
            None => requests.abandon(sent.id.clone(), None),
        }
    }

    /// Observes the messages of a server on stdio, where only their order tells what belongs
    /// together.
    pub(super) fn observe(&self, message: &mut ServerJsonRpcMessage) {
        match message {
            ServerJsonRpcMessage::Request(message) => {
                let is_for_client = !matches!(message.request, ServerRequest::PingRequest(_));
                if is_for_client {
                    let route = Route(self.requests().route_to_only());
                    message.request.extensions_mut().insert(route);
                }
            }
            ServerJsonRpcMessage::Response(response) => self.responded(&response.id),
            ServerJsonRpcMessage::Error(error) => {
                if let Some(id) = &error.id {
                    self.responded(id);
                }
            }
            ServerJsonRpcMessage::Notification(_) => {}
        }
    }

    /// The request that a log message belongs to: that of its stream, or the only one.
    pub(super) fn request_of_log(&self, origin: Option<&RequestId>) -> Option<InteractiveRequest> {
        let requests = self.requests();
        let pending = match origin {
            Some(id) => {
                let mut pending = requests.by_number.values();
                pending.find(|pending| pending.id.as_ref() == Some(id))
            }
            None => requests.only().ok().flatten(),
        };
        pending?.request.clone()
    }

    /// The JSON-RPC id of the only request in flight.
    pub(super) fn only_request_id(&self) -> Option<RequestId> {
        let requests = self.requests();
        let mut pending = requests.by_number.values();
        let only = pending.next()?;
        match (pending.next(), requests.abandoned.is_empty()) {
            (None, true) => only.id.clone(),
            _ => None,
        }
    }

    /// Notes that the server has responded.
    fn responded(&self, id: &RequestId) {
        let mut requests = self.requests();
        requests.abandoned.remove(id);
        requests
            .by_number
            .retain(|_, pending| pending.id.as_ref() != Some(id));
    }

    /// Routes an input request, by the stream that it came in.
    pub(super) fn route(&self, extensions: &Extensions) -> Result<InteractiveRequest, Unrouted> {
        if let Some(Route(route)) = extensions.get() {
            return route.clone();
        }
        let requests = self.requests();
        match extensions.get() {
            Some(InboundStreamOrigin::OutboundRequest(id)) => {
                let mut pending = requests.by_number.values();
                interactive(Ok(pending.find(|pending| pending.id.as_ref() == Some(id))))
            }
            Some(InboundStreamOrigin::Unassociated) | None => requests.route_to_only(),
        }
    }

    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a server may ask for input before it answers a request. List requests give no reason to,
/// and are often in flight.
pub(super) fn may_require_input(request: &ClientRequest) -> bool {
    matches!(
        request,
        ClientRequest::CallToolRequest(_)
            | ClientRequest::GetPromptRequest(_)
            | ClientRequest::ReadResourceRequest(_)
    )
}

fn interactive(
    pending: Result<Option<&Pending>, Unrouted>,
) -> Result<InteractiveRequest, Unrouted> {
    let request = pending?.and_then(|pending| pending.request.clone());
    request.ok_or(Unrouted::NoCall)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Unrouted::{Abandoned, Ambiguous, NoCall};
    use super::*;

    /// Why an input request without a stream is refused.
    fn refusal(in_flight: &InFlight) -> Unrouted {
        in_flight.route(&Extensions::new()).unwrap_err()
    }

    /// A request of a caller that was sent with this id.
    fn sent_by(in_flight: &InFlight, caller: Option<&str>, id: i64) -> InFlightGuard {
        let guard = in_flight.begin(None);
        let mut requests = in_flight.requests();
        let pending = requests.by_number.get_mut(&guard.number.0).unwrap();
        pending.caller = caller.map(str::to_owned);
        pending.id = Some(RequestId::Number(id));
        drop(requests);
        guard
    }

    #[test]
    fn an_abandoned_request_leaves_doubt_about_input_requests_to_other_callers() {
        let (ann, bob) = (Some("ann"), Some("bob"));
        for (abandoned, pending, reason) in [
            (ann, ann, NoCall),
            (ann, bob, Abandoned),
            (ann, None, Abandoned),
            (None, ann, Abandoned),
            (None, None, Abandoned),
        ] {
            let in_flight = InFlight::default();
            sent_by(&in_flight, abandoned, 1).responded();
            let guard = sent_by(&in_flight, pending, 2);
            assert_eq!(refusal(&in_flight), NoCall);
            drop(sent_by(&in_flight, abandoned, 3));
            // These requests have no client, so `NoCall` means that there was no doubt.
            assert_eq!(refusal(&in_flight), reason, "{abandoned:?} {pending:?}");
            in_flight.responded(&RequestId::Number(3));
            assert_eq!(refusal(&in_flight), NoCall);
            let _another = in_flight.begin(None);
            assert_eq!(refusal(&in_flight), Ambiguous);
            drop(guard);
        }
    }

    #[test]
    fn a_request_abandoned_before_it_was_sent_leaves_doubt_once_it_is_sent() {
        let in_flight = InFlight::default();
        let guard = in_flight.begin(None);
        let sent =
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a"}});
        let mut sent: ClientJsonRpcMessage = serde_json::from_value(sent).unwrap();
        if let ClientJsonRpcMessage::Request(sent) = &mut sent {
            sent.request.extensions_mut().insert(guard.number);
        }
        drop(guard);
        assert_eq!(refusal(&in_flight), NoCall);
        in_flight.record_sent(&sent);
        assert_eq!(refusal(&in_flight), Abandoned);
    }

    #[test]
    fn the_number_of_tracked_abandoned_requests_is_limited() {
        for (beyond, reason) in [(0, NoCall), (1, Abandoned)] {
            let in_flight = InFlight::default();
            let abandoned = i64::try_from(ABANDONED_LIMIT).unwrap() + beyond;
            for id in 0..abandoned {
                drop(sent_by(&in_flight, None, id));
            }
            for id in 0..abandoned {
                in_flight.responded(&RequestId::Number(id));
            }
            assert_eq!(refusal(&in_flight), reason);
        }
    }

    #[test]
    fn only_calls_prompts_and_resources_may_require_input() {
        for (request, expected) in [
            (
                json!({"method": "tools/call", "params": {"name": "a"}}),
                true,
            ),
            (
                json!({"method": "prompts/get", "params": {"name": "a"}}),
                true,
            ),
            (
                json!({"method": "resources/read", "params": {"uri": "a:b"}}),
                true,
            ),
            (json!({"method": "tools/list"}), false),
            (json!({"method": "ping"}), false),
        ] {
            let read = serde_json::from_value(request.clone()).unwrap();
            assert_eq!(may_require_input(&read), expected, "{request}");
        }
    }
}
