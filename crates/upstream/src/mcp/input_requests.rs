//! Input requests (elicitation, sampling, roots) that a server sends while it serves a request: how
//! they reach the client behind that request, and how a failure reports that there was no reply.
//!
//! Which request an input request belongs to is decided in `in_flight`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use panpan_failure::{Failure, codes};
use panpan_redact::Redactor;
use panpan_runtime::{
    AskClient, AskError, Context, Credentials, Identity, Question, QuestionKind, QuestionKinds,
    QuestionReply,
};
use rmcp::ErrorData;
use rmcp::model::InputRequest;
use serde_json::{Map, Value, json};

use super::in_flight::Unrouted;
use super::tool_error::bounded;

/// A request during which the server may ask for input. Clones are the same request.
#[derive(Clone, Debug)]
pub(super) struct InteractiveRequest(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    origin: Origin,
    missing: Mutex<Option<MissingReply>>,
}

/// The origin of a request.
#[derive(Debug)]
enum Origin {
    /// A call of an operation.
    Call(Context),
    /// A client that reads a prompt or a resource.
    Client {
        asks: Arc<dyn AskClient>,
        caller: Option<String>,
        secrets: Credentials,
    },
}

/// An input request without a reply.
#[derive(Clone, Debug)]
enum MissingReply {
    /// It belongs to this request.
    Unasked { message: String, reason: AskError },
    /// It may belong to this request or to another, so its text is not disclosed.
    Unrouted(Unrouted),
}

impl InteractiveRequest {
    pub(super) fn new(context: Context) -> Self {
        if context.can_ask() {
            // Created before the call ends, so that a late input request sees that it has ended.
            context.cancellation();
        }
        Self::from_origin(Origin::Call(context))
    }

    /// A request for a prompt or a resource, from a client that can be asked for input.
    pub(super) fn for_client(
        asks: Arc<dyn AskClient>,
        caller: Option<&Identity>,
        secrets: Credentials,
    ) -> Self {
        Self::from_origin(Origin::Client {
            asks,
            caller: caller.map(|it| it.id.clone()),
            secrets,
        })
    }

    fn from_origin(origin: Origin) -> Self {
        let missing = Mutex::default();
        Self(Arc::new(Inner { origin, missing }))
    }

    /// The context of the call, if it is one.
    pub(super) fn context(&self) -> Option<&Context> {
        match &self.0.origin {
            Origin::Call(context) => Some(context),
            Origin::Client { .. } => None,
        }
    }

    /// The caller, if it is known.
    pub(super) fn caller(&self) -> Option<&str> {
        match &self.0.origin {
            Origin::Call(context) => Some(&context.direct_caller()?.id),
            Origin::Client { caller, .. } => caller.as_deref(),
        }
    }

    /// The kinds of input that the client supports.
    pub(super) fn question_kinds(&self) -> QuestionKinds {
        match &self.0.origin {
            Origin::Call(context) => context.question_kinds(),
            Origin::Client { asks, .. } => asks.question_kinds(),
        }
    }

    /// The experimental capabilities and extensions of the client.
    pub(super) fn declared(&self) -> Option<&Map<String, Value>> {
        match &self.0.origin {
            Origin::Call(context) => context.client_declares(),
            Origin::Client { asks, .. } => asks.declared(),
        }
    }

    fn can_ask(&self) -> bool {
        match &self.0.origin {
            Origin::Call(context) => context.can_ask(),
            Origin::Client { .. } => true,
        }
    }

    async fn forward(&self, mut question: Question) -> Result<QuestionReply, AskError> {
        match &self.0.origin {
            Origin::Call(context) => context.ask(question).await,
            Origin::Client { asks, secrets, .. } => {
                if !question.fits() {
                    return Err(AskError::TooLarge);
                }
                let mut redactor = Redactor::new();
                secrets.teach(&mut redactor);
                question.message = redactor.text(&question.message).into_owned();
                asks.ask(question).await
            }
        }
    }

    /// Sleeps, by the clock of the runtime if it is a call.
    pub(super) async fn sleep(&self, duration: Duration) {
        match &self.0.origin {
            Origin::Call(context) => {
                let pause_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
                context.sleep(pause_ms).await;
            }
            Origin::Client { .. } => tokio::time::sleep(duration).await,
        }
    }

    /// Forwards an input request to the client and returns its result, as JSON of the protocol.
    pub(super) async fn request_input(
        &self,
        name: Option<String>,
        request: InputRequest,
    ) -> Result<Value, AskError> {
        let question = to_question(name, request).ok_or(AskError::UnsupportedKind)?;
        let message = match question.kind {
            QuestionKind::Sampling { .. } => "the client's model (sampling)".to_owned(),
            QuestionKind::Roots => "the client's folders (roots)".to_owned(),
            QuestionKind::Form { .. } | QuestionKind::Url { .. } => question.message.clone(),
        };
        let is_form = matches!(question.kind, QuestionKind::Form { .. });
        let reply = self.forward(question).await;
        reply
            .map(|reply| to_result(reply, is_form))
            .inspect_err(|reason| self.record_unasked(message, *reason))
    }

