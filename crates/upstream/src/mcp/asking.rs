//! Questions a server asks while one of its tools is called: which call they belong to, and how they are
//! put to the person behind it.
//!
//! Over HTTP the stream a question comes in belongs to one call. Where nothing tells, a question is put to
//! the only request under way, or to nobody: never to the wrong person. Only people are asked; models and
//! folders are not offered.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use panpan_contract::Failure;
use panpan_runtime::{Context, Question, Reply, Unasked, Wanted};
use rmcp::ErrorData;
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::lifted::bounded;

/// Where a question says which call it belongs to, once that is known from its stream.
const CALL_META: &str = "dev.panpan/call";

/// The method by which servers ask people.
pub(super) const ASKS: &str = "elicitation/create";

/// How long a question may belong to a request nobody waits for any more.
const DOUBT: Duration = Duration::from_secs(60);

const SEVERAL: &str =
    "several requests are under way, and nothing tells which of them this question belongs to";
const IN_DOUBT: &str =
    "a request was given up, and nothing tells whether this question belongs to that one";
const NONE: &str = "no call is under way that this question could belong to";

/// A call in which questions may be asked. Clones are the same call.
#[derive(Clone, Debug)]
pub(super) struct AskingCall(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    context: Context,
    missed: Mutex<Option<Missed>>,
}

/// A question nobody answered.
#[derive(Clone, Debug)]
pub(super) struct Missed {
    message: String,
    why: Unasked,
}

impl AskingCall {
    pub(super) fn new(context: Context) -> Self {
        let missed = Mutex::default();
        Self(Arc::new(Inner { context, missed }))
    }

    pub(super) fn context(&self) -> &Context {
        &self.0.context
    }

    /// Puts a question to whoever made the call.
    pub(super) async fn ask(&self, asked: ElicitRequestParams) -> Result<ElicitResult, Unasked> {
        let question = question(asked);
        let message = question.message.clone();
        let gives_values = matches!(question.wanted, Wanted::Values { .. });
        match self.0.context.ask(question).await {
            Ok(reply) => Ok(result(reply, gives_values)),
            Err(why) => {
                self.miss(message, why);
                Err(why)
            }
        }
    }

    fn miss(&self, message: String, why: Unasked) {
        let missed = self.0.missed.lock();
        let mut missed = missed.unwrap_or_else(PoisonError::into_inner);
        *missed = Some(Missed { message, why });
    }

    /// A failure of the call, with what it asked in vain.
    pub(super) fn explained(&self, failure: Failure) -> Failure {
        let missed = self.0.missed.lock();
        match &*missed.unwrap_or_else(PoisonError::into_inner) {
            Some(missed) => missed.explain(failure),
            None => failure,
        }
    }
}

impl Missed {
    fn explain(&self, failure: Failure) -> Failure {
        let Self { message, why } = self;
        let asked = bounded(message);
        let told = format!("{}; it had asked: {asked} ({why})", failure.message());
        failure
            .with_message(bounded(&told))
            .with_detail(
                "question",
                json!({"message": asked, "unanswered": why.to_string()}),
            )
            .with_actions([match why {
                Unasked::Nobody | Unasked::Kind => {
                    "Give what it asks for as arguments, or call it with an MCP client that shows \
                     such questions to a person (elicitation)"
                }
                Unasked::Full | Unasked::Silence | Unasked::Gone => {
                    "Call it again when a person is there to answer"
                }
            }])
    }
}

fn question(asked: ElicitRequestParams) -> Question {
    let mut told = serde_json::to_value(asked).unwrap_or_default();
    let mut text = |name: &str| match told[name].take() {
        Value::String(text) => text,
        _ => String::new(),
    };
    let message = text("message");
    let wanted = match text("mode").as_str() {
        "url" => Wanted::Visit {
            url: text("url"),
            id: text("elicitationId"),
        },
        _ => Wanted::Values {
            schema: told["requestedSchema"].take(),
        },
    };
    Question { message, wanted }
}

fn result(reply: Reply, gives_values: bool) -> ElicitResult {
    match reply {
        Reply::Accepted(values) => {
            let accepted = ElicitResult::new(ElicitationAction::Accept);
            match gives_values {
                true => accepted.with_content(Value::Object(values)),
                false => accepted,
            }
        }
        Reply::Declined => ElicitResult::new(ElicitationAction::Decline),
        Reply::Cancelled => ElicitResult::new(ElicitationAction::Cancel),
    }
}

/// The requests under way on one connection. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Underway(Arc<Mutex<Requests>>);

#[derive(Debug, Default)]
struct Requests {
    last: u64,
    /// When nobody waited any more for a request the server may still be working on.
    given_up: Option<Instant>,
    /// Those that call tools, and the others.
    by_number: BTreeMap<u64, Option<AskingCall>>,
}

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
        requests.by_number.remove(&self.number.0);
        if !self.answered {
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
        requests.by_number.insert(number, call.cloned());
        Begun {
            underway: self.clone(),
            number: RequestNumber(number),
            answered: false,
        }
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
        let found = found.and_then(Option::clone);
        found.ok_or_else(|| refused(NONE))
    }

    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a server is told whose question nobody answered.
pub(super) fn refused(why: &str) -> ErrorData {
    ErrorData::invalid_request(why.to_owned(), None)
}

/// What a question says about the call it belongs to.
pub(super) fn mark(meta: &serde_json::Map<String, Value>) -> Option<&Value> {
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
