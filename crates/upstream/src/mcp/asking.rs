//! Questions a server asks while it serves a request: how they reach the person behind the request, and what the
//! failure says when they get no reply. Which request a question belongs to is decided in `underway`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use panpan_failure::{Failure, codes};
use panpan_redact::Redactor;
use panpan_runtime::{
    Answerable, AskPerson, Context, Credentials, Identity, Question, Reply, Unasked, Wanted,
};
use rmcp::ErrorData;
use rmcp::model::InputRequest;
use serde_json::{Map, Value, json};

use super::lifted::bounded;
use super::underway::Unplaced;

/// A request in which questions may be asked. Clones are the same request.
#[derive(Clone, Debug)]
pub(super) struct AskingCall(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    behind: Behind,
    missed: Mutex<Option<Missed>>,
}

/// Where a request comes from.
#[derive(Debug)]
enum Behind {
    /// The call of an operation.
    Call(Context),
    /// A client that wants a prompt or a resource.
    Reader {
        person: Arc<dyn AskPerson>,
        caller: Option<String>,
        secrets: Credentials,
    },
}

/// A question nobody answered.
#[derive(Clone, Debug)]
enum Missed {
    /// One of this call.
    Unasked { message: String, why: Unasked },
    /// One that may be of this call, or of another: what it says is not told here.
    Unplaced(Unplaced),
}

impl AskingCall {
    pub(super) fn new(context: Context) -> Self {
        if context.can_ask() {
            // Made before the call is over, so that a question that comes too late finds it was.
            context.cancellation();
        }
        Self::of(Behind::Call(context))
    }

    /// A request for a prompt or a resource, from a client that can be asked.
    pub(super) fn of_reader(
        person: Arc<dyn AskPerson>,
        caller: Option<&Identity>,
        secrets: Credentials,
    ) -> Self {
        Self::of(Behind::Reader {
            person,
            caller: caller.map(|it| it.id.clone()),
            secrets,
        })
    }

    fn of(behind: Behind) -> Self {
        let missed = Mutex::default();
        Self(Arc::new(Inner { behind, missed }))
    }

    /// The call of an operation that it is.
    pub(super) fn context(&self) -> Option<&Context> {
        match &self.0.behind {
            Behind::Call(context) => Some(context),
            Behind::Reader { .. } => None,
        }
    }

    /// Who made it, if that is known.
    pub(super) fn caller(&self) -> Option<&str> {
        match &self.0.behind {
            Behind::Call(context) => Some(&context.direct_caller()?.id),
            Behind::Reader { caller, .. } => caller.as_deref(),
        }
    }

    /// What can be asked in it.
    pub(super) fn answerable(&self) -> Answerable {
        match &self.0.behind {
            Behind::Call(context) => context.answerable(),
            Behind::Reader { person, .. } => person.answerable(),
        }
    }

    /// The experimental capabilities and extensions of the client behind it.
    pub(super) fn declared(&self) -> Option<&Map<String, Value>> {
        match &self.0.behind {
            Behind::Call(context) => context.client_declares(),
            Behind::Reader { person, .. } => person.declared(),
        }
    }

    fn can_ask(&self) -> bool {
        match &self.0.behind {
            Behind::Call(context) => context.can_ask(),
            Behind::Reader { .. } => true,
        }
    }

    async fn put(&self, mut question: Question) -> Result<Reply, Unasked> {
        match &self.0.behind {
            Behind::Call(context) => context.ask(question).await,
            Behind::Reader {
                person, secrets, ..
            } => {
                if !question.fits() {
                    return Err(Unasked::Large);
                }
                let mut redactor = Redactor::new();
                secrets.teach(&mut redactor);
                question.message = redactor.text(&question.message).into_owned();
                person.ask(question).await
            }
        }
    }

    /// Lets time pass.
    pub(super) async fn sleep(&self, duration: Duration) {
        match &self.0.behind {
            Behind::Call(context) => {
                let pause_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
                context.sleep(pause_ms).await;
            }
            Behind::Reader { .. } => tokio::time::sleep(duration).await,
        }
    }

