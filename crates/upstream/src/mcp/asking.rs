//! Questions a server asks while one of its tools is called: how they are put to the person behind the call,
//! and what is told when nobody answers. Which call one belongs to is in `underway`.

use std::sync::{Arc, Mutex, PoisonError};

use panpan_contract::Failure;
use panpan_runtime::{Context, Question, Reply, Unasked, Wanted};
use rmcp::ErrorData;
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Value, json};

use super::lifted::bounded;

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
        if context.can_ask() {
            // Made before the call is over, so that a question that comes too late finds it was.
            context.cancellation();
        }
        let missed = Mutex::default();
        Self(Arc::new(Inner { context, missed }))
    }

    pub(super) fn context(&self) -> &Context {
        &self.0.context
    }

    /// Who made the call, if that is known.
    pub(super) fn caller(&self) -> Option<&str> {
        let caller = self.0.context.direct_caller()?;
        Some(&caller.id)
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

/// What a server is told whose question nobody answered.
pub(super) fn refused(why: &str) -> ErrorData {
    ErrorData::invalid_request(why.to_owned(), None)
}
