//! What a client sends along when it comes back to a call that waits for replies, and how it is refused.

use std::collections::BTreeMap;

use panpan_contract::failure::Violation;
use panpan_contract::pointer::joined;
use panpan_contract::{Effect, Failure, codes};
use panpan_runtime::Reply;
use serde_json::Value;

use super::questions::{Open, Unfit};

const STATE: &str = "/requestState";
const REPLIES: &str = "/inputResponses";

const UNKNOWN: &str =
    "no call of this tool with these arguments waits for a reply under this state";

const REPLY: &str = "Call again with the same requestState and a reply to every question";
const BEGIN_ANEW: &str = "Call the tool anew, without requestState";
const ASK_AGAIN: &str = "Call again without requestState and with the idempotency key in the _meta of \
the answer that asked (dev.panpan/idempotency): it is not done twice, and you get its outcome";

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
    pub(super) fn state(&self) -> Result<&str, Refused> {
        match &self.state {
            Some(Value::String(state)) => Ok(state),
            Some(_) => Err(Refused::Unclear(Violation::value(STATE, "not a string"))),
            None => Err(Refused::Unclear(Violation::missing(STATE))),
        }
    }

    /// A reply to every one of these questions, in their order.
    pub(super) fn replies(&self, open: &BTreeMap<String, Open>) -> Result<Vec<Reply>, Refused> {
        let read = open.iter().map(|(name, open)| self.reply(name, open));
        let read: Result<_, _> = read.collect();
        read.map_err(Refused::Unanswered)
    }

    fn reply(&self, name: &str, open: &Open) -> Result<Reply, Violation> {
        let place = joined(REPLIES, name);
        let given = match &self.replies {
            Some(Value::Object(given)) => given.get(name),
            Some(_) => return Err(Violation::value(REPLIES, "not an object")),
            None => None,
        };
        let given = given.ok_or_else(|| Violation::missing(place.clone()))?;
        open.replied(given).map_err(|unfit| match unfit {
            Unfit::Whole(expected) => Violation::value(place, format!("not {expected}")),
            Unfit::Content => Violation::value(joined(&place, "content"), "not an object"),
        })
    }

    /// Why nothing comes of it where no call ever waits.
    pub(super) fn in_vain(&self) -> Refused {
        self.state().err().unwrap_or(Refused::Unknown)
    }
}

/// Why a call does not go on. Nobody learns from it which calls wait.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    #[error("nothing says which call is to go on")]
    Unclear(Violation),
    #[error("not every question of the tool has a reply")]
    Unanswered(Violation),
    #[error("{UNKNOWN}: it was answered already, or given up, or is somebody else's")]
    Unknown,
}

impl Refused {
    /// What whoever came back is told. Where the operation changes something, what they come back to may have
    /// been done, and is not to be done anew.
    pub(super) fn failure(self, changes: bool) -> Failure {
        let failure = Failure::new(codes::INVALID_INPUT).with_message(self.to_string());
        let (violation, action) = match self {
            Self::Unclear(violation) | Self::Unanswered(violation) => (violation, REPLY),
            Self::Unknown => {
                let action = if changes { ASK_AGAIN } else { BEGIN_ANEW };
                (Violation::value(STATE, UNKNOWN), action)
            }
        };
        let failure = failure.with_violation(violation).with_actions([action]);
        match changes {
            true => failure.with_effect(Effect::Unknown),
            false => failure,
        }
    }
}
