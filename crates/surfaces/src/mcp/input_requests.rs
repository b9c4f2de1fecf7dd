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

use panpan_mcp::input::{UsableCapabilities, reply_in_session, to_reply, to_request};
use panpan_runtime::{AskClient, AskError, BoxFuture, Question, QuestionKinds, QuestionReply};
use rmcp::model::{ClientResult, InputRequest};
use rmcp::service::ServiceError;
use serde_json::{Map, Value};
use tokio::sync::oneshot;

/// The limit of queued input requests per call.
pub(super) const QUEUE_LIMIT: usize = 8;

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
            state.queued.retain(|open| !open.is_abandoned());
            if state.queued.is_empty() {
                state.waker = Some(task.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(Event::InputRequired(std::mem::take(&mut state.queued)))
        })
        .await
    }

    /// Takes the queued input requests that the work still waits for.
    pub(super) fn take(&self) -> Vec<OpenInput> {
        let mut queued = std::mem::take(&mut self.state().queued);
        queued.retain(|open| !open.is_abandoned());
        queued
    }

    /// Rejects all queued and future input requests with this reason, unless their responses are there.
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
        let request = to_request(question).ok_or(AskError::UnsupportedKind)?;
        let mut state = self.state();
        let (reply, receiver) = oneshot::channel();
        let given = name.as_ref().and_then(|name| state.responses.remove(name));
        let open = OpenInput {
            name,
            request,
            reply,
        };
        // After an invalid response the client is asked again.
        if let Some(reply) = given.and_then(|given| to_reply(&open.request, &given).ok()) {
            open.end(Ok(reply));
            return Ok(receiver);
        }
        if let Some(reason) = state.closed {
            return Err(reason);
        }
        if state.queued.len() >= QUEUE_LIMIT {
            return Err(AskError::TooManyOpen);
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

    /// Whether the work no longer waits for the reply.
    pub(super) fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }

    /// Waits until the work no longer waits for the reply.
    pub(super) async fn abandoned(&mut self) {
        self.reply.closed().await;
    }
}

/// The reply in the response of a client in a session.
pub(super) fn reply_in(
    response: Result<ClientResult, ServiceError>,
) -> Result<QuestionReply, AskError> {
    match response {
        Ok(result) => reply_in_session(result),
        Err(ServiceError::McpError(_)) => Err(AskError::Unsupported),
        Err(ServiceError::Timeout { .. }) => Err(AskError::TimedOut),
        Err(_) => Err(AskError::CallerLeft),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use panpan_runtime::QuestionKind;
    use serde_json::json;

    use super::*;

    fn queue_of(elicitation: Value) -> InputQueue {
        let client = serde_json::from_value(json!({"elicitation": elicitation})).unwrap();
        InputQueue::new(UsableCapabilities::of(&client).unwrap())
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
