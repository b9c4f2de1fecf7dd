//! The requests under way on one connection, and which of them a question of the server belongs to.
//!
//! Over HTTP the stream a question comes in belongs to one request. What a question says of itself is not
//! looked at: a server would choose whom it asks. Where nothing tells, a question is put to
//! the only request under way, or to nobody: never to the wrong person. On a pipe that is decided where the
//! question is read: the line after it may end the request it belongs to.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, Extensions, GetExtensions, RequestId,
    ServerJsonRpcMessage, ServerRequest,
};
use rmcp::service::InboundStreamOrigin;

use super::asking::AskingCall;

/// How many requests nobody waits for any more are told apart. Beyond that there is doubt for good.
const GIVEN_UP_LIMIT: usize = 1_024;

/// Why a question belongs to nobody who is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unplaced {
    #[error(
        "several requests are under way, and nothing tells which of them this question belongs to"
    )]
    Several,
    #[error("a request was given up, and nothing tells whether this question belongs to that one")]
    InDoubt,
    #[error("no call is under way that this question could belong to")]
    NoCall,
}

/// The requests under way on one connection in which something may be asked. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Underway(Arc<Mutex<Requests>>);

#[derive(Debug, Default)]
struct Requests {
    last: u64,
    /// Who made the requests nobody waits for any more, but the server may still be working on.
    given_up: HashMap<RequestId, Option<String>>,
    /// Whether more were given up than are told apart.
    lost_count: bool,
    by_number: BTreeMap<u64, Waiting>,
}

/// A request somebody waits for.
#[derive(Debug)]
struct Waiting {
    /// The call, where a tool is called.
    call: Option<AskingCall>,
    /// Who made it, if that is known.
    caller: Option<String>,
    /// What it is known by to the server, once it was sent.
    id: Option<RequestId>,
}

/// Whose question a message is, as decided where it was read; it travels with the message.
#[derive(Clone, Debug)]
struct Whose(Result<AskingCall, Unplaced>);

/// The number of a request on its connection; it travels with the request, unseen by the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestNumber(u64);

/// A request that is under way until this is dropped.
#[derive(Debug)]
pub(super) struct Begun {
    underway: Underway,
    pub(super) number: RequestNumber,
    answered: bool,
}

impl Begun {
    /// Notes that the server is done with it.
    pub(super) fn answered(mut self) {
        self.answered = true;
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        let mut requests = self.underway.requests();
        // One whose answer was read is not there any more, and one that was not sent has no id.
        let waiting = requests.by_number.remove(&self.number.0);
        let sent = waiting.and_then(|waiting| Some((waiting.id?, waiting.caller)));
        if let (Some((id, caller)), false) = (sent, self.answered) {
            requests.give_up(id, caller);
        }
    }
}

impl Requests {
    fn give_up(&mut self, id: RequestId, caller: Option<String>) {
        if self.given_up.len() < GIVEN_UP_LIMIT {
            self.given_up.insert(id, caller);
        } else {
            self.lost_count = true;
        }
    }

    /// Whether a question may belong to a request that was given up, and so to somebody else. Two who are
    /// not known are not the same.
    fn is_in_doubt(&self, waiting: Option<&Waiting>) -> bool {
        let caller = waiting.and_then(|waiting| waiting.caller.as_ref());
        let is_another =
            |given_up: &Option<String>| given_up.is_none() || given_up.as_ref() != caller;
        self.lost_count || self.given_up.values().any(is_another)
    }

    /// The call of the only request that is under way. Whoever could have been asked is to know that nobody
    /// was.
    fn placed(&self) -> Result<AskingCall, Unplaced> {
        let placed = found(self.only());
        if let Err(why @ (Unplaced::Several | Unplaced::InDoubt)) = placed {
            let calls = self.by_number.values().filter_map(|it| it.call.as_ref());
            calls.for_each(|call| call.miss_unplaced(why));
        }
        placed
    }

    /// The only request that is under way.
    fn only(&self) -> Result<Option<&Waiting>, Unplaced> {
        let mut waiting = self.by_number.values();
        let only = waiting.next();
        if waiting.next().is_some() {
            return Err(Unplaced::Several);
        }
        match self.is_in_doubt(only) {
            true => Err(Unplaced::InDoubt),
            false => Ok(only),
        }
    }
}

impl Underway {
    /// Notes a request before it is sent: a server may be quick to ask.
    pub(super) fn begin(&self, call: Option<&AskingCall>) -> Begun {
        let mut requests = self.requests();
        requests.last += 1;
        let number = requests.last;
        let waiting = Waiting {
            call: call.cloned(),
            caller: call.and_then(AskingCall::caller).map(str::to_owned),
            id: None,
        };
        requests.by_number.insert(number, waiting);
        Begun {
            underway: self.clone(),
            number: RequestNumber(number),
            answered: false,
        }
    }

    /// Notes what a request is known by to the server, before it is sent.
    pub(super) fn sent(&self, message: &ClientJsonRpcMessage) {
        let ClientJsonRpcMessage::Request(sent) = message else {
            return;
        };
        let Some(RequestNumber(number)) = sent.request.extensions().get() else {
            return;
        };
        let mut requests = self.requests();
        match requests.by_number.get_mut(number) {
            Some(waiting) => waiting.id = Some(sent.id.clone()),
            // It was given up on its way.
            None => requests.give_up(sent.id.clone(), None),
        }
    }

