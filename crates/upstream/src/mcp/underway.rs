//! The requests under way on one connection, and which of them a question of the server belongs to.
//!
//! Over HTTP the stream a question comes in belongs to one request. Where nothing tells, a question is put to
//! the only request under way, or to nobody: never to the wrong person. On a pipe that is decided where the
//! question is read: the line after it may end the request it belongs to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, GetExtensions, RequestId, ServerJsonRpcMessage,
    ServerRequest,
};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::asking::{AskingCall, refused};

/// Where a question says which call it belongs to, once that is known from its stream.
const CALL_META: &str = "dev.panpan/call";

/// The method by which servers ask people.
const ASKS: &str = "elicitation/create";

/// How long a question may belong to a request nobody waits for any more.
const DOUBT: Duration = Duration::from_secs(60);

const SEVERAL: &str =
    "several requests are under way, and nothing tells which of them this question belongs to";
const IN_DOUBT: &str =
    "a request was given up, and nothing tells whether this question belongs to that one";
const NONE: &str = "no call is under way that this question could belong to";

/// The requests under way on one connection in which something may be asked. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Underway(Arc<Mutex<Requests>>);

#[derive(Debug, Default)]
struct Requests {
    last: u64,
    /// When nobody waited any more for a request the server may still be working on.
    given_up: Option<Instant>,
    by_number: BTreeMap<u64, Waiting>,
}

/// A request somebody waits for.
#[derive(Debug)]
struct Waiting {
    /// The call, where a tool is called.
    call: Option<AskingCall>,
    /// What it is known by to the server, once it was sent.
    id: Option<RequestId>,
}

/// Whose question a message is, as decided where it was read; it travels with the message.
#[derive(Clone, Debug)]
pub(super) struct Whose(pub(super) Result<AskingCall, ErrorData>);

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
        let waiting = requests.by_number.remove(&self.number.0);
        // One whose answer was read is not there any more.
        if waiting.is_some() && !self.answered {
            requests.given_up = Some(Instant::now());
        }
    }
}

impl Requests {
    fn is_in_doubt(&self) -> bool {
        self.given_up.is_some_and(|at| at.elapsed() < DOUBT)
    }
}

impl Underway {
    /// Notes a request before it is sent: a server may be quick to ask.
    pub(super) fn begin(&self, call: Option<&AskingCall>) -> Begun {
        let mut requests = self.requests();
        requests.last += 1;
        let number = requests.last;
        let call = call.cloned();
        requests
            .by_number
            .insert(number, Waiting { call, id: None });
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
        if let Some(waiting) = self.requests().by_number.get_mut(number) {
            waiting.id = Some(sent.id.clone());
        }
    }

    /// Follows what a server says where only the order of its messages tells what belongs together.
    pub(super) fn follow(&self, message: &mut ServerJsonRpcMessage) {
        match message {
            ServerJsonRpcMessage::Request(asked) => {
                if matches!(asked.request, ServerRequest::ElicitRequest(_)) {
                    let whose = Whose(self.asking(None));
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

    /// Notes that the server is done with a request.
    fn over(&self, id: &RequestId) {
        let mut requests = self.requests();
        requests
            .by_number
            .retain(|_, waiting| waiting.id.as_ref() != Some(id));
    }

    /// The call a question belongs to; `mark` is what it says about that.
    pub(super) fn asking(&self, mark: Option<&Value>) -> Result<AskingCall, ErrorData> {
        let requests = self.requests();
        let mut among = requests.by_number.values();
        let found = match mark.and_then(Value::as_u64) {
            Some(number) => requests.by_number.get(&number),
            None if requests.is_in_doubt() => return Err(refused(IN_DOUBT)),
            None if requests.by_number.len() <= 1 => among.next(),
            None => return Err(refused(SEVERAL)),
        };
        let found = found.and_then(|waiting| waiting.call.clone());
        found.ok_or_else(|| refused(NONE))
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

/// What a question says about the call it belongs to.
pub(super) fn mark(meta: &Map<String, Value>) -> Option<&Value> {
    meta.get(CALL_META)
}

/// A message as text that says to which request it belongs, if it is a question.
pub(super) fn marked(text: &str, number: RequestNumber) -> Option<String> {
    if !text.contains(ASKS) {
        return None;
    }
    let mut document: Value = serde_json::from_str(text).ok()?;
    if document.get("method")? != ASKS {
        return None;
    }
    let params = document.get_mut("params")?.as_object_mut()?;
    let meta = params.entry("_meta").or_insert_with(|| json!({}));
    let meta = meta.as_object_mut()?;
    meta.insert(CALL_META.to_owned(), number.0.into());
    Some(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Why a question that says this much about its call belongs to none.
    fn refusal(underway: &Underway, mark: Option<Value>) -> String {
        let refused = underway.asking(mark.as_ref()).unwrap_err();
        refused.message.into_owned()
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_was_given_up_is_remembered_for_some_time() {
        let underway = Underway::default();
        underway.begin(None).answered();
        assert_eq!(refusal(&underway, None), NONE);
        drop(underway.begin(None));
        let instant = Duration::from_millis(1);
        tokio::time::sleep(DOUBT - instant).await;
        assert_eq!(refusal(&underway, None), IN_DOUBT);
        // Where the stream tells, there is no doubt.
        assert_eq!(refusal(&underway, Some(json!(7))), NONE);
        tokio::time::sleep(instant).await;
        assert_eq!(refusal(&underway, None), NONE);
        let _two = (underway.begin(None), underway.begin(None));
        assert_eq!(refusal(&underway, None), SEVERAL);
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

    #[test]
    fn only_questions_are_marked() {
        let number = RequestNumber(7);
        let question = json!({"method": ASKS, "params": {"_meta": {"a": 1, CALL_META: 2}}});
        let marked_as: Value =
            serde_json::from_str(&marked(&question.to_string(), number).unwrap()).unwrap();
        assert_eq!(marked_as["params"]["_meta"], json!({"a": 1, CALL_META: 7}));
        for other in [
            json!({"method": "ping", "params": {"says": ASKS}}),
            json!({"result": ASKS}),
            json!({"method": ASKS}),
            json!([ASKS]),
        ] {
            assert_eq!(marked(&other.to_string(), number), None, "{other}");
        }
        assert_eq!(marked(ASKS, number), None);
    }
}
