//! Questions to the person behind a call, on their way from the work to the request that serves it.
//!
//! The work may run in a task of its own, and only the request knows how its client is asked: it takes the
//! questions up while it waits for the work.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use panpan_runtime::{AskPerson, BoxFuture, Question, Reply, Unasked, Wanted};
use rmcp::model::{
    ClientCapabilities, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability,
};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

/// How many questions of one call wait to be taken up.
pub(super) const QUESTIONS_LIMIT: usize = 8;

/// The kinds of questions a client can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kinds {
    values: bool,
    visit: bool,
}

impl Kinds {
    /// What a client says it can show; `None` for one that cannot show any.
    pub(super) fn of(client: &ClientCapabilities) -> Option<Self> {
        let ElicitationCapability { form, url, .. } = client.elicitation.as_ref()?;
        // Before there were kinds, there were forms.
        Some(Self {
            values: form.is_some() || url.is_none(),
            visit: url.is_some(),
        })
    }

    fn include(self, wanted: &Wanted) -> bool {
        match wanted {
            Wanted::Values { .. } => self.values,
            Wanted::Visit { .. } => self.visit,
        }
    }
}

/// The questions of one call that wait to be taken up.
#[derive(Debug)]
pub(super) struct Questions {
    kinds: Kinds,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<Open>,
    waker: Option<Waker>,
    /// Why nobody takes questions up any more.
    closed: Option<Unasked>,
}

/// A question that was taken up; dropping it says that nobody answered.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) asked: ElicitRequestParams,
    reply: oneshot::Sender<Result<Reply, Unasked>>,
}

/// What came first.
#[derive(Debug)]
pub(super) enum First<T> {
    Done(T),
    Asked(Vec<Open>),
}

impl Questions {
    pub(super) fn new(kinds: Kinds) -> Self {
        let state = Mutex::default();
        Self { kinds, state }
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
        if !self.kinds.include(&question.wanted) {
            return Err(Unasked::Kind);
        }
        let asked = asked(question).ok_or(Unasked::Kind)?;
        let mut state = self.state();
        if let Some(why) = state.closed {
            return Err(why);
        }
        if state.waiting.len() >= QUESTIONS_LIMIT {
            return Err(Unasked::Full);
        }
        let (reply, receiver) = oneshot::channel();
        state.waiting.push(Open { asked, reply });
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

    /// Waits until nobody wants to know any more.
    pub(super) async fn given_up(&mut self) {
        self.reply.closed().await;
    }
}

/// The question in the words of the protocol, which has none for schemas of any shape.
fn asked(Question { message, wanted }: Question) -> Option<ElicitRequestParams> {
    let asked = match wanted {
        Wanted::Values { schema } => {
            json!({"mode": "form", "message": message, "requestedSchema": schema})
        }
        Wanted::Visit { url, id } => {
            json!({"mode": "url", "message": message, "url": url, "elicitationId": id})
        }
    };
    serde_json::from_value(asked).ok()
}

/// What a person said, in the words of the protocol; `None` if they agreed to something that is no form.
pub(super) fn reply(result: ElicitResult) -> Option<Reply> {
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

    fn kinds(elicitation: Value) -> Option<Kinds> {
        let client = serde_json::from_value(json!({"elicitation": elicitation})).unwrap();
        Kinds::of(&client)
    }

    fn form(schema: Value) -> Question {
        Question {
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
            message: "Log in".to_owned(),
            wanted: Wanted::Visit { url, id },
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
        ] {
            let questions = Questions::new(kinds(client.clone()).unwrap());
            let entered = questions.enter(question).map(drop);
            assert_eq!(entered, expected, "{client}");
        }
        assert_eq!(Kinds::of(&ClientCapabilities::default()), None);
    }

    #[test]
    fn only_so_many_questions_wait_and_none_once_they_are_closed() {
        let questions = Questions::new(kinds(json!({})).unwrap());
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
        let questions = Arc::new(Questions::new(kinds(json!({})).unwrap()));
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