    fn record_unasked(&self, message: String, reason: AskError) {
        let missing = self.0.missing.lock();
        let mut missing = missing.unwrap_or_else(PoisonError::into_inner);
        *missing = Some(MissingReply::Unasked { message, reason });
    }

    /// Records an input request that may have belonged to this request, if its client could have
    /// been asked.
    pub(super) fn record_unrouted(&self, reason: Unrouted) {
        if self.can_ask() {
            let missing = self.0.missing.lock();
            let mut missing = missing.unwrap_or_else(PoisonError::into_inner);
            missing.get_or_insert(MissingReply::Unrouted(reason));
        }
    }

    /// Adds the unanswered input request to a failure of the call.
    pub(super) fn explain(&self, failure: Failure) -> Failure {
        let missing = self.0.missing.lock();
        match &*missing.unwrap_or_else(PoisonError::into_inner) {
            Some(MissingReply::Unasked { message, reason }) => {
                with_unasked(failure, message, *reason)
            }
            // Failures with another code are unrelated to an input request.
            Some(MissingReply::Unrouted(reason))
                if failure.code().as_str() == codes::TOOL_FAILED.code =>
            {
                with_unrouted(failure, *reason)
            }
            _ => failure,
        }
    }
}

fn with_unasked(failure: Failure, message: &str, reason: AskError) -> Failure {
    let asked = bounded(message);
    let message = format!(
        "{}; the server asked for input: {asked} ({reason})",
        failure.message()
    );
    failure
        .with_message(bounded(&message))
        .with_detail(
            "question",
            json!({"message": asked, "unanswered": reason.to_string()}),
        )
        .with_actions([match reason {
            AskError::TooLarge => "Pass the requested input as arguments",
            AskError::Unsupported | AskError::UnsupportedKind => {
                "Pass the requested input as arguments, or call the tool with an MCP client that \
                 supports elicitation"
            }
            AskError::TooManyOpen
            | AskError::TimedOut
            | AskError::CallerLeft
            | AskError::Stopping => "Call the tool again when a person is there to answer",
        }])
}

fn with_unrouted(failure: Failure, reason: Unrouted) -> Failure {
    let message = format!(
        "{}; the server asked for input that was not forwarded ({reason})",
        failure.message()
    );
    failure
        .with_message(bounded(&message))
        .with_detail("question", json!({"unanswered": reason.to_string()}))
        .with_actions([match reason {
            Unrouted::Ambiguous | Unrouted::NoCall => {
                "Call the tool again when no other call to this server is in flight"
            }
            Unrouted::Abandoned => {
                "Call the tool again when the server has answered the abandoned call or has been \
                 restarted"
            }
        }])
}

pub(super) fn to_question(name: Option<String>, request: InputRequest) -> Option<Question> {
    let to_client = |kind| Question {
        name: name.clone(),
        message: String::new(),
        kind,
    };
    let params = match request {
        InputRequest::Elicitation(request) => request.params,
        InputRequest::CreateMessage(request) => {
            let params = serde_json::to_value(request.params).ok()?;
            return Some(to_client(QuestionKind::Sampling { params }));
        }
        InputRequest::ListRoots(_) => return Some(to_client(QuestionKind::Roots)),
        _ => return None,
    };
    let mut params = serde_json::to_value(params).unwrap_or_default();
    let mut text = |name: &str| match params[name].take() {
        Value::String(text) => text,
        _ => String::new(),
    };
    let message = text("message");
    let kind = match text("mode").as_str() {
        "url" => QuestionKind::Url {
            url: text("url"),
            id: text("elicitationId"),
        },
        _ => QuestionKind::Form {
            schema: params["requestedSchema"].take(),
        },
    };
    Some(Question {
        name,
        message,
        kind,
    })
}

pub(super) fn to_result(reply: QuestionReply, is_form: bool) -> Value {
    match reply {
        QuestionReply::Accepted(values) if is_form => {
            json!({"action": "accept", "content": values})
        }
        QuestionReply::Accepted(_) => json!({"action": "accept"}),
        QuestionReply::Declined => json!({"action": "decline"}),
        QuestionReply::Cancelled => json!({"action": "cancel"}),
        QuestionReply::Result(result) => result,
    }
}

/// The error response to an input request that got no reply.
pub(super) fn no_reply(reason: &str) -> ErrorData {
    ErrorData::invalid_request(reason.to_owned(), None)
}
