//! Asking the person behind a call, and the time that takes: it is not the work's, so the usual end of an
//! attempt moves on with it. So it does when a service shows that it is still at work. A timeout that the caller
//! stated holds all the same.

use std::sync::{Arc, MutexGuard, PoisonError};

use futures_util::future::{Either, select};
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::Context;
use crate::dispatch::{later, milliseconds_between};
use crate::handler::{
    Answerable, AskPerson, BoxFuture, QUESTIONS_WAIT_LIMIT_MS, Question, Reply, Unasked,
};

/// How soon an attempt whose time is over is looked at again while a question is open.
const LOOK_MS: u64 = 1000;

/// How long an attempt may last at most whose service shows again and again that it is at work.
pub const SIGNS_OF_LIFE_LIMIT_MS: u64 = 60 * 60 * 1000;

/// How long people were waited for in an attempt, and until when the service has time that showed that it is at work.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waited {
    alive_until: Option<Timestamp>,
    /// How many questions are open, and since when there is one.
    open: u32,
    since: Timestamp,
    /// How long questions were open that no longer are.
    before_ms: u64,
}

impl Waited {
    fn until(self, now: Timestamp) -> u64 {
        match self.open {
            0 => self.before_ms,
            _ => self.before_ms + milliseconds_between(self.since, now),
        }
    }
}

impl Context {
    /// Whether there is a way to the person behind the call. They may still be unable to take a question.
    pub fn can_ask(&self) -> bool {
        self.0.call.person.is_some()
    }

    /// What the person behind the call and their client can be asked.
    pub fn answerable(&self) -> Answerable {
        let person = self.0.call.person.as_ref();
        person.map_or_else(Answerable::default, |it| it.answerable())
    }

    /// The experimental capabilities and extensions that the client declares.
    pub fn client_declares(&self) -> Option<&Map<String, Value>> {
        self.0.call.person.as_ref()?.declared()
    }

    /// Whether the client shows an address that has to be visited by itself, where a server refuses a call with it.
    pub fn visits_when_refused(&self) -> bool {
        let person = self.0.call.person.as_ref();
        person.is_some_and(|it| it.visits_when_refused())
    }

    /// Asks the person behind the call, and waits for what they say, but not beyond the attempt and in all
    /// no longer than [`QUESTIONS_WAIT_LIMIT_MS`].
    ///
    /// A question larger than [`QUESTION_BYTES_LIMIT`](crate::QUESTION_BYTES_LIMIT), or to a model larger than
    /// [`PROMPT_BYTES_LIMIT`](crate::PROMPT_BYTES_LIMIT), is not asked. What is
    /// secret in the message is removed, as it is from words about progress. Neither the question
    /// nor the reply is recorded.
    pub async fn ask(&self, mut question: Question) -> Result<Reply, Unasked> {
        let person = self.0.call.person.as_ref().ok_or(Unasked::Nobody)?;
        if !question.fits() {
            return Err(Unasked::Large);
        }
        let left_ms = QUESTIONS_WAIT_LIMIT_MS.saturating_sub(self.waited_ms(self.now()));
        if left_ms == 0 {
            return Err(Unasked::Silence);
        }
        question.message = self.redactor().text(&question.message).into_owned();
        let _open = Open::of(self);
        let patience = self.0.dispatcher.ports().clock.sleep(left_ms);
        let asked = select(person.ask(question), patience);
        match self.cancellation().run_until_cancelled(asked).await {
            Some(Either::Left((said, _))) => said,
            Some(Either::Right(_)) => Err(Unasked::Silence),
            None => Err(Unasked::Gone),
        }
    }

    /// Notes that the service that the attempt waits for is at work. The attempt then has its whole time again, up
    /// to [`SIGNS_OF_LIFE_LIMIT_MS`] after it began.
    pub fn note_sign_of_life(&self) {
        let timeout_ms = milliseconds_between(self.0.began, self.0.deadline);
        let until = later(self.now(), timeout_ms);
        let last = later(self.0.began, SIGNS_OF_LIFE_LIMIT_MS.max(timeout_ms));
        self.waited().alive_until = Some(until.min(last));
    }

    /// Whether a person is being asked now.
    pub(crate) fn is_asking(&self) -> bool {
        self.waited().open > 0
    }

    /// How much longer an attempt may go on whose time seemed to be over.
    pub(crate) fn more_time_ms(&self) -> Option<u64> {
        let waited = *self.waited();
        if waited.open == 0 && waited.before_ms == 0 && waited.alive_until.is_none() {
            return None;
        }
        let now = self.now();
        let left_ms = milliseconds_between(now, self.deadline_at(now));
        let stated = self.0.call.stated_deadline();
        let stated_ms = stated.map_or(u64::MAX, |stated| milliseconds_between(now, stated));
        let more_ms = match waited.open {
            0 => left_ms,
            _ => left_ms.max(LOOK_MS).min(stated_ms),
        };
        (more_ms > 0).then_some(more_ms)
    }

    pub(super) fn deadline_at(&self, now: Timestamp) -> Timestamp {
        let alive_until = self.waited().alive_until.unwrap_or(self.0.deadline);
        let usual = later(self.0.deadline.max(alive_until), self.waited_ms(now));
        let stated = self.0.call.stated_deadline();
        stated.map_or(usual, |stated| usual.min(stated))
    }

    fn waited_ms(&self, now: Timestamp) -> u64 {
        self.waited().until(now)
    }

    fn waited(&self) -> MutexGuard<'_, Waited> {
        self.0.waited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question that is open, until this is dropped.
struct Open<'a>(&'a Context);

impl<'a> Open<'a> {
    fn of(context: &'a Context) -> Self {
        let now = context.now();
        let mut waited = context.waited();
        if waited.open == 0 {
            waited.since = now;
        }
        waited.open += 1;
        Self(context)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let now = self.0.now();
        let mut waited = self.0.waited();
        let before_ms = waited.until(now);
        waited.open -= 1;
        if waited.open == 0 {
            waited.before_ms = before_ms;
        }
    }
}

/// The way to a person for an operation that another one called: through the call of the other, whose
/// time stands still as well.
#[derive(Debug)]
pub(super) struct Relayed(Context);

impl Relayed {
    pub(super) fn by(context: &Context) -> Arc<dyn AskPerson> {
        Arc::new(Self(context.clone()))
    }
}

impl AskPerson for Relayed {
    fn answerable(&self) -> Answerable {
        self.0.answerable()
    }

    fn declared(&self) -> Option<&Map<String, Value>> {
        self.0.client_declares()
    }

    fn visits_when_refused(&self) -> bool {
        self.0.visits_when_refused()
    }

    fn ask(&self, question: Question) -> BoxFuture<'_, Result<Reply, Unasked>> {
        Box::pin(self.0.ask(question))
    }
}
