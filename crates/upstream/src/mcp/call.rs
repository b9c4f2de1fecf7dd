//! One call of a tool.
//!
//! A call is sent again only when the server certainly has not seen it, and then once. Everything else
//! is the runtime's to decide, by the failure. Dropping the call tells the server that nobody waits.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_contract::{Effect, Failure, codes};
use panpan_runtime::{BoxFuture, Context, Handler};
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, RequestMetaObject};
use serde_json::{Map, Value};

use super::error::{McpError, Unanswered};
use super::lifted::Failing;
use super::link::Link;
use super::published::Published;
use super::trouble::{self, Stake};
use super::{output, shapes};

/// Where a panpan looks for the idempotency key of a call.
const KEY_META: &str = "dev.panpan/idempotency-key";

/// Where the protocol carries a trace.
const TRACE_META: &str = "traceparent";

/// How much longer an answer is waited for than the attempt may take: the runtime ends it, and knows
/// what that means.
const GRACE: Duration = Duration::from_secs(1);

/// Calls one tool of a server.
#[derive(Debug)]
pub(super) struct ToolCall {
    link: Arc<Link>,
    tool: String,
    stake: Stake,
    has_output_schema: bool,
    declared: BTreeSet<String>,
}

impl ToolCall {
    pub(super) fn new(link: Arc<Link>, published: &Published) -> Self {
        let spec = &published.spec;
        let codes = spec.error_schemas.iter();
        Self {
            link,
            tool: published.tool.clone(),
            stake: stake(spec),
            has_output_schema: published.has_output_schema,
            declared: codes.map(|it| it.code.as_str().to_owned()).collect(),
        }
    }

    async fn run(&self, context: Context, input: Arc<Value>) -> Result<Arc<Value>, Failure> {
        let answered = self.answered(&context, &input).await;
        let result = answered.map_err(|lost| self.lost(&lost, &context))?;
        self.outcome(&result, &context).map(Arc::new)
    }

    async fn answered(&self, context: &Context, input: &Value) -> Result<Value, Unanswered> {
        let first = self.asked(context, input).await;
        match first {
            Err(lost) if lost.is_the_end() && !lost.sent => self.asked(context, input).await,
            answered => answered,
        }
    }

    async fn asked(&self, context: &Context, input: &Value) -> Result<Value, Unanswered> {
        let live = self.link.connected().await.map_err(Unanswered::before)?;
        let left = Duration::from_millis(context.remaining_ms());
        let patience = left.saturating_add(GRACE);
        let meta = meta(context);
        let request = self.request(input);
        let answered = live.ask("a call", request, meta, Some(context), patience);
        let answered = answered.await;
        if answered.as_ref().is_err_and(Unanswered::is_the_end) {
            self.link.forget(&live);
        }
        answered
    }

    fn request(&self, input: &Value) -> ClientRequest {
        let arguments = input.as_object().cloned().unwrap_or_default();
        let params = CallToolRequestParams::new(self.tool.clone()).with_arguments(arguments);
        ClientRequest::CallToolRequest(CallToolRequest::new(params))
    }

    fn lost(&self, lost: &Unanswered, context: &Context) -> Failure {
        if let McpError::Refused(refusal) = &lost.error
            && shapes::denies_tool(refusal)
        {
            self.link.doubt_tools();
        }
        trouble::failure(&self.link.namespace, lost, self.stake, context.now())
    }

    fn outcome(&self, result: &Value, context: &Context) -> Result<Value, Failure> {
        if result.get("isError") == Some(&Value::Bool(true)) {
            let failing = Failing {
                server: &self.link.namespace,
                result,
                stake: self.stake,
                now: context.now(),
            };
            return Err(failing.failure(|code| self.declared.contains(code)));
        }
        let kind = result.get("resultType").and_then(Value::as_str);
        if kind == Some("input_required") {
            return Err(self.asks_back());
        }
        output::of(result, self.has_output_schema).ok_or_else(|| {
            let nonsense = McpError::Nonsense("what it answered is no result".to_owned());
            self.lost(&Unanswered::after(nonsense), context)
        })
    }

    /// The server wants to ask somebody, and there is nobody here.
    fn asks_back(&self) -> Failure {
        Failure::new(codes::TOOL_FAILED)
            .with_message("the tool asks for something only a person can answer")
            .with_effect(Effect::None)
            .with_actions([
                "Give everything the tool needs as arguments, or ask a person to use it",
            ])
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

fn stake(spec: &OperationSpec) -> Stake {
    match (spec.op_type, spec.idempotency.idempotent) {
        (OperationType::Mutation, false) => Stake::Change,
        (OperationType::Mutation, true) => Stake::Repeatable,
        (OperationType::Query | OperationType::Subscription, _) => Stake::Nothing,
    }
}

fn meta(context: &Context) -> RequestMetaObject {
    let mut meta = RequestMetaObject::new();
    let members: &mut Map<String, Value> = &mut meta.0.0;
    if let Some(key) = context.downstream_key() {
        members.insert(KEY_META.to_owned(), key.into());
    }
    if let Some(trace) = context.trace() {
        members.insert(TRACE_META.to_owned(), trace.as_str().into());
    }
    meta
}
