//! One call of a tool.
//!
//! A request is sent a second time only if the server certainly has not seen it. All other retries
//! are decided by the runtime, by the failure. Dropping the call sends a cancellation.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use panpan_contract::binding::SuccessBodies;
use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_failure::classify::InputMembers;
use panpan_failure::dialect::declares_flags;
use panpan_failure::{Effect, Failure, codes};
use panpan_mcp::names::{IDEMPOTENCY_META_KEY, TRACE_META_KEY};
use panpan_mcp::{extras, output};
use panpan_runtime::{
    BoxFuture, Context, EXTENDED_ATTEMPT_LIMIT_MS, Handler, QUESTIONS_WAIT_LIMIT_MS,
};
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, RequestMetaObject};
use serde_json::{Map, Value};

use super::connection::Connection;
use super::echoed_input::Hidden;
use super::error::{FailedRequest, McpError};
use super::input_requests::InteractiveRequest;
use super::input_required::{self, InputNotProvided, Round};
use super::live_connection::LiveConnection;
use super::pool::Pool;
use super::request_failure::{self, SideEffects};
use super::rpc_error;
use super::tool_error::FailingResult;
use super::tool_import::ImportedTool;

/// How much longer than the attempt a response is waited for: the runtime ends the attempt with the
/// right failure.
const RESPONSE_GRACE: Duration = Duration::from_secs(1);

/// How long before the end of an attempt connecting is given up, so that the failure can name it.
const FAILURE_MARGIN: Duration = Duration::from_millis(200);

/// Calls one tool of a server.
#[derive(Debug)]
pub(super) struct ToolCall {
    pool: Arc<Pool>,
    tool: String,
    side_effects: SideEffects,
    has_output_schema: bool,
    /// The output schema, if outputs could be mistaken for failures.
    flagged: Option<Value>,
    declared: BTreeSet<String>,
    /// The members of the input.
    members: InputMembers,
}

impl ToolCall {
    pub(super) fn new(pool: Arc<Pool>, imported: &ImportedTool) -> Self {
        let spec = &imported.spec;
        let codes = spec.error_schemas.iter();
        Self {
            pool,
            tool: imported.tool.clone(),
            side_effects: side_effects(spec),
            has_output_schema: imported.has_output_schema,
            flagged: declares_flags(&spec.output_schema).then(|| spec.output_schema.clone()),
            members: InputMembers::of_schema(&spec.input_schema),
            declared: codes.map(|it| it.code.as_str().to_owned()).collect(),
        }
    }

    async fn run(&self, context: Context, input: Arc<Value>) -> Result<Arc<Value>, Failure> {
        // Discards what an earlier attempt returned.
        context.set_extra(None);
        let request = InteractiveRequest::new(context.clone());
        let outcome = self.run_rounds(&context, &request, &input).await;
        outcome
            .map(Arc::new)
            .map_err(|failure| request.explain(failure))
    }

    /// Sends the request, and again as long as the server requires input.
    async fn run_rounds(
        &self,
        context: &Context,
        call: &InteractiveRequest,
        input: &Value,
    ) -> Result<Value, Failure> {
        let connection = self.pool.connection_for(context.state_owner()).await;
        let connection = connection
            .map_err(|error| self.request_failure(&FailedRequest::not_sent(error), context))?;
        let mut round = Round::default();
        loop {
            let result = self
                .send_round(&connection, (context, call), input, &round)
                .await;
            let result = match result {
                Ok(result) => result,
                Err(failed) => {
                    round = self
                        .after_url_elicitations(&failed, context, call, &round)
                        .await?;
                    continue;
                }
            };
            if !input_required::requires_input(&result) {
                return self.outcome(&result, input, context);
            }
            let next = round.next(call, result).await;
            round = next.map_err(|error| self.input_failure(&error, &round))?;
        }
    }

    /// The next round of a call that the server refused until a URL was visited. A client whose
    /// protocol has an error for that opens the URL and calls again.
    async fn after_url_elicitations(
        &self,
        failed: &FailedRequest,
        context: &Context,
        call: &InteractiveRequest,
        round: &Round,
    ) -> Result<Round, Failure> {
        if let McpError::Rpc(error) = &failed.error {
            let elicitations = rpc_error::url_elicitations(error);
            let client = call.client();
            let forwards = client.question_kinds().url && !client.handles_url_required();
            let next = match forwards {
                true => round.after_url_elicitations(call, elicitations).await,
                false => None,
            };
            if let Some(next) = next {
                return Ok(next);
            }
            if failed.sent {
                context.note_response();
            }
            let redact = |value: &mut Value| context.redact(value);
            context.set_extra(extras::of_error(error.code, error.data.as_ref(), redact));
        }
        Err(self.request_failure(failed, context))
    }

    async fn send_round(
        &self,
        connection: &Arc<Connection>,
        call: (&Context, &InteractiveRequest),
        input: &Value,
        round: &Round,
    ) -> Result<Value, FailedRequest> {
        let first = self.send(connection, call, input, round).await;
        let response = match first {
            Err(failed) if failed.ends_connection() && !failed.sent => {
                self.send(connection, call, input, round).await
            }
            response => response,
        };
        response.map_err(|failed| FailedRequest {
            sent: failed.sent || !round.is_first(),
            ..failed
        })
    }

    async fn send(
        &self,
        connection: &Arc<Connection>,
        (context, call): (&Context, &InteractiveRequest),
        input: &Value,
        round: &Round,
    ) -> Result<Value, FailedRequest> {
        let live = connected(connection, context).await;
        let live = live.map_err(FailedRequest::not_sent)?;
        let request = self.request(input, round);
        let timeout = response_timeout(context);
        let response = live.request(request, meta(context), Some(call), timeout);
        let response = response.await;
        if response.as_ref().is_err_and(FailedRequest::ends_connection) {
            connection.forget(&live);
        }
        response
    }

