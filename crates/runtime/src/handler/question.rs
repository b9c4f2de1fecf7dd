//! A question to the person behind a call, or to the client they use, asked while the work goes on. How it
//! reaches them is for the protocol they called by to know.

use std::fmt;

use panpan_failure::size;
use serde_json::{Map, Value};

use super::BoxFuture;

/// How long people are waited for in one attempt, all its questions together.
pub const QUESTIONS_WAIT_LIMIT_MS: u64 = 10 * 60 * 1000;

/// How large a question to a person may be: its message, and the schema as JSON or the address with its id.
pub const QUESTION_BYTES_LIMIT: usize = 64 * 1024;

/// How large a question to the model of a client may be, as JSON.
pub const PROMPT_BYTES_LIMIT: usize = 1024 * 1024;

/// What a person is asked. It is recorded nowhere, and its debug form shows only its kind.
#[derive(Clone, PartialEq)]
pub struct Question {
    /// The name that the asking server gave it, where it asks several questions together.
    pub name: Option<String>,
    /// What they read; empty where the client is asked.
    pub message: String,
    /// What they are to do.
    pub wanted: Wanted,
}

/// What a person is to do. Its debug form shows only the kind.
#[derive(Clone, PartialEq)]
pub enum Wanted {
    /// To fill in a form.
    Values {
        /// What it holds: the schema of an object without objects in it.
        schema: Value,
    },
    /// To visit an address, and to do there what nobody in between is to see.
    Visit {
        /// The address.
        url: String,
        /// What whoever asks knows this question by.
        id: String,
    },
    /// To have the client's model write something.
    Sample {
        /// What it is given, as the params of `sampling/createMessage`.
        params: Value,
    },
    /// To say which folders the client works in, as the result of `roots/list`.
    Roots,
}

/// What a person said. Its debug form does not show the values.
#[derive(Clone, PartialEq)]
pub enum Reply {
    /// They agreed; these are the values they gave.
    Accepted(Map<String, Value>),
    /// They said no.
    Declined,
    /// They did not decide.
    Cancelled,
    /// The result of a client that was asked, as the protocol writes it.
    Result(Value),
}

/// Why nobody said anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unasked {
    /// The protocol of the call has no way to ask, or the client cannot show questions or answer them.
    #[error("the caller cannot be asked")]
    Nobody,
    /// The client shows other questions, but none like this.
    #[error("the client of the caller cannot show a question of this kind")]
    Kind,
    /// The question is larger than [`QUESTION_BYTES_LIMIT`].
    #[error("the question is larger than {QUESTION_BYTES_LIMIT} bytes")]
    Large,
    /// There is no room for another open question.
    #[error("too many questions are open")]
    Full,
    /// Nobody answered in time.
    #[error("nobody answered the question in time")]
    Silence,
    /// The caller has left, or the call is over.
    #[error("the caller left before the question was answered")]
    Gone,
    /// The inner is about to stop.
    #[error("panpan is stopping and waits for no reply")]
    Stopping,
}

/// The kinds of questions that can be answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answerable {
    /// [`Wanted::Values`].
    pub values: bool,
    /// [`Wanted::Visit`].
    pub visit: bool,
    /// [`Wanted::Sample`].
    pub sample: bool,
    /// [`Wanted::Roots`].
    pub roots: bool,
}

impl Answerable {
    /// All kinds.
    pub const ALL: Self = Self {
        values: true,
        visit: true,
        sample: true,
        roots: true,
    };

    /// Whether a question of this kind is among them.
    pub fn includes(self, wanted: &Wanted) -> bool {
        match wanted {
            Wanted::Values { .. } => self.values,
            Wanted::Visit { .. } => self.visit,
            Wanted::Sample { .. } => self.sample,
            Wanted::Roots => self.roots,
        }
    }
}

/// Takes questions to the person behind a call.
pub trait AskPerson: Send + Sync + fmt::Debug {
    /// What they and their client can be asked.
    fn answerable(&self) -> Answerable {
        Answerable::ALL
    }

    /// The experimental capabilities and extensions that the client declares, as the members `experimental` and
    /// `extensions` of its capabilities.
    fn declared(&self) -> Option<&Map<String, Value>> {
        None
    }

    /// Whether a server may refuse a request instead of asking for a visit: the client then shows the address by
    /// itself, and asks again.
    fn visits_when_refused(&self) -> bool {
        false
    }

    /// Asks, and waits for what they say.
    fn ask(&self, question: Question) -> BoxFuture<'_, Result<Reply, Unasked>>;
}

impl Question {
    /// Whether it is no larger than [`QUESTION_BYTES_LIMIT`] or [`PROMPT_BYTES_LIMIT`].
    pub fn fits(&self) -> bool {
        let named = self.message.len() + self.name.as_ref().map_or(0, String::len);
        let Some(left) = QUESTION_BYTES_LIMIT.checked_sub(named) else {
            return false;
        };
        match &self.wanted {
            Wanted::Values { schema } => size::fits(schema, left),
            Wanted::Visit { url, id } => url.len() + id.len() <= left,
            Wanted::Sample { params } => size::fits(params, PROMPT_BYTES_LIMIT),
            Wanted::Roots => true,
        }
    }
}

impl fmt::Debug for Question {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Question({:?})", self.wanted)
    }
}

impl fmt::Debug for Wanted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Values { .. } => "Values",
            Self::Visit { .. } => "Visit",
            Self::Sample { .. } => "Sample",
            Self::Roots => "Roots",
        })
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Accepted(_) => "Accepted",
            Self::Declined => "Declined",
            Self::Cancelled => "Cancelled",
            Self::Result(_) => "Result",
        })
    }
}
