//! Requests that a server answers with an `InputRequiredResult`: the request is sent again with the
//! `inputResponses` and the server's `requestState`.

use std::time::Duration;

use futures_util::future::try_join_all;
use panpan_runtime::AskError;
use rmcp::model::{ClientRequest, InputRequest, InputRequiredResult, InputResponses};
use serde_json::Value;

use super::input_requests::InteractiveRequest;

/// The largest number of times that a request is sent until there is a result.
pub const ROUNDS_LIMIT: u32 = 10;

/// The pause before the next round if the server asked for no input, multiplied by the number of
/// rounds so far.
const PAUSE: Duration = Duration::from_millis(100);

/// The members that are added when a request is sent again; none in the first round.
#[derive(Clone, Debug, Default)]
pub(super) struct Round {
    responses: Option<InputResponses>,
    state: Option<String>,
    number: u32,
}

/// Why a request is not sent again.
#[derive(Debug, thiserror::Error)]
pub(super) enum InputNotProvided {
    #[error("the tool requires input that only a person can give")]
    Unasked(#[source] AskError),
    #[error("the tool still requires input after {ROUNDS_LIMIT} rounds")]
    TooManyRounds,
    #[error("the input request of the tool is malformed")]
    Malformed,
}

/// Whether a result is an `InputRequiredResult`.
pub(super) fn requires_input(result: &Value) -> bool {
    result.get("resultType").and_then(Value::as_str) == Some("input_required")
}

impl Round {
    /// Whether this is the first round.
    pub(super) fn is_first(&self) -> bool {
        self.number == 0
    }

    /// The number of the next round, up to the limit.
    fn next_number(&self) -> Option<u32> {
        Some(self.number + 1).filter(|number| *number < ROUNDS_LIMIT)
    }

    /// The request with the members of this round.
    pub(super) fn applied_to(&self, mut request: ClientRequest) -> ClientRequest {
        let (responses, state) = match &mut request {
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
        responses.clone_from(&self.responses);
        state.clone_from(&self.state);
        request
    }

    /// The next round, once all input requests have a reply.
    pub(super) async fn next(
        &self,
        request: &InteractiveRequest,
        result: Value,
    ) -> Result<Self, InputNotProvided> {
        let number = self.next_number().ok_or(InputNotProvided::TooManyRounds)?;
        let required: InputRequiredResult =
            serde_json::from_value(result).map_err(|_| InputNotProvided::Malformed)?;
        let input_requests = required.input_requests.unwrap_or_default();
        if input_requests.is_empty() {
            let pause = PAUSE.saturating_mul(number);
            request.sleep(pause).await;
        }
        let responses = input_requests.into_iter().map(|it| respond(request, it));
        let responses: InputResponses = try_join_all(responses).await?.into_iter().collect();
        Ok(Self {
            responses: (!responses.is_empty()).then_some(responses),
            state: required.request_state,
            number,
        })
    }

    /// The same request again, after the URL elicitations that the server required.
    pub(super) async fn after_url_elicitations(
        &self,
        request: &InteractiveRequest,
        elicitations: Vec<InputRequest>,
    ) -> Option<Self> {
        let number = self.next_number().filter(|_| !elicitations.is_empty())?;
        for elicitation in elicitations {
            let result = request.request_input(None, elicitation).await.ok()?;
            let is_accepted = result.get("action").and_then(Value::as_str) == Some("accept");
            is_accepted.then_some(())?;
        }
        Some(Self {
            number,
            ..self.clone()
        })
    }
}

async fn respond(
    request: &InteractiveRequest,
    (name, input_request): (String, InputRequest),
) -> Result<(String, Value), InputNotProvided> {
    let response = request
        .request_input(Some(name.clone()), input_request)
        .await;
    Ok((name, response.map_err(InputNotProvided::Unasked)?))
}
