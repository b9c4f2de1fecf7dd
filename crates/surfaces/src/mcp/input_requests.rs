//! Input requests (elicitation, sampling, roots) of a call, from the work to the request that
//! serves it.
//!
//! The work may run in its own task, and only the request knows how to reach the client: it takes
//! the input requests from this queue while it waits for the work.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use panpan_runtime::{
    AskClient, AskError, BoxFuture, Question, QuestionKind, QuestionKinds, QuestionReply,
};
use rmcp::model::{
    ClientCapabilities, ClientResult, CreateMessageRequest, ElicitRequest, ElicitResult,
    ElicitationAction, ElicitationCapability, InputRequest, ListRootsRequest, ServerRequest,
};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

/// The limit of queued input requests per call.
pub(super) const QUEUE_LIMIT: usize = 8;

/// The kinds of input that a client declares to support; `None` if there are none.
pub(super) fn supported_kinds(client: &ClientCapabilities) -> Option<QuestionKinds> {
    let mut kinds = QuestionKinds {
        sampling: client.sampling.is_some(),
        roots: client.roots.is_some(),
        ..QuestionKinds::default()
    };
    if let Some(ElicitationCapability { form, url, .. }) = &client.elicitation {
        // Older clients declare no modes and support forms.
        kinds.form = form.is_some() || url.is_none();
        kinds.url = url.is_some();
    }
    (kinds != QuestionKinds::default()).then_some(kinds)
}

/// The capabilities of a client that upstream servers can use.
#[derive(Clone, Debug, Default)]
pub(super) struct UsableCapabilities {
    pub(super) kinds: QuestionKinds,
    /// Its experimental capabilities and extensions.
    pub(super) declared: Map<String, Value>,
}

impl UsableCapabilities {
    /// The capabilities of a client; `None` if upstream servers can use none of them.
    pub(super) fn of(client: &ClientCapabilities) -> Option<Self> {
        let mut declared = Map::new();
        for (name, value) in [
            ("experimental", serde_json::to_value(&client.experimental)),
            ("extensions", serde_json::to_value(&client.extensions)),
        ] {
            if let Ok(value @ Value::Object(_)) = value {
                declared.insert(name.to_owned(), value);
            }
        }
        let kinds = supported_kinds(client);
        (kinds.is_some() || !declared.is_empty()).then(|| Self {
            kinds: kinds.unwrap_or_default(),
            declared,
        })
    }
}

/// The queued input requests of one call.
#[derive(Debug)]
pub(super) struct InputQueue {
    client: UsableCapabilities,
    /// Whether the client has no session.
    is_stateless: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    queued: Vec<OpenInput>,
    /// The `inputResponses` of the request, by name.
    responses: Map<String, Value>,
    waker: Option<Waker>,
    /// Why no more input requests are accepted.
    closed: Option<AskError>,
}

impl fmt::Debug for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("State");
        shown.field("queued", &self.queued.len());
        shown.finish_non_exhaustive()
    }
}

/// An open input request; dropping it reports that it got no response.
#[derive(Debug)]
pub(super) struct OpenInput {
    /// The name that the upstream server gave it.
    pub(super) name: Option<String>,
    pub(super) request: InputRequest,
    reply: oneshot::Sender<Result<QuestionReply, AskError>>,
}

/// Either the work has ended or it needs input.
#[derive(Debug)]
pub(super) enum Event<T> {
    Finished(T),
    InputRequired(Vec<OpenInput>),
}

impl InputQueue {
    pub(super) fn new(client: UsableCapabilities) -> Self {
        let state = Mutex::default();
        Self {
            client,
            is_stateless: false,
            state,
        }
    }

    /// Input requests that reach the client in an `InputRequiredResult`. A response that the
    /// request already carries answers the input request of its name, once; others are ignored, as
    /// the specification requires.
    pub(super) fn stateless(client: UsableCapabilities, responses: Map<String, Value>) -> Self {
        let state = State {
            responses,
            ..State::default()
        };
        Self {
            client,
            is_stateless: true,
            state: Mutex::new(state),
        }
    }

