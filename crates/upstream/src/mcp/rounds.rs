//! Requests a server answers with questions in place of a result: the request is made again with the replies, and
//! with what the server gave along to know it by.

use std::time::Duration;

use futures_util::future::try_join_all;
use panpan_runtime::Unasked;
use rmcp::model::{ClientRequest, InputRequest, InputRequiredResult, InputResponses};
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

    /// The request with what is sent along.
    pub(super) fn applied_to(&self, mut request: ClientRequest) -> ClientRequest {
        let (replies, state) = match &mut request {
            ClientRequest::CallToolRequest(it) => {
                (&mut it.params.input_responses, &mut it.params.request_state)
            }
            ClientRequest::GetPromptRequest(it) => {
                (&mut it.params.input_responses, &mut it.params.request_state)
            }
            ClientRequest::ReadResourceRequest(it) => {
                (&mut it.params.input_responses, &mut it.params.request_state)
            }
            _ => return request,
        };
        replies.clone_from(&self.replies);
        state.clone_from(&self.state);
        request
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
            call.sleep(pause).await;
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

impl Round {
    /// The same request once more, after people visited what the server wanted them to.
    pub(super) async fn after_visits(
        &self,
        call: &AskingCall,
        visits: Vec<InputRequest>,
    ) -> Option<Self> {
        let number = self.number + 1;
        let is_last = usize::try_from(number).is_ok_and(|number| number >= ROUNDS_LIMIT);
        if visits.is_empty() || is_last {
            return None;
        }
        for visit in visits {
            let replied = call.ask(None, visit).await.ok()?;
            let is_accepted = replied.get("action").and_then(Value::as_str) == Some("accept");
            is_accepted.then_some(())?;
        }
        Some(Self {
            number,
            ..self.clone()
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
