//! The `requestState` and `inputResponses` of a request: responses for a parked call, or for a new
//! call in advance. Also how an invalid attempt to resume is refused.

use std::collections::BTreeMap;

use panpan_failure::pointer::joined;
use panpan_failure::{Effect, Failure, Violation, codes};
use panpan_mcp::input::to_reply;
use panpan_runtime::QuestionReply;
use rmcp::model::InputResponses;
use serde_json::{Map, Value};

use super::input_requests::OpenInput;

const STATE: &str = "/requestState";
const RESPONSES: &str = "/inputResponses";

const UNKNOWN: &str =
    "no call of this tool with these arguments is waiting under this requestState";

const RESPOND: &str = "Call again with the same requestState and a response to every input request";
const START_AGAIN: &str = "Call the tool again, without requestState";
const FETCH_OUTCOME: &str = "Call again without requestState and with the idempotency key from the _meta of \
the response that requested input (dev.panpan/idempotency): the call is not executed twice, and you get its outcome";

/// The `requestState` and `inputResponses` of a request, valid or not.
#[derive(Clone, Debug)]
pub(super) struct ResumeInput {
    state: Option<Value>,
    responses: Option<Value>,
}

impl ResumeInput {
    pub(super) fn new(state: Option<Value>, responses: Option<Value>) -> Option<Self> {
        let [state, responses] = [state, responses].map(|it| it.filter(|it| !it.is_null()));
        (state.is_some() || responses.is_some()).then_some(Self { state, responses })
    }

    /// The members of a request that rmcp parsed.
    pub(super) fn of(state: Option<String>, responses: Option<InputResponses>) -> Option<Self> {
        Self::new(state.map(Value::from), responses.map(Value::from_iter))
    }

    /// Whether it resumes a parked call. Without a state, the request starts a new call.
    pub(super) fn resumes_call(&self) -> bool {
        self.state.is_some()
    }

    /// The responses for a new call.
    pub(super) fn for_new_call(&self) -> Result<Map<String, Value>, NotResumed> {
        match &self.responses {
            Some(Value::Object(given)) => Ok(given.clone()),
            Some(_) => Err(NotResumed::InvalidResponse(Violation::value(
                RESPONSES,
                "not an object",
            ))),
            None => Ok(Map::new()),
        }
    }

    /// The state of the call to resume.
    pub(super) fn state(&self) -> Result<&str, NotResumed> {
        match &self.state {
            Some(Value::String(state)) => Ok(state),
            Some(_) => Err(NotResumed::InvalidState(Violation::value(
                STATE,
                "not a string",
            ))),
            None => Err(NotResumed::InvalidState(Violation::missing(STATE))),
        }
    }

    /// The responses to these input requests, by name.
    pub(super) fn replies(
        &self,
        open: &BTreeMap<String, OpenInput>,
    ) -> Result<BTreeMap<String, QuestionReply>, NotResumed> {
        let responses = self.for_new_call()?;
        let given = open
            .iter()
            .filter_map(|(name, open)| Some((name, open, responses.get(name)?)));
        let replies = given.map(|(name, open, given)| {
            let reply = to_reply(&open.request, given).map_err(|invalid| {
                let pointer = joined(RESPONSES, name) + invalid.pointer;
                NotResumed::InvalidResponse(Violation::value(pointer, invalid.reason))
            });
            Ok((name.clone(), reply?))
        });
        replies.collect()
    }

    /// The refusal where calls are never parked.
    pub(super) fn never_parked(&self) -> NotResumed {
        self.state().err().unwrap_or(NotResumed::UnknownState)
    }
}

/// Why a call is not resumed. Does not disclose which calls are parked.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotResumed {
    #[error("the request does not say which call to resume")]
    InvalidState(Violation),
    #[error("an input response is invalid")]
    InvalidResponse(Violation),
    #[error("{UNKNOWN}: it has ended, has expired or belongs to another caller")]
    UnknownState,
}

impl NotResumed {
    /// The failure for the client. A mutation may already have taken effect and must not be
    /// repeated blindly.
    pub(super) fn failure(self, changes: bool) -> Failure {
        let failure = Failure::new(codes::INVALID_INPUT).with_message(self.to_string());
        let (violation, action) = match self {
            Self::InvalidState(violation) | Self::InvalidResponse(violation) => {
                (violation, RESPOND)
            }
            Self::UnknownState => {
                let action = if changes { FETCH_OUTCOME } else { START_AGAIN };
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
