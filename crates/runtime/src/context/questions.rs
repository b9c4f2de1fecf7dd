//! Questions to the client of a call, and the moving deadline of an attempt.
//!
//! The timeout of an attempt pauses while a question is open, and starts over when the upstream shows progress.
//! A timeout that the caller set is never extended.

use futures_util::future::{Either, select};
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::Context;
use crate::handler::{
    AskClient, AskError, BoxFuture, QUESTIONS_WAIT_LIMIT_MS, Question, QuestionKinds, QuestionReply,
};
use crate::lock::lock;
use crate::time::{later, milliseconds_between};

/// How often an attempt past its timeout is checked while a question is open.
const POLL_MS: u64 = 1000;

/// The longest duration of an attempt whose timeout is reset again and again.
pub const EXTENDED_ATTEMPT_LIMIT_MS: u64 = 60 * 60 * 1000;

/// The pauses of an attempt for questions, and the deadline after the last reset.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pauses {
    reset_until: Option<Timestamp>,
    /// How many questions are open, and since when.
    open: u32,
    since: Timestamp,
    /// How long earlier questions were open.
    before_ms: u64,
}

impl Pauses {
    fn total_ms(self, now: Timestamp) -> u64 {
        match self.open {
            0 => self.before_ms,
            _ => self.before_ms + milliseconds_between(self.since, now),
        }
    }
}

impl Context {
    /// Whether questions can be sent to the client. It may still refuse a particular kind.
    pub fn can_ask(&self) -> bool {
        self.0.call.client.is_some()
    }

    /// Asks the client and waits for the reply until the attempt ends, for at most [`QUESTIONS_WAIT_LIMIT_MS`]
    /// for all questions of the attempt.
    ///
    /// A question larger than [`QUESTION_BYTES_LIMIT`](crate::QUESTION_BYTES_LIMIT), or a prompt larger than
    /// [`PROMPT_BYTES_LIMIT`](crate::PROMPT_BYTES_LIMIT), is not sent. Secrets are redacted from the message.
    /// Neither the question nor the reply is recorded.
    pub async fn ask(&self, mut question: Question) -> Result<QuestionReply, AskError> {
        let client = self.0.call.client.as_ref().ok_or(AskError::Unsupported)?;
        if !question.fits() {
            return Err(AskError::TooLarge);
        }
        let left_ms = QUESTIONS_WAIT_LIMIT_MS.saturating_sub(self.paused_ms(self.now()));
        if left_ms == 0 {
            return Err(AskError::TimedOut);
        }
        question.message = self.redactor().text(&question.message).into_owned();
        let _open = OpenQuestion::of(self);
        let limit = self.0.dispatcher.ports().clock.sleep(left_ms);
        let reply = select(client.ask(question), limit);
        match self.cancellation().run_until_cancelled(reply).await {
            Some(Either::Left((reply, _))) => reply,
            Some(Either::Right(_)) => Err(AskError::TimedOut),
            None => Err(AskError::CallerLeft),
        }
    }

    /// Starts the timeout of the attempt over, because the upstream shows progress. An attempt lasts at most
    /// [`EXTENDED_ATTEMPT_LIMIT_MS`].
    pub fn reset_timeout(&self) {
        let timeout_ms = milliseconds_between(self.0.began, self.0.deadline);
        let until = later(self.now(), timeout_ms);
        let last = later(self.0.began, EXTENDED_ATTEMPT_LIMIT_MS.max(timeout_ms));
        lock(&self.0.pauses).reset_until = Some(until.min(last));
    }

    /// Whether a question to the client is open.
    pub(crate) fn is_asking(&self) -> bool {
        lock(&self.0.pauses).open > 0
    }

    /// How much longer an attempt may run whose timer expired.
    pub(crate) fn more_time_ms(&self) -> Option<u64> {
        let pauses = *lock(&self.0.pauses);
        if pauses.open == 0 && pauses.before_ms == 0 && pauses.reset_until.is_none() {
            return None;
        }
        let now = self.now();
        let left_ms = milliseconds_between(now, self.deadline_at(now));
        let caller_deadline = self.0.call.caller_deadline();
        let caller_ms = caller_deadline.map_or(u64::MAX, |it| milliseconds_between(now, it));
        let more_ms = match pauses.open {
            0 => left_ms,
            _ => left_ms.max(POLL_MS).min(caller_ms),
        };
        (more_ms > 0).then_some(more_ms)
    }

    pub(super) fn deadline_at(&self, now: Timestamp) -> Timestamp {
        let reset_until = lock(&self.0.pauses).reset_until.unwrap_or(self.0.deadline);
        let extended = later(self.0.deadline.max(reset_until), self.paused_ms(now));
        let caller_deadline = self.0.call.caller_deadline();
        caller_deadline.map_or(extended, |it| extended.min(it))
    }

    fn paused_ms(&self, now: Timestamp) -> u64 {
        lock(&self.0.pauses).total_ms(now)
    }
}

/// An open question, until this is dropped.
struct OpenQuestion<'a>(&'a Context);

impl<'a> OpenQuestion<'a> {
    fn of(context: &'a Context) -> Self {
        let now = context.now();
        let mut pauses = lock(&context.0.pauses);
        if pauses.open == 0 {
            pauses.since = now;
        }
        pauses.open += 1;
        Self(context)
    }
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        let now = self.0.now();
        let mut pauses = lock(&self.0.0.pauses);
        let before_ms = pauses.total_ms(now);
        pauses.open -= 1;
        if pauses.open == 0 {
            pauses.before_ms = before_ms;
        }
    }
}

/// The client of the call. A nested call asks through the outer one, so that its timeout pauses too.
impl AskClient for Context {
    fn question_kinds(&self) -> QuestionKinds {
        let client = self.0.call.client.as_ref();
        client.map_or_else(QuestionKinds::default, |it| it.question_kinds())
    }

    fn declared(&self) -> Option<&Map<String, Value>> {
        self.0.call.client.as_ref()?.declared()
    }

    fn handles_url_required(&self) -> bool {
        let client = self.0.call.client.as_ref();
        client.is_some_and(|it| it.handles_url_required())
    }

    fn ask(&self, question: Question) -> BoxFuture<'_, Result<QuestionReply, AskError>> {
        Box::pin(self.ask(question))
    }
}