    /// Waits until the work ends or needs input.
    pub(super) async fn during<T, W>(&self, work: &mut W) -> Event<T>
    where
        W: Future<Output = T> + Unpin,
    {
        poll_fn(|task| {
            if let Poll::Ready(done) = Pin::new(&mut *work).poll(task) {
                return Poll::Ready(Event::Finished(done));
            }
            let mut state = self.state();
            state.queued.retain(|open| !open.reply.is_closed());
            if state.queued.is_empty() {
                state.waker = Some(task.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(Event::InputRequired(std::mem::take(&mut state.queued)))
        })
        .await
    }

    /// Rejects all queued and future input requests with this reason.
    pub(super) fn close(&self, reason: AskError) {
        let mut state = self.state();
        state.closed.get_or_insert(reason);
        for open in std::mem::take(&mut state.queued) {
            open.end(Err(reason));
        }
    }

    fn push(
        &self,
        question: Question,
    ) -> Result<oneshot::Receiver<Result<QuestionReply, AskError>>, AskError> {
        if !self.client.kinds.includes(&question.kind) {
            return Err(AskError::UnsupportedKind);
        }
        let name = question.name.clone();
        let request = input_request(question).ok_or(AskError::UnsupportedKind)?;
        let mut state = self.state();
        if let Some(reason) = state.closed {
            return Err(reason);
        }
        if state.queued.len() >= QUEUE_LIMIT {
            return Err(AskError::TooManyOpen);
        }
        let (reply, receiver) = oneshot::channel();
        let given = name.as_ref().and_then(|name| state.responses.remove(name));
        let open = OpenInput {
            name,
            request,
            reply,
        };
        // After an invalid response the client is asked again.
        if let Some(reply) = given.and_then(|given| open.parse_reply(&given).ok()) {
            open.end(Ok(reply));
            return Ok(receiver);
        }
        state.queued.push(open);
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
        Ok(receiver)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AskClient for InputQueue {
    fn question_kinds(&self) -> QuestionKinds {
        self.client.kinds
    }

    fn declared(&self) -> Option<&Map<String, Value>> {
        Some(&self.client.declared).filter(|it| !it.is_empty())
    }

    fn handles_url_required(&self) -> bool {
        !self.is_stateless
    }

    fn ask(&self, question: Question) -> BoxFuture<'_, Result<QuestionReply, AskError>> {
        let queued = self.push(question);
        Box::pin(async { queued?.await.unwrap_or(Err(AskError::CallerLeft)) })
    }
}

impl OpenInput {
    /// Reports the reply, or why there is none.
    pub(super) fn end(self, reply: Result<QuestionReply, AskError>) {
        // The work may have stopped waiting.
        let _ = self.reply.send(reply);
    }

    /// Parses a member of `inputResponses`.
    pub(super) fn parse_reply(&self, given: &Value) -> Result<QuestionReply, InvalidReply> {
        match &self.request {
            InputRequest::Elicitation(_) => {
                let result = ElicitResult::deserialize(given);
                let result =
                    result.map_err(|_| InvalidReply::Not("the result of an elicitation"))?;
                elicitation_reply(result).ok_or(InvalidReply::Content)
            }
            _ if given.is_object() => Ok(QuestionReply::Result(given.clone())),
            _ => Err(InvalidReply::Not("an object")),
        }
    }

    /// Waits until the work no longer waits for the reply.
    pub(super) async fn abandoned(&mut self) {
        self.reply.closed().await;
    }
}

/// Why a response is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InvalidReply {
    /// It is not this.
    Not(&'static str),
    /// Its content is not an object.
    Content,
}

/// The question as an input request of the protocol; `None` for a schema that elicitation does not
/// allow.
pub(super) fn input_request(Question { message, kind, .. }: Question) -> Option<InputRequest> {
    let elicit = |params: Value| {
        let params = serde_json::from_value(params).ok()?;
        Some(InputRequest::Elicitation(ElicitRequest::new(params)))
    };
    match kind {
        QuestionKind::Form { schema } => {
            elicit(json!({"mode": "form", "message": message, "requestedSchema": schema}))
        }
        QuestionKind::Url { url, id } => {
            elicit(json!({"mode": "url", "message": message, "url": url, "elicitationId": id}))
        }
        QuestionKind::Sampling { params } => {
            let params = serde_json::from_value(params).ok()?;
            Some(InputRequest::CreateMessage(CreateMessageRequest::new(
                params,
            )))
        }
        QuestionKind::Roots => Some(InputRequest::ListRoots(ListRootsRequest::default())),
    }
}

/// The input request as a request to a client in a session.
pub(super) fn server_request(request: InputRequest) -> Option<ServerRequest> {
    Some(match request {
        InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
        InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
        InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
        _ => return None,
    })
}

/// The reply in the response of a client in a session.
pub(super) fn reply_in_result(result: ClientResult) -> Result<QuestionReply, AskError> {
    let value = match result {
        ClientResult::ElicitResult(result) => {
            return elicitation_reply(result).ok_or(AskError::Unsupported);
        }
        ClientResult::CreateMessageResult(result) => serde_json::to_value(result),
        ClientResult::ListRootsResult(result) => serde_json::to_value(result),
        _ => return Err(AskError::Unsupported),
    };
    value
        .map(QuestionReply::Result)
        .map_err(|_| AskError::Unsupported)
}

/// The reply in an elicitation result; `None` if its content is not an object.
fn elicitation_reply(result: ElicitResult) -> Option<QuestionReply> {
    Some(match (result.action, result.content) {
        (ElicitationAction::Accept, Some(Value::Object(values))) => QuestionReply::Accepted(values),
        // The reply to a URL elicitation has no content.
        (ElicitationAction::Accept, None) => QuestionReply::Accepted(Map::new()),
        (ElicitationAction::Accept, Some(_)) => return None,
        (ElicitationAction::Decline, _) => QuestionReply::Declined,
        _ => QuestionReply::Cancelled,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn queue_of(elicitation: Value) -> InputQueue {
        let client = serde_json::from_value(json!({"elicitation": elicitation})).unwrap();
        InputQueue::new(UsableCapabilities::of(&client).unwrap())
    }

    #[test]
    fn client_extensions_are_kept_unchanged() {
        let extensions = json!({"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html"]}});
        let client = serde_json::from_value(json!({"extensions": extensions})).unwrap();
        let client = UsableCapabilities::of(&client).unwrap();
        assert_eq!(client.kinds, QuestionKinds::default());
        assert_eq!(
            Value::Object(client.declared),
            json!({"extensions": extensions})
        );
        assert!(UsableCapabilities::of(&ClientCapabilities::default()).is_none());
    }

    fn form(schema: Value) -> Question {
        Question {
            name: None,
            message: "Who?".to_owned(),
            kind: QuestionKind::Form { schema },
        }
    }

    fn flat() -> Question {
        form(json!({"type": "object", "properties": {"name": {"type": "string"}}}))
    }

    fn visit() -> Question {
        let (url, id) = ("https://login.test".to_owned(), "e-1".to_owned());
        Question {
            name: None,
            message: "Log in".to_owned(),
            kind: QuestionKind::Url { url, id },
        }
    }

    fn roots() -> Question {
        Question {
            name: None,
            message: String::new(),
            kind: QuestionKind::Roots,
        }
    }

    #[test]
    fn only_declared_kinds_of_input_are_requested() {
        let nested = form(json!({"type": "object", "properties": {"a": {"type": "object"}}}));
        let accepted = Ok::<(), AskError>(());
        let kind = Err(AskError::UnsupportedKind);
        for (client, question, expected) in [
            (json!({}), flat(), accepted),
            (json!({}), visit(), kind),
            (json!({"form": {}}), flat(), accepted),
            (json!({"form": {}}), visit(), kind),
            (json!({"url": {}}), visit(), accepted),
            (json!({"url": {}}), flat(), kind),
            (json!({"form": {}, "url": {}}), visit(), accepted),
            (json!({}), nested, kind),
            (json!({}), roots(), kind),
        ] {
            let queue = queue_of(client.clone());
            let queued = queue.push(question).map(drop);
            assert_eq!(queued, expected, "{client}");
        }
        assert_eq!(supported_kinds(&ClientCapabilities::default()), None);
        let client = serde_json::from_value(json!({"sampling": {}, "roots": {}})).unwrap();
        let both = QuestionKinds {
            sampling: true,
            roots: true,
            ..QuestionKinds::default()
        };
        assert_eq!(supported_kinds(&client), Some(both));
    }

    #[test]
    fn the_queue_is_limited_and_rejects_requests_once_closed() {
        let queue = queue_of(json!({}));
        let replies: Vec<_> = (0..QUEUE_LIMIT)
            .map(|_| queue.push(flat()).unwrap())
            .collect();
        assert_eq!(queue.push(flat()).map(drop), Err(AskError::TooManyOpen));
        // The first reason wins.
        for reason in [AskError::Stopping, AskError::CallerLeft] {
            queue.close(reason);
            assert_eq!(queue.push(flat()).map(drop), Err(AskError::Stopping));
        }
        for mut receiver in replies {
            assert_eq!(receiver.try_recv(), Ok(Err(AskError::Stopping)));
        }
    }

    #[tokio::test]
    async fn an_input_request_is_taken_while_the_work_waits_for_its_reply() {
        let queue = Arc::new(queue_of(json!({})));
        let asks = queue.clone();
        let mut work = tokio::spawn(async move { asks.ask(flat()).await });
        let Event::InputRequired(mut open) = queue.during(&mut work).await else {
            panic!("no input was requested");
        };
        open.remove(0).end(Ok(QuestionReply::Declined));
        let Event::Finished(reply) = queue.during(&mut work).await else {
            panic!("more input was requested");
        };
        assert_eq!(reply.unwrap(), Ok(QuestionReply::Declined));
    }
}
