//! Input requests (elicitation, sampling, roots) that a server sends while it serves a request: how
//! they reach the client behind that request, and how a failure reports that there was no reply.
//!
//! Which request an input request belongs to is decided in `in_flight`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use panpan_failure::{Failure, codes};
use panpan_mcp::input::{to_question, to_result};
use panpan_redact::Redactor;
use panpan_runtime::{
    AskClient, AskError, Context, Credentials, Identity, Question, QuestionKind, QuestionReply,
};
use rmcp::model::InputRequest;
use serde_json::{Value, json};

use super::error::milliseconds;
use super::in_flight::Unrouted;
use super::tool_error::bounded;

/// The features of a client that can reply to the kinds of input requests.
const ELICITATION: &str = "elicitation";
const SAMPLING: &str = "sampling";
const ROOTS: &str = "roots";

/// A request during which the server may ask for input. Clones are the same request.
#[derive(Clone, Debug)]
pub(super) struct InteractiveRequest(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// The client behind the request.
    asks: Arc<dyn AskClient>,
    /// The call, unless a client reads a prompt or a resource.
    context: Option<Context>,
    /// The caller, if it is known.
    caller: Option<String>,
    /// The secrets of the server.
    secrets: Credentials,
    missing: Mutex<Option<MissingReply>>,
}

/// An input request without a reply.
#[derive(Clone, Debug)]
enum MissingReply {
    /// It belongs to this request.
    Unasked {
        message: String,
        reason: AskError,
        /// What a client that can reply supports.
        feature: &'static str,
    },
    /// It may belong to this request or to another, so its text is not disclosed.
    Unrouted(Unrouted),
}

impl InteractiveRequest {
    pub(super) fn new(context: Context) -> Self {
        if context.can_ask() {
            // Created before the call ends, so that a late input request sees that it has ended.
            context.cancellation();
        }
        Self(Arc::new(Inner {
            asks: Arc::new(context.clone()),
            caller: context.direct_caller().map(|it| it.id.clone()),
            secrets: Credentials::default(),
            context: Some(context),
            missing: Mutex::default(),
        }))
    }

    /// A request for a prompt or a resource, from a client that can be asked for input.
    pub(super) fn for_client(
        asks: Arc<dyn AskClient>,
        caller: Option<&Identity>,
        secrets: Credentials,
    ) -> Self {
        Self(Arc::new(Inner {
            asks,
            context: None,
            caller: caller.map(|it| it.id.clone()),
            secrets,
            missing: Mutex::default(),
        }))
    }

    /// The context of the call, if it is one.
    pub(super) fn context(&self) -> Option<&Context> {
        self.0.context.as_ref()
    }

    /// The caller, if it is known.
    pub(super) fn caller(&self) -> Option<&str> {
        self.0.caller.as_deref()
    }

    /// The client behind the request.
    pub(super) fn client(&self) -> &dyn AskClient {
        &*self.0.asks
    }

    async fn forward(&self, mut question: Question) -> Result<QuestionReply, AskError> {
        // A call does this itself.
        if self.0.context.is_none() {
            if !question.fits() {
                return Err(AskError::TooLarge);
            }
            let mut redactor = Redactor::new();
            self.0.secrets.teach(&mut redactor);
            question.message = redactor.text(&question.message).into_owned();
        }
        self.0.asks.ask(question).await
    }

    /// Sleeps, by the clock of the runtime if it is a call.
    pub(super) async fn sleep(&self, duration: Duration) {
        match &self.0.context {
            Some(context) => context.sleep(milliseconds(duration)).await,
            None => tokio::time::sleep(duration).await,
        }
    }

    /// Forwards an input request to the client and returns its result, as JSON of the protocol.
    pub(super) async fn request_input(
        &self,
        name: Option<String>,
        request: InputRequest,
    ) -> Result<Value, AskError> {
        let question = to_question(name, request).ok_or(AskError::UnsupportedKind)?;
        let (feature, message) = match question.kind {
            QuestionKind::Sampling { .. } => (SAMPLING, "the client's model (sampling)".to_owned()),
            QuestionKind::Roots => (ROOTS, "the client's folders (roots)".to_owned()),
            QuestionKind::Form { .. } | QuestionKind::Url { .. } => {
                (ELICITATION, question.message.clone())
            }
        };
        let is_form = matches!(question.kind, QuestionKind::Form { .. });
        let reply = self.forward(question).await;
        reply
            .map(|reply| to_result(reply, is_form))
            .inspect_err(|reason| {
                let reason = *reason;
                *self.missing() = Some(MissingReply::Unasked {
                    message,
                    reason,
                    feature,
                });
            })
    }

    /// Records an input request that may have belonged to this request, if its client could have
    /// been asked.
    pub(super) fn record_unrouted(&self, reason: Unrouted) {
        if self.context().is_none_or(Context::can_ask) {
            self.missing().get_or_insert(MissingReply::Unrouted(reason));
        }
    }

    /// Adds the unanswered input request to a failure of the call.
    pub(super) fn explain(&self, failure: Failure) -> Failure {
        match &*self.missing() {
            Some(MissingReply::Unasked {
                message,
                reason,
                feature,
            }) => with_unasked(failure, message, *reason, feature),
            // Failures with another code are unrelated to an input request.
            Some(MissingReply::Unrouted(reason))
                if failure.code().as_str() == codes::TOOL_FAILED.code =>
            {
                with_unrouted(failure, *reason)
            }
            _ => failure,
        }
    }

    fn missing(&self) -> MutexGuard<'_, Option<MissingReply>> {
        let missing = self.0.missing.lock();
        missing.unwrap_or_else(PoisonError::into_inner)
    }
}

fn with_unasked(failure: Failure, message: &str, reason: AskError, feature: &str) -> Failure {
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
        .with_actions([action(reason, feature)])
}

/// What to do about an input request that got no reply. Only what a person would have entered can
/// be passed as arguments.
fn action(reason: AskError, feature: &str) -> String {
    let is_elicitation = feature == ELICITATION;
    let another = match reason {
        AskError::TooLarge => {
            return match is_elicitation {
                true => "Pass the requested input as arguments".to_owned(),
                false => {
                    "Ask for less: what the server sends to the client is too large".to_owned()
                }
            };
        }
        AskError::Unsupported | AskError::UnsupportedKind => {
            format!("call the tool with an MCP client that supports {feature}")
        }
        AskError::NotServed => {
            "run tasks that ask in `panpan serve` or `panpan mcp` only".to_owned()
        }
        AskError::TooManyOpen | AskError::TimedOut | AskError::CallerLeft | AskError::Stopping => {
            return "Call the tool again when a person is there to answer".to_owned();
        }
    };
    match is_elicitation {
        true => format!("Pass the requested input as arguments, or {another}"),
        false => format!("Use another tool or do this step yourself, or {another}"),
    }
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
