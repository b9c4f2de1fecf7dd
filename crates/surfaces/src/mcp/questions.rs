//! Questions to the person behind a call or to their client, on their way from the work to the request that
//! serves it.
//!
//! The work may run in a task of its own, and only the request knows how its client is asked: it takes the
//! questions up while it waits for the work.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use panpan_runtime::{Answerable, AskPerson, BoxFuture, Question, Reply, Unasked, Wanted};
use rmcp::model::{
    ClientCapabilities, ClientResult, CreateMessageRequest, ElicitRequest, ElicitResult,
    ElicitationAction, ElicitationCapability, InputRequest, ListRootsRequest, ServerRequest,
};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

/// How many questions of one call wait to be taken up.
pub(super) const QUESTIONS_LIMIT: usize = 8;

/// What a client says it can show or answer itself; `None` for one that cannot be asked anything.
pub(super) fn answerable(client: &ClientCapabilities) -> Option<Answerable> {
    let mut kinds = Answerable {
        sample: client.sampling.is_some(),
        roots: client.roots.is_some(),
        ..Answerable::default()
    };
    if let Some(ElicitationCapability { form, url, .. }) = &client.elicitation {
        // Before there were kinds, there were forms.
        kinds.values = form.is_some() || url.is_none();
        kinds.visit = url.is_some();
    }
    (kinds != Answerable::default()).then_some(kinds)
}

/// What a client can do for the servers behind.
#[derive(Clone, Debug, Default)]
pub(super) struct Abilities {
    pub(super) kinds: Answerable,
    /// Its experimental capabilities and extensions.
    pub(super) declared: Map<String, Value>,
}

impl Abilities {
    /// What a client says of itself; `None` for one that can do nothing beyond the protocol.
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
        let kinds = answerable(client);
        (kinds.is_some() || !declared.is_empty()).then(|| Self {
            kinds: kinds.unwrap_or_default(),
            declared,
        })
    }
}

/// The questions of one call that wait to be taken up.
#[derive(Debug)]
pub(super) struct Questions {
    client: Abilities,
    /// Whether the client has no session.
    asks_by_answer: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: Vec<Open>,
    /// Replies that the client sent along with its request, by the names of the questions.
    given: Map<String, Value>,
    waker: Option<Waker>,
    /// Why nobody takes questions up any more.
    closed: Option<Unasked>,
}

impl fmt::Debug for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("State");
        shown.field("waiting", &self.waiting.len());
        shown.finish_non_exhaustive()
    }
}

/// A question that was taken up; dropping it says that nobody answered.
#[derive(Debug)]
pub(super) struct Open {
    /// The name that the asking server gave it.
    pub(super) name: Option<String>,
    pub(super) asked: InputRequest,
    reply: oneshot::Sender<Result<Reply, Unasked>>,
}

/// What came first.
#[derive(Debug)]
pub(super) enum First<T> {
    Done(T),
    Asked(Vec<Open>),
}

impl Questions {
    pub(super) fn new(client: Abilities) -> Self {
        let state = Mutex::default();
        Self {
            client,
            asks_by_answer: false,
            state,
        }
    }

    /// Questions that reach the client in the answer to its request, which may have brought replies along. Each of
    /// those answers the question of its name, once; others are ignored, as the protocol says.
    pub(super) fn by_answer(client: Abilities, given: Map<String, Value>) -> Self {
        let state = State {
            given,
            ..State::default()
        };
        Self {
            client,
            asks_by_answer: true,
            state: Mutex::new(state),
        }
    }

