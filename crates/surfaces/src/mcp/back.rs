//! What a client sends along when it comes back to a call that waits for replies, and how it is refused.

use panpan_contract::failure::Violation;
use panpan_contract::pointer::joined;
use panpan_contract::{Failure, codes};
use panpan_runtime::Reply;
use rmcp::model::ElicitResult;
use serde::Deserialize;
use serde_json::Value;

use super::questions::reply;

const STATE: &str = "/requestState";
const REPLIES: &str = "/inputResponses";

/// A return to a call, readable or not. It is one as soon as there is a state or a reply: whoever means to go
/// on with a call does not mean to begin another.
#[derive(Clone, Debug)]
pub(super) struct Return {
    state: Option<Value>,
    replies: Option<Value>,
}

impl Return {
    pub(super) fn of(state: Option<Value>, replies: Option<Value>) -> Option<Self> {
        let [state, replies] = [state, replies].map(|it| it.filter(|it| !it.is_null()));
        (state.is_some() || replies.is_some()).then_some(Self { state, replies })
    }

    /// The name of the call it comes back to.
    pub(super) fn state(&self) -> Result<&str, Failure> {
        let unclear = |violation| refused("nothing says which call is to go on", violation);
        match &self.state {
            Some(Value::String(state)) => Ok(state),
            Some(_) => Err(unclear(Violation::value(STATE, "not a string"))),
            None => Err(unclear(Violation::missing(STATE))),
        }
    }

    /// A reply to every question of these names, in their order.
    pub(super) fn replies<'a>(
        &self,
        names: impl Iterator<Item = &'a String>,
    ) -> Result<Vec<Reply>, Failure> {
        let read: Result<Vec<Reply>, Violation> = names.map(|name| self.reply(name)).collect();
        read.map_err(|violation| refused("not every question of the tool has a reply", violation))
    }

    fn reply(&self, name: &str) -> Result<Reply, Violation> {
        let place = joined(REPLIES, name);
        let given = match &self.replies {
            Some(Value::Object(given)) => given.get(name),
            Some(_) => return Err(Violation::value(REPLIES, "not an object")),
            None => None,
        };
        let given = given.ok_or_else(|| Violation::missing(place.clone()))?;
        let result = ElicitResult::deserialize(given);
        result
            .map(reply)
            .map_err(|_| Violation::value(place, "not the result of an elicitation"))
    }

    /// Why nothing comes of it where no call ever waits.
    pub(super) fn in_vain(&self) -> Failure {
        self.state().map_or_else(|unclear| unclear, |_| unknown())
    }
}

fn refused(message: &str, violation: Violation) -> Failure {
    Failure::new(codes::INVALID_INPUT)
        .with_message(message)
        .with_violation(violation)
        .with_actions(["Repeat the call with the same requestState and a reply to every question"])
}

/// The same for whatever is wrong, so that nobody learns which calls wait.
pub(super) fn unknown() -> Failure {
    let reason = "no call of this tool with these arguments waits for a reply under this state";
    Failure::new(codes::INVALID_INPUT)
        .with_message(format!(
            "{reason}: it was answered already, or given up, or is somebody else's"
        ))
        .with_violation(Violation::value(STATE, reason))
        .with_actions(["Call the tool anew, without requestState"])
}