    /// Follows what a server says where only the order of its messages tells what belongs together.
    pub(super) fn follow(&self, message: &mut ServerJsonRpcMessage) {
        match message {
            ServerJsonRpcMessage::Request(asked) => {
                let is_for_client = !matches!(asked.request, ServerRequest::PingRequest(_));
                if is_for_client {
                    let whose = Whose(self.requests().placed());
                    asked.request.extensions_mut().insert(whose);
                }
            }
            ServerJsonRpcMessage::Response(answer) => self.over(&answer.id),
            ServerJsonRpcMessage::Error(error) => {
                if let Some(id) = &error.id {
                    self.over(id);
                }
            }
            ServerJsonRpcMessage::Notification(_) => {}
        }
    }

    /// The call that a log line belongs to: that of the stream it came in, or the only one.
    pub(super) fn logging(&self, origin: Option<&RequestId>) -> Option<AskingCall> {
        let requests = self.requests();
        let waiting = match origin {
            Some(id) => {
                let mut waiting = requests.by_number.values();
                waiting.find(|waiting| waiting.id.as_ref() == Some(id))
            }
            None => requests.only().ok().flatten(),
        };
        waiting?.call.clone()
    }

    /// What the only request that waits is known by to the server.
    pub(super) fn only_sent(&self) -> Option<RequestId> {
        let requests = self.requests();
        let mut waiting = requests.by_number.values();
        let only = waiting.next()?;
        match (waiting.next(), requests.given_up.is_empty()) {
            (None, true) => only.id.clone(),
            _ => None,
        }
    }

    /// Notes that the server is done with a request.
    fn over(&self, id: &RequestId) {
        let mut requests = self.requests();
        requests.given_up.remove(id);
        requests
            .by_number
            .retain(|_, waiting| waiting.id.as_ref() != Some(id));
    }

    /// The call a question belongs to, by what is known of the way it came.
    pub(super) fn asking(&self, way: &Extensions) -> Result<AskingCall, Unplaced> {
        if let Some(Whose(decided)) = way.get() {
            return decided.clone();
        }
        let requests = self.requests();
        match way.get() {
            Some(InboundStreamOrigin::OutboundRequest(id)) => {
                let mut waiting = requests.by_number.values();
                found(Ok(waiting.find(|waiting| waiting.id.as_ref() == Some(id))))
            }
            Some(InboundStreamOrigin::Unassociated) | None => requests.placed(),
        }
    }

    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a server may ask people something before it answers a request. Lists and the like tell it nothing
/// it could ask about, and are often under way.
pub(super) fn may_ask(request: &ClientRequest) -> bool {
    matches!(
        request,
        ClientRequest::CallToolRequest(_)
            | ClientRequest::GetPromptRequest(_)
            | ClientRequest::ReadResourceRequest(_)
    )
}

fn found(waiting: Result<Option<&Waiting>, Unplaced>) -> Result<AskingCall, Unplaced> {
    let call = waiting?.and_then(|waiting| waiting.call.clone());
    call.ok_or(Unplaced::NoCall)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Unplaced::{InDoubt, NoCall, Several};
    use super::*;

    /// Why a question of which nothing is known belongs to nobody.
    fn refusal(underway: &Underway) -> Unplaced {
        underway.asking(&Extensions::new()).unwrap_err()
    }

    /// A request of somebody that was sent under this number.
    fn sent_by(underway: &Underway, caller: Option<&str>, id: i64) -> Begun {
        let begun = underway.begin(None);
        let mut requests = underway.requests();
        let waiting = requests.by_number.get_mut(&begun.number.0).unwrap();
        waiting.caller = caller.map(str::to_owned);
        waiting.id = Some(RequestId::Number(id));
        drop(requests);
        begun
    }

    #[test]
    fn a_request_that_was_given_up_leaves_doubt_about_the_questions_of_others() {
        let (ann, bob) = (Some("ann"), Some("bob"));
        for (given_up, waits, why) in [
            (ann, ann, NoCall),
            (ann, bob, InDoubt),
            (ann, None, InDoubt),
            (None, ann, InDoubt),
            (None, None, InDoubt),
        ] {
            let underway = Underway::default();
            sent_by(&underway, given_up, 1).answered();
            let waiting = sent_by(&underway, waits, 2);
            assert_eq!(refusal(&underway), NoCall);
            drop(sent_by(&underway, given_up, 3));
            // `NoCall` stands for no doubt here: there is no way to ask in these requests.
            assert_eq!(refusal(&underway), why, "{given_up:?} {waits:?}");
            underway.over(&RequestId::Number(3));
            assert_eq!(refusal(&underway), NoCall);
            let _another = underway.begin(None);
            assert_eq!(refusal(&underway), Several);
            drop(waiting);
        }
    }

    #[test]
    fn a_request_that_is_given_up_on_its_way_leaves_doubt_once_it_is_sent() {
        let underway = Underway::default();
        let begun = underway.begin(None);
        let sent =
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a"}});
        let mut sent: ClientJsonRpcMessage = serde_json::from_value(sent).unwrap();
        if let ClientJsonRpcMessage::Request(sent) = &mut sent {
            sent.request.extensions_mut().insert(begun.number);
        }
        drop(begun);
        assert_eq!(refusal(&underway), NoCall);
        underway.sent(&sent);
        assert_eq!(refusal(&underway), InDoubt);
    }

    #[test]
    fn so_many_requests_that_were_given_up_are_told_apart() {
        for (beyond, why) in [(0, NoCall), (1, InDoubt)] {
            let underway = Underway::default();
            let given_up = i64::try_from(GIVEN_UP_LIMIT).unwrap() + beyond;
            for id in 0..given_up {
                drop(sent_by(&underway, None, id));
            }
            for id in 0..given_up {
                underway.over(&RequestId::Number(id));
            }
            assert_eq!(refusal(&underway), why);
        }
    }

    #[test]
    fn a_list_that_is_under_way_leaves_no_doubt_about_a_call() {
        for (request, asks) in [
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
            assert_eq!(may_ask(&read), asks, "{request}");
        }
    }
}