    /// Puts a question to whoever made the call, or to their client; gives the result the protocol has for it.
    pub(super) async fn ask(
        &self,
        name: Option<String>,
        asked: InputRequest,
    ) -> Result<Value, Unasked> {
        let question = question(name, asked).ok_or(Unasked::Kind)?;
        let message = match question.wanted {
            Wanted::Sample { .. } => "to use the model of the client (sampling)".to_owned(),
            Wanted::Roots => "for the folders of the client (roots)".to_owned(),
            Wanted::Values { .. } | Wanted::Visit { .. } => question.message.clone(),
        };
        let gives_values = matches!(question.wanted, Wanted::Values { .. });
        let asked = self.put(question).await;
        asked
            .map(|reply| result(reply, gives_values))
            .inspect_err(|why| self.miss(message, *why))
    }

    fn miss(&self, message: String, why: Unasked) {
        let missed = self.0.missed.lock();
        let mut missed = missed.unwrap_or_else(PoisonError::into_inner);
        *missed = Some(Missed::Unasked { message, why });
    }

    /// Notes a question that may have been one of this call, if it could have been answered.
    pub(super) fn miss_unplaced(&self, why: Unplaced) {
        if self.can_ask() {
            let missed = self.0.missed.lock();
            let mut missed = missed.unwrap_or_else(PoisonError::into_inner);
            missed.get_or_insert(Missed::Unplaced(why));
        }
    }

    /// A failure of the call, with what it asked in vain.
    pub(super) fn explained(&self, failure: Failure) -> Failure {
        let missed = self.0.missed.lock();
        match &*missed.unwrap_or_else(PoisonError::into_inner) {
            Some(Missed::Unasked { message, why }) => unasked(failure, message, *why),
            // Failures of another kind have nothing to do with a question.
            Some(Missed::Unplaced(why)) if failure.code().as_str() == codes::TOOL_FAILED.code => {
                unplaced(failure, *why)
            }
            _ => failure,
        }
    }
}

fn unasked(failure: Failure, message: &str, why: Unasked) -> Failure {
    let asked = bounded(message);
    let told = format!("{}; it had asked: {asked} ({why})", failure.message());
    failure
        .with_message(bounded(&told))
        .with_detail(
            "question",
            json!({"message": asked, "unanswered": why.to_string()}),
        )
        .with_actions([match why {
            Unasked::Large => "Give what it asks for as arguments",
            Unasked::Nobody | Unasked::Kind => {
                "Give what it asks for as arguments, or call it with an MCP client that shows \
                 such questions to a person (elicitation)"
            }
            Unasked::Full | Unasked::Silence | Unasked::Gone | Unasked::Stopping => {
                "Call it again when a person is there to answer"
            }
        }])
}

fn unplaced(failure: Failure, why: Unplaced) -> Failure {
    let told = format!(
        "{}; the server asked something meanwhile that nobody was shown ({why})",
        failure.message()
    );
    failure
        .with_message(bounded(&told))
        .with_detail("question", json!({"unanswered": why.to_string()}))
        .with_actions([match why {
            Unplaced::Several | Unplaced::NoCall => {
                "Call it again when no other call of this server is under way"
            }
            Unplaced::InDoubt => {
                "Call it again when the server has answered the call that was given up, or was \
                 started anew"
            }
        }])
}

pub(super) fn question(name: Option<String>, asked: InputRequest) -> Option<Question> {
    let to_client = |wanted| Question {
        name: name.clone(),
        message: String::new(),
        wanted,
    };
    let asked = match asked {
        InputRequest::Elicitation(request) => request.params,
        InputRequest::CreateMessage(request) => {
            let params = serde_json::to_value(request.params).ok()?;
            return Some(to_client(Wanted::Sample { params }));
        }
        InputRequest::ListRoots(_) => return Some(to_client(Wanted::Roots)),
        _ => return None,
    };
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
    Some(Question {
        name,
        message,
        wanted,
    })
}

pub(super) fn result(reply: Reply, gives_values: bool) -> Value {
    match reply {
        Reply::Accepted(values) if gives_values => json!({"action": "accept", "content": values}),
        Reply::Accepted(_) => json!({"action": "accept"}),
        Reply::Declined => json!({"action": "decline"}),
        Reply::Cancelled => json!({"action": "cancel"}),
        Reply::Result(result) => result,
    }
}

/// What a server is told whose question nobody answered.
pub(super) fn refused(why: &str) -> ErrorData {
    ErrorData::invalid_request(why.to_owned(), None)
}
