//! Replies that a client sends along with a request: to the questions of a call that waits for them, which it names
//! by its state, or in advance to what a call will ask. And how such a request is refused.

use std::collections::BTreeMap;

use panpan_failure::pointer::joined;
use panpan_failure::{Effect, Failure, Violation, codes};
use panpan_runtime::Reply;
use serde_json::{Map, Value};

use super::questions::{Open, Unfit};

const STATE: &str = "/requestState";
const REPLIES: &str = "/inputResponses";
const NOT_OBJECT: &str = "not an object";

const UNKNOWN: &str =
    "no call of this tool with these arguments waits for a reply under this state";

const REPLY: &str = "Call again with the same requestState and a reply to every question";
const BEGIN_ANEW: &str = "Call the tool anew, without requestState";
const ASK_AGAIN: &str = "Call again without requestState and with the idempotency key in the _meta of \
the answer that asked (dev.panpan/idempotency): it is not done twice, and you get its outcome";

/// The state and the replies in a request, readable or not.
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

    /// Whether it names a call that waits. Without a state, the request begins a call.
    pub(super) fn names_call(&self) -> bool {
        self.state.is_some()
    }

    /// Replies to what a call will ask.
    pub(super) fn in_advance(&self) -> Result<Map<String, Value>, Refused> {
        match &self.replies {
            Some(Value::Object(given)) => Ok(given.clone()),
            Some(_) => Err(Refused::Unanswered(Violation::value(REPLIES, NOT_OBJECT))),
            None => Ok(Map::new()),
        }
    }

    /// The name of the call it comes back to.
    pub(super) fn state(&self) -> Result<&str, Refused> {
        match &self.state {
            Some(Value::String(state)) => Ok(state),
            Some(_) => Err(Refused::Unclear(Violation::value(STATE, "not a string"))),
            None => Err(Refused::Unclear(Violation::missing(STATE))),
        }
    }

    /// The replies it has to these questions, by their names.
    pub(super) fn replies(
        &self,
        open: &BTreeMap<String, Open>,
    ) -> Result<BTreeMap<String, Reply>, Refused> {
        let given = self.in_advance()?;
        let answered = open
            .iter()
            .filter_map(|(name, open)| Some((name, open, given.get(name)?)));
        let read = answered.map(|(name, open, given)| {
            let read = open.replied(given).map_err(|unfit| {
                let place = joined(REPLIES, name);
                match unfit {
                    Unfit::Whole(expected) => Violation::value(place, format!("not {expected}")),
                    Unfit::Content => Violation::value(joined(&place, "content"), NOT_OBJECT),
                }
            });
            Ok((name.clone(), read.map_err(Refused::Unanswered)?))
        });
        read.collect()
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
    #[error("a reply cannot be read")]
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
