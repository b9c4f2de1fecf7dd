//! Calls a server answers with questions in place of a result: the call is made again with the replies, and
//! with what the server gave along to know it by.

use std::time::Duration;

use futures_util::future::try_join_all;
use panpan_runtime::Unasked;
use rmcp::model::{CallToolRequestParams, InputRequest, InputRequiredResult, InputResponses};
use serde_json::Value;

use super::asking::AskingCall;

/// How often a call is made at most until there is a result.
pub const ROUNDS_LIMIT: usize = 10;

/// How long a server that asked for nothing but another round is left alone, times the rounds so far.
const PAUSE: Duration = Duration::from_millis(100);

/// What is sent along when a call is made again; nothing the first time.
#[derive(Clone, Debug, Default)]
pub(super) struct Round {
    replies: Option<InputResponses>,
    state: Option<String>,
    number: u32,
}

/// Why a call is not made again.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unmet {
    #[error("the tool asks for something only a person can answer")]
    Unasked(#[source] Unasked),
    #[error("the tool went on asking after {ROUNDS_LIMIT} rounds")]
    Endless,
    #[error("what the tool asks cannot be read")]
    Unreadable,
}

/// Whether an answer is no result yet.
pub(super) fn asks(result: &Value) -> bool {
    result.get("resultType").and_then(Value::as_str) == Some("input_required")
}

impl Round {
    /// Whether the server has seen the call before.
    pub(super) fn is_first(&self) -> bool {
        self.number == 0
    }

    pub(super) fn apply(&self, params: &mut CallToolRequestParams) {
        params.input_responses.clone_from(&self.replies);
        params.request_state.clone_from(&self.state);
    }

    /// The next round, once everything the server asks has been answered.
    pub(super) async fn next(&self, call: &AskingCall, asked: Value) -> Result<Self, Unmet> {
        let number = self.number + 1;
        if usize::try_from(number).is_ok_and(|number| number >= ROUNDS_LIMIT) {
            return Err(Unmet::Endless);
        }
        let asked: InputRequiredResult =
            serde_json::from_value(asked).map_err(|_| Unmet::Unreadable)?;
        let requests = asked.input_requests.unwrap_or_default();
        if requests.is_empty() {
            let pause = PAUSE.saturating_mul(number);
            let pause_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
            call.context().sleep(pause_ms).await;
        }
        let replies = requests.into_iter().map(|it| replied(call, it));
        let replies: InputResponses = try_join_all(replies).await?.into_iter().collect();
        Ok(Self {
            replies: (!replies.is_empty()).then_some(replies),
            state: asked.request_state,
            number,
        })
    }
}

async fn replied(
    call: &AskingCall,
    (name, request): (String, InputRequest),
) -> Result<(String, Value), Unmet> {
    let reply = call.ask(Some(name.clone()), request).await;
    Ok((name, reply.map_err(Unmet::Unasked)?))
}
