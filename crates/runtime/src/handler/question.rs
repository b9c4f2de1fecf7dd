//! Questions to the client of a running call: elicitation, sampling and roots. Each protocol delivers them in its
//! own way.

use std::fmt;

use panpan_failure::size;
use serde_json::{Map, Value};

use super::BoxFuture;

/// The longest wait for replies in one attempt, for all its questions together.
pub const QUESTIONS_WAIT_LIMIT_MS: u64 = 10 * 60 * 1000;

/// The largest elicitation: its message, and the schema as JSON or the URL with its id.
pub const QUESTION_BYTES_LIMIT: usize = 64 * 1024;

/// The largest sampling request, as JSON.
pub const PROMPT_BYTES_LIMIT: usize = 1024 * 1024;

/// A question to the client. It is never recorded, and its debug form shows only its kind.
#[derive(Clone, PartialEq)]
pub struct Question {
    /// The name that the asking server gave it, if it asks several questions together.
    pub name: Option<String>,
    /// The message to the user; empty for sampling and roots.
    pub message: String,
    /// The kind of question.
    pub kind: QuestionKind,
}

/// The kinds of questions, with their contents. The debug form shows only the kind.
#[derive(Clone, PartialEq)]
pub enum QuestionKind {
    /// Elicitation: fill in a form.
    Form {
        /// The schema of a flat object.
        schema: Value,
    },
    /// Elicitation: visit a URL, for input that the gateway must not see.
    Url {
        /// The URL.
        url: String,
        /// The id of the elicitation.
        id: String,
    },
    /// Let the model of the client generate a message.
    Sampling {
        /// The params of `sampling/createMessage`.
        params: Value,
    },
    /// List the folders that the client works in, as the result of `roots/list`.
    Roots,
}

/// The reply to a question. Its debug form does not show the values.
#[derive(Clone, PartialEq)]
pub enum QuestionReply {
    /// The user accepted, with these values.
    Accepted(Map<String, Value>),
    /// The user declined.
    Declined,
    /// The user dismissed the question.
    Cancelled,
    /// The result of a sampling or roots request, as the protocol writes it.
    Result(Value),
}

/// Why there is no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// The protocol cannot send questions, or the client does not accept them.
    #[error("the client does not accept questions")]
    Unsupported,
    /// The client accepts other kinds of questions, but not this one.
    #[error("the client does not support this kind of question")]
    UnsupportedKind,
    /// The question is larger than [`QUESTION_BYTES_LIMIT`].
    #[error("the question is larger than {QUESTION_BYTES_LIMIT} bytes")]
    TooLarge,
    /// The limit of open questions is reached.
    #[error("too many questions are open")]
    TooManyOpen,
    /// There was no reply in time.
    #[error("the question was not answered in time")]
    TimedOut,
    /// The caller has left, or the call has ended.
    #[error("the caller left before the question was answered")]
    CallerLeft,
    /// The process that runs the task serves no clients that could answer.
    #[error("the process that runs this task serves no MCP clients, which could answer")]
    NotServed,
    /// The process is shutting down.
    #[error("panpan is shutting down and no longer waits for replies")]
    Stopping,
}

/// The kinds of questions that a client answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuestionKinds {
    /// [`QuestionKind::Form`].
    pub form: bool,
    /// [`QuestionKind::Url`].
    pub url: bool,
    /// [`QuestionKind::Sampling`].
    pub sampling: bool,
    /// [`QuestionKind::Roots`].
    pub roots: bool,
}

impl QuestionKinds {
    /// All kinds.
    pub const ALL: Self = Self {
        form: true,
        url: true,
        sampling: true,
        roots: true,
    };

    /// Whether a question of this kind is among them.
    pub fn includes(self, kind: &QuestionKind) -> bool {
        match kind {
            QuestionKind::Form { .. } => self.form,
            QuestionKind::Url { .. } => self.url,
            QuestionKind::Sampling { .. } => self.sampling,
            QuestionKind::Roots => self.roots,
        }
    }
}

/// Sends questions to the client of a call.
pub trait AskClient: Send + Sync + fmt::Debug {
    /// The kinds of questions that the client answers.
    fn question_kinds(&self) -> QuestionKinds {
        QuestionKinds::ALL
    }

    /// The experimental capabilities and extensions that the client declares, as the members `experimental` and
    /// `extensions` of its capabilities.
    fn declared(&self) -> Option<&Map<String, Value>> {
        None
    }

    /// Whether a server may refuse a request with a URL instead of asking for the visit: the client then opens the
    /// URL itself and repeats the request.
    fn handles_url_required(&self) -> bool {
        false
    }

    /// Asks, and waits for the reply.
    fn ask(&self, question: Question) -> BoxFuture<'_, Result<QuestionReply, AskError>>;
}

impl Question {
    /// Whether it is not larger than [`QUESTION_BYTES_LIMIT`] or [`PROMPT_BYTES_LIMIT`].
    pub fn fits(&self) -> bool {
        let named = self.message.len() + self.name.as_ref().map_or(0, String::len);
        let Some(left) = QUESTION_BYTES_LIMIT.checked_sub(named) else {
            return false;
        };
        match &self.kind {
            QuestionKind::Form { schema } => size::fits(schema, left),
            QuestionKind::Url { url, id } => url.len() + id.len() <= left,
            QuestionKind::Sampling { params } => size::fits(params, PROMPT_BYTES_LIMIT),
            QuestionKind::Roots => true,
        }
    }
}

impl fmt::Debug for Question {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Question({:?})", self.kind)
    }
}

impl fmt::Debug for QuestionKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Form { .. } => "Form",
            Self::Url { .. } => "Url",
            Self::Sampling { .. } => "Sampling",
            Self::Roots => "Roots",
        })
    }
}

impl fmt::Debug for QuestionReply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Accepted(_) => "Accepted",
            Self::Declined => "Declined",
            Self::Cancelled => "Cancelled",
            Self::Result(_) => "Result",
        })
    }
}
