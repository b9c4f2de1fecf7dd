//! A question to the person behind a call, asked while the work goes on. How it reaches them is for the
//! protocol they called by to know.

use std::fmt;
use std::io::{self, Write};

use serde_json::{Map, Value};

use super::BoxFuture;

/// How long people are waited for in one attempt, all its questions together.
pub const QUESTIONS_WAIT_LIMIT_MS: u64 = 10 * 60 * 1000;

/// How large a question may be: its message, and the schema as JSON or the address with its id.
pub const QUESTION_BYTES_LIMIT: usize = 64 * 1024;

/// What a person is asked. It is recorded nowhere, and its debug form shows only its kind.
#[derive(Clone, PartialEq)]
pub struct Question {
    /// What they read.
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
    /// The house is about to stop.
    #[error("panpan is stopping and waits for no reply")]
    Stopping,
}

/// Takes questions to the person behind a call.
pub trait AskPerson: Send + Sync + fmt::Debug {
    /// Asks, and waits for what they say.
    fn ask(&self, question: Question) -> BoxFuture<'_, Result<Reply, Unasked>>;
}

impl Question {
    /// Whether it is no larger than [`QUESTION_BYTES_LIMIT`].
    pub(crate) fn fits(&self) -> bool {
        let Some(left) = QUESTION_BYTES_LIMIT.checked_sub(self.message.len()) else {
            return false;
        };
        match &self.wanted {
            // Written nowhere, and only as far as it fits.
            Wanted::Values { schema } => serde_json::to_writer(Left(left), schema).is_ok(),
            Wanted::Visit { url, id } => url.len() + id.len() <= left,
        }
    }
}

/// Takes so many bytes, and keeps none.
struct Left(usize);

impl Write for Left {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.0.checked_sub(bytes.len());
        self.0 = left.ok_or(io::ErrorKind::WriteZero)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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
        })
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Accepted(_) => "Accepted",
            Self::Declined => "Declined",
            Self::Cancelled => "Cancelled",
        })
    }
}