    fn request(&self, input: &Value, round: &Round) -> ClientRequest {
        let arguments = input.as_object().cloned().unwrap_or_default();
        let params = CallToolRequestParams::new(self.tool.clone()).with_arguments(arguments);
        round.applied_to(ClientRequest::CallToolRequest(CallToolRequest::new(params)))
    }

    fn request_failure(&self, failed: &FailedRequest, context: &Context) -> Failure {
        if let McpError::Rpc(error) = &failed.error
            && rpc_error::is_unknown_tool(error)
        {
            self.pool.shared().mark_tools_outdated();
        }
        request_failure::failure(
            &self.pool.shared().server.namespace,
            failed,
            self.side_effects,
            context.now(),
        )
    }

    fn outcome(&self, result: &Value, input: &Value, context: &Context) -> Result<Value, Failure> {
        let failing = FailingResult {
            server: &self.pool.shared().server.namespace,
            result,
            side_effects: self.side_effects,
            output_schema: self.flagged.as_ref(),
            members: &self.members,
            now: context.now(),
        };
        let is_failing = result.get("isError").is_some_and(is_set);
        let is_disguised = !is_failing
            && self.pool.shared().server.success_bodies == SuccessBodies::Read
            && failing.is_disguised();
        if is_failing || is_disguised {
            context.note_response();
            let redact = |value: &mut Value| context.redact(value);
            context.set_extra(match is_disguised {
                // What the tool returned as a success is kept completely.
                true => extras::of_disguised_failure(result, redact),
                false => extras::of_failure(result, redact),
            });
            let hidden = Hidden::of(result, input);
            let failing = FailingResult {
                result: &hidden.result,
                ..failing
            };
            let failure = failing.failure(|code| self.declared.contains(code));
            return Err(hidden.shown(failure));
        }
        context.set_extra(extras::of_output(result, self.has_output_schema));
        output::from_result(result, self.has_output_schema).ok_or_else(|| {
            let violation =
                McpError::ProtocolViolation("the response is not a tool result".to_owned());
            self.request_failure(&FailedRequest::after_send(violation), context)
        })
    }

    /// The failure for required input that got no reply. Input that is required in the first round
    /// is required before the tool starts.
    fn input_failure(&self, error: &InputNotProvided, round: &Round) -> Failure {
        let failure = Failure::new(codes::TOOL_FAILED)
            .with_message(error.to_string())
            .with_actions([request_failure::PASS_AS_ARGUMENTS]);
        let effect = match round.is_first() {
            true => Effect::None,
            false => self.side_effects.effect_of(&failure),
        };
        failure.with_effect(effect)
    }
}

impl Handler for ToolCall {
    fn call(
        &self,
        context: Context,
        input: Arc<Value>,
    ) -> BoxFuture<'_, Result<Arc<Value>, Failure>> {
        Box::pin(self.run(context, input))
    }
}

/// Whether a flag is set, also if the server writes it as another type.
fn is_set(flag: &Value) -> bool {
    match flag {
        Value::Bool(flag) => *flag,
        Value::String(flag) => !matches!(
            flag.trim().to_ascii_lowercase().as_str(),
            "" | "false" | "no" | "0"
        ),
        Value::Number(flag) => flag.as_f64() != Some(0.0),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

fn side_effects(spec: &OperationSpec) -> SideEffects {
    match (spec.op_type, spec.idempotency.idempotent) {
        (OperationType::Mutation, false) => SideEffects::Change,
        (OperationType::Mutation, true) => SideEffects::Idempotent,
        (OperationType::Query | OperationType::Subscription, _) => SideEffects::ReadOnly,
    }
}

/// The connection, if it is ready before the attempt ends: a server that is still starting has not
/// seen the call.
async fn connected(
    connection: &Arc<Connection>,
    context: &Context,
) -> Result<Arc<LiveConnection>, McpError> {
    let left = Duration::from_millis(context.remaining_ms());
    let left = left.saturating_sub(FAILURE_MARGIN).max(left / 2);
    let connected = tokio::time::timeout(left, connection.connected()).await;
    connected.unwrap_or_else(|_| Err(McpError::timeout("the handshake", left)))
}

/// How long a response is waited for: longer than any attempt, including input requests and
/// progress. The runtime decides when an attempt is over.
fn response_timeout(context: &Context) -> Duration {
    let longest_ms = EXTENDED_ATTEMPT_LIMIT_MS.max(context.remaining_ms());
    let longest_ms = longest_ms.saturating_add(QUESTIONS_WAIT_LIMIT_MS);
    Duration::from_millis(longest_ms).saturating_add(RESPONSE_GRACE)
}

fn meta(context: &Context) -> RequestMetaObject {
    let mut meta = RequestMetaObject::new();
    let members: &mut Map<String, Value> = &mut meta.0.0;
    members.extend(context.meta().cloned().unwrap_or_default());
    if let Some(key) = context.downstream_key() {
        members.insert(IDEMPOTENCY_META_KEY.to_owned(), key.into());
    }
    if let Some(trace) = context.trace() {
        members.insert(TRACE_META_KEY.to_owned(), trace.as_str().into());
    }
    meta
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_flag_may_have_another_type() {
        for (flag, expected) in [
            (json!(true), true),
            (json!("true"), true),
            (json!("True"), true),
            (json!(1), true),
            (json!("yes"), true),
            (json!(false), false),
            (json!("false"), false),
            (json!(""), false),
            (json!(0), false),
            (json!(null), false),
        ] {
            assert_eq!(is_set(&flag), expected, "{flag}");
        }
    }
}
