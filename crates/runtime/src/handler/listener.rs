//! What a service says of its own accord to a client that stays connected beyond its calls.

use serde_json::Value;

use super::question::AskPerson;

/// Something a service says outside of a call, in the words of the Model Context Protocol.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// A line of its log, as the params of `notifications/message`.
    Logged(Value),
    /// A resource has other contents, as the params of `notifications/resources/updated`.
    Updated(Value),
    /// A person has visited an address that they were asked to, as the params of
    /// `notifications/elicitation/complete`.
    Visited(Value),
}

/// A client that stays connected.
pub trait Listener: AskPerson {
    /// Takes over what a service says, without making it wait.
    fn hear(&self, notice: Notice);
}