    /// Waits for some work, or for questions it asks meanwhile.
    pub(super) async fn during<T, W>(&self, work: &mut W) -> First<T>
    where
        W: Future<Output = T> + Unpin,
    {
        poll_fn(|task| {
            if let Poll::Ready(done) = Pin::new(&mut *work).poll(task) {
                return Poll::Ready(First::Done(done));
            }
            let mut state = self.state();
            state.waiting.retain(|open| !open.reply.is_closed());
            if state.waiting.is_empty() {
                state.waker = Some(task.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(First::Asked(std::mem::take(&mut state.waiting)))
        })
        .await
    }

    /// Says to all who ask, now and later, why nobody answers.
    pub(super) fn close(&self, why: Unasked) {
        let mut state = self.state();
        state.closed.get_or_insert(why);
        for open in std::mem::take(&mut state.waiting) {
            open.end(Err(why));
        }
    }

    fn enter(
        &self,
        question: Question,
    ) -> Result<oneshot::Receiver<Result<Reply, Unasked>>, Unasked> {
        if !self.client.kinds.includes(&question.wanted) {
            return Err(Unasked::Kind);
        }
        let name = question.name.clone();
        let asked = asked(question).ok_or(Unasked::Kind)?;
        let mut state = self.state();
        if let Some(why) = state.closed {
            return Err(why);
        }
        if state.waiting.len() >= QUESTIONS_LIMIT {
            return Err(Unasked::Full);
        }
        let (reply, receiver) = oneshot::channel();
        let given = name.as_ref().and_then(|name| state.given.remove(name));
        let open = Open { name, asked, reply };
        // A reply that does not fit is asked for again.
        if let Some(reply) = given.and_then(|given| open.replied(&given).ok()) {
            open.end(Ok(reply));
            return Ok(receiver);
        }
        state.waiting.push(open);
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
        Ok(receiver)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AskPerson for Questions {
    fn answerable(&self) -> Answerable {
        self.client.kinds
    }

    fn declared(&self) -> Option<&Map<String, Value>> {
        Some(&self.client.declared).filter(|it| !it.is_empty())
    }

    fn visits_when_refused(&self) -> bool {
        !self.asks_by_answer
    }

    fn ask(&self, question: Question) -> BoxFuture<'_, Result<Reply, Unasked>> {
        let entered = self.enter(question);
        Box::pin(async { entered?.await.unwrap_or(Err(Unasked::Gone)) })
    }
}

impl Open {
    /// Hands over what became of it.
    pub(super) fn end(self, said: Result<Reply, Unasked>) {
        // Whoever asked may have stopped waiting.
        let _ = self.reply.send(said);
    }

    /// What a client without sessions sent as a reply.
    pub(super) fn replied(&self, given: &Value) -> Result<Reply, Unfit> {
        match &self.asked {
            InputRequest::Elicitation(_) => {
                let result = ElicitResult::deserialize(given);
                let result = result.map_err(|_| Unfit::Whole("the result of an elicitation"))?;
                reply(result).ok_or(Unfit::Content)
            }
            _ if given.is_object() => Ok(Reply::Result(given.clone())),
            _ => Err(Unfit::Whole("an object")),
        }
    }

    /// Waits until nobody wants to know any more.
    pub(super) async fn given_up(&mut self) {
        self.reply.closed().await;
    }
}

/// Why what a client sent is no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    /// It is not this.
    Whole(&'static str),
    /// Its content is no object.
    Content,
}

/// The question in the words of the protocol, which has none for schemas of any shape.
pub(super) fn asked(
    Question {
        message, wanted, ..
    }: Question,
) -> Option<InputRequest> {
    let elicit = |asked: Value| {
        let params = serde_json::from_value(asked).ok()?;
        Some(InputRequest::Elicitation(ElicitRequest::new(params)))
    };
    match wanted {
        Wanted::Values { schema } => {
            elicit(json!({"mode": "form", "message": message, "requestedSchema": schema}))
        }
        Wanted::Visit { url, id } => {
            elicit(json!({"mode": "url", "message": message, "url": url, "elicitationId": id}))
        }
        Wanted::Sample { params } => {
            let params = serde_json::from_value(params).ok()?;
            Some(InputRequest::CreateMessage(CreateMessageRequest::new(
                params,
            )))
        }
        Wanted::Roots => Some(InputRequest::ListRoots(ListRootsRequest::default())),
    }
}

/// The same as a request to a client in a session.
pub(super) fn request(asked: InputRequest) -> Option<ServerRequest> {
    Some(match asked {
        InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
        InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
        InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
        _ => return None,
    })
}

/// What a client in a session said.
pub(super) fn answered(result: ClientResult) -> Result<Reply, Unasked> {
    let written = match result {
        ClientResult::ElicitResult(result) => return reply(result).ok_or(Unasked::Nobody),
        ClientResult::CreateMessageResult(result) => serde_json::to_value(result),
        ClientResult::ListRootsResult(result) => serde_json::to_value(result),
        _ => return Err(Unasked::Nobody),
    };
    written.map(Reply::Result).map_err(|_| Unasked::Nobody)
}

/// What a person said, in the words of the protocol; `None` if they agreed to something that is no form.
fn reply(result: ElicitResult) -> Option<Reply> {
    Some(match (result.action, result.content) {
        (ElicitationAction::Accept, Some(Value::Object(values))) => Reply::Accepted(values),
        // Whoever visited an address gives no values.
        (ElicitationAction::Accept, None) => Reply::Accepted(Map::new()),
        (ElicitationAction::Accept, Some(_)) => return None,
        (ElicitationAction::Decline, _) => Reply::Declined,
        _ => Reply::Cancelled,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn asking(elicitation: Value) -> Questions {
        let client = serde_json::from_value(json!({"elicitation": elicitation})).unwrap();
        Questions::new(Abilities::of(&client).unwrap())
    }

    #[test]
    fn extensions_of_a_client_are_kept_as_it_declares_them() {
        let extensions = json!({"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html"]}});
        let client = serde_json::from_value(json!({"extensions": extensions})).unwrap();
        let client = Abilities::of(&client).unwrap();
        assert_eq!(client.kinds, Answerable::default());
        assert_eq!(
            Value::Object(client.declared),
            json!({"extensions": extensions})
        );
        assert!(Abilities::of(&ClientCapabilities::default()).is_none());
    }

    fn form(schema: Value) -> Question {
        Question {
            name: None,
            message: "Who?".to_owned(),
            wanted: Wanted::Values { schema },
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
            wanted: Wanted::Visit { url, id },
        }
    }

    fn roots() -> Question {
        Question {
            name: None,
            message: String::new(),
            wanted: Wanted::Roots,
        }
    }

    #[test]
    fn a_client_is_asked_what_it_says_it_can_show() {
        let nested = form(json!({"type": "object", "properties": {"a": {"type": "object"}}}));
        let taken = Ok::<(), Unasked>(());
        let kind = Err(Unasked::Kind);
        for (client, question, expected) in [
            (json!({}), flat(), taken),
            (json!({}), visit(), kind),
            (json!({"form": {}}), flat(), taken),
            (json!({"form": {}}), visit(), kind),
            (json!({"url": {}}), visit(), taken),
            (json!({"url": {}}), flat(), kind),
            (json!({"form": {}, "url": {}}), visit(), taken),
            (json!({}), nested, kind),
            (json!({}), roots(), kind),
        ] {
            let questions = asking(client.clone());
            let entered = questions.enter(question).map(drop);
            assert_eq!(entered, expected, "{client}");
        }
        assert_eq!(answerable(&ClientCapabilities::default()), None);
        let client = serde_json::from_value(json!({"sampling": {}, "roots": {}})).unwrap();
        let both = Answerable {
            sample: true,
            roots: true,
            ..Answerable::default()
        };
        assert_eq!(answerable(&client), Some(both));
    }

    #[test]
    fn only_so_many_questions_wait_and_none_once_they_are_closed() {
        let questions = asking(json!({}));
        let waiting: Vec<_> = (0..QUESTIONS_LIMIT)
            .map(|_| questions.enter(flat()).unwrap())
            .collect();
        assert_eq!(questions.enter(flat()).map(drop), Err(Unasked::Full));
        // The first reason is the one that counts.
        for why in [Unasked::Stopping, Unasked::Gone] {
            questions.close(why);
            assert_eq!(questions.enter(flat()).map(drop), Err(Unasked::Stopping));
        }
        for mut receiver in waiting {
            assert_eq!(receiver.try_recv(), Ok(Err(Unasked::Stopping)));
        }
    }

    #[tokio::test]
    async fn a_question_is_taken_up_while_the_work_waits_for_its_reply() {
        let questions = Arc::new(asking(json!({})));
        let person = questions.clone();
        let mut work = tokio::spawn(async move { person.ask(flat()).await });
        let First::Asked(mut open) = questions.during(&mut work).await else {
            panic!("nothing was asked");
        };
        open.remove(0).end(Ok(Reply::Declined));
        let First::Done(said) = questions.during(&mut work).await else {
            panic!("something else was asked");
        };
        assert_eq!(said.unwrap(), Ok(Reply::Declined));
    }
}
