//! One call of a tool.
//!
//! A call is sent again only when the server certainly has not seen it, and then once. Everything else
//! is the runtime's to decide, by the failure. Dropping the call tells the server that nobody waits.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use panpan_contract::binding::SuccessBodies;
use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_failure::dialect::declares_flags;
use panpan_failure::{Effect, Failure, codes};
use panpan_runtime::{
    BoxFuture, Context, Handler, QUESTIONS_WAIT_LIMIT_MS, SIGNS_OF_LIFE_LIMIT_MS,
};
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, RequestMetaObject};
use serde_json::{Map, Value};

use super::asking::AskingCall;
use super::error::{McpError, Unanswered};
use super::lifted::Failing;
use super::link::Link;
use super::live::Live;
use super::pool::Pool;
use super::published::Published;
use super::rounds::{self, Round, Unmet};
use super::trouble::{self, Stake};
use super::{output, shapes};

/// Where a panpan looks for the idempotency key of a call.
const KEY_META: &str = "dev.panpan/idempotency-key";

/// Where the protocol carries a trace.
const TRACE_META: &str = "traceparent";

/// How much longer an answer is waited for than the attempt may take: the runtime ends it, and knows
/// what that means.
const GRACE: Duration = Duration::from_secs(1);

/// How long before the end of an attempt it is given up to connect, so that it can be told.
const BEFORE_THE_END: Duration = Duration::from_millis(200);

/// Calls one tool of a server.
#[derive(Debug)]
pub(super) struct ToolCall {
    pool: Arc<Pool>,
    tool: String,
    stake: Stake,
    has_output_schema: bool,
    /// The schema of outputs, where they may look like failures.
    flagged: Option<Value>,
    declared: BTreeSet<String>,
}

impl ToolCall {
    pub(super) fn new(pool: Arc<Pool>, published: &Published) -> Self {
        let spec = &published.spec;
        let codes = spec.error_schemas.iter();
        Self {
            pool,
            tool: published.tool.clone(),
            stake: stake(spec),
            has_output_schema: published.has_output_schema,
            flagged: declares_flags(&spec.output_schema).then(|| spec.output_schema.clone()),
            declared: codes.map(|it| it.code.as_str().to_owned()).collect(),
        }
    }

    async fn run(&self, context: Context, input: Arc<Value>) -> Result<Arc<Value>, Failure> {
        // What an earlier attempt gave belongs to that one.
        context.give_beside(None);
        let call = AskingCall::new(context.clone());
        let ended = self.ended(&context, &call, &input).await;
        ended
            .map(Arc::new)
            .map_err(|failure| call.explained(failure))
    }

    /// Makes the call, again and again as long as the server answers it with questions.
    async fn ended(
        &self,
        context: &Context,
        call: &AskingCall,
        input: &Value,
    ) -> Result<Value, Failure> {
        let link = self.pool.of(context.state_owner()).await;
        let link = link.map_err(|error| self.lost(&Unanswered::before(error), context))?;
        let mut round = Round::default();
        loop {
            let result = self.answered(&link, (context, call), input, &round).await;
            let result = match result {
                Ok(result) => result,
                Err(lost) => {
                    round = self.after_visits(&lost, context, call, &round).await?;
                    continue;
                }
            };
            if !rounds::asks(&result) {
                return self.outcome(&result, context);
            }
            let next = round.next(call, result).await;
            round = next.map_err(|unmet| self.unmet(&unmet, &round))?;
        }
    }

    /// The next round of a call that was refused until a person has visited an address. Clients whose protocol has
    /// an error for that visit it themselves, and call again.
    async fn after_visits(
        &self,
        lost: &Unanswered,
        context: &Context,
        call: &AskingCall,
        round: &Round,
    ) -> Result<Round, Failure> {
        if let McpError::Refused(refusal) = &lost.error {
            let visits = shapes::visits(refusal);
            let asks = context.answerable().visit && !context.visits_when_refused();
            let next = match asks {
                true => round.after_visits(call, visits).await,
                false => None,
            };
            if let Some(next) = next {
                return Ok(next);
            }
            let beside = shapes::for_clients(refusal, |value| context.redact(value));
            context.give_beside(beside);
        }
        Err(self.lost(lost, context))
    }

    async fn answered(
        &self,
        link: &Arc<Link>,
        call: (&Context, &AskingCall),
        input: &Value,
        round: &Round,
    ) -> Result<Value, Unanswered> {
        let first = self.asked(link, call, input, round).await;
        let answered = match first {
            Err(lost) if lost.is_the_end() && !lost.sent => {
                self.asked(link, call, input, round).await
            }
            answered => answered,
        };
        answered.map_err(|lost| Unanswered {
            sent: lost.sent || !round.is_first(),
            ..lost
        })
    }

    async fn asked(
        &self,
        link: &Arc<Link>,
        (context, call): (&Context, &AskingCall),
        input: &Value,
        round: &Round,
    ) -> Result<Value, Unanswered> {
        let live = connected(link, context).await;
        let live = live.map_err(Unanswered::before)?;
        let request = self.request(input, round);
        let patience = patience(context);
        let answered = live.ask("a call", request, meta(context), Some(call), patience);
        let answered = answered.await;
        if answered.as_ref().is_err_and(Unanswered::is_the_end) {
            link.forget(&live);
        }
        answered
    }

    fn request(&self, input: &Value, round: &Round) -> ClientRequest {
        let arguments = input.as_object().cloned().unwrap_or_default();
        let params = CallToolRequestParams::new(self.tool.clone()).with_arguments(arguments);
        round.applied_to(ClientRequest::CallToolRequest(CallToolRequest::new(params)))
    }

    fn lost(&self, lost: &Unanswered, context: &Context) -> Failure {
        if let McpError::Refused(refusal) = &lost.error
            && shapes::denies_tool(refusal)
        {
            self.pool.own().doubt_tools();
        }
        trouble::failure(&self.pool.own().namespace, lost, self.stake, context.now())
    }

    fn outcome(&self, result: &Value, context: &Context) -> Result<Value, Failure> {
        let failing = Failing {
            server: &self.pool.own().namespace,
            result,
            stake: self.stake,
            output_schema: self.flagged.as_ref(),
            now: context.now(),
        };
        let is_failing = result.get("isError") == Some(&Value::Bool(true))
            || (self.pool.own().success_bodies == SuccessBodies::Read && failing.is_disguised());
        if is_failing {
            let beside = output::beside_failure(result, |value| context.redact(value));
            context.give_beside(beside);
            return Err(failing.failure(|code| self.declared.contains(code)));
        }
        context.give_beside(output::beside(result, self.has_output_schema));
        output::of(result, self.has_output_schema).ok_or_else(|| {
            let nonsense = McpError::Nonsense("what it answered is no result".to_owned());
            self.lost(&Unanswered::after(nonsense), context)
        })
    }

    /// The server asks before it goes on, and gets no reply. What it asks first it asks before it begins.
    fn unmet(&self, unmet: &Unmet, round: &Round) -> Failure {
        let failure = Failure::new(codes::TOOL_FAILED)
            .with_message(unmet.to_string())
            .with_actions([trouble::ASK_A_PERSON]);
        let effect = match round.is_first() {
            true => Effect::None,
            false => self.stake.left_behind(&failure),
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

fn stake(spec: &OperationSpec) -> Stake {
    match (spec.op_type, spec.idempotency.idempotent) {
        (OperationType::Mutation, false) => Stake::Change,
        (OperationType::Mutation, true) => Stake::Repeatable,
        (OperationType::Query | OperationType::Subscription, _) => Stake::Nothing,
    }
}

/// The connection, if there is one before the attempt ends: a server that takes long to start has seen nothing of a
/// call by then.
async fn connected(link: &Arc<Link>, context: &Context) -> Result<Arc<Live>, McpError> {
    let left = Duration::from_millis(context.remaining_ms());
    let left = left.saturating_sub(BEFORE_THE_END).max(left / 2);
    let connected = tokio::time::timeout(left, link.connected()).await;
    connected.unwrap_or_else(|_| {
        Err(McpError::Silent {
            what: "the handshake",
            waited_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
        })
    })
}

/// How long an answer is waited for: longer than any attempt lasts, also one in which people are asked and the
/// server shows that it is at work. When an attempt is over, the runtime says so.
fn patience(context: &Context) -> Duration {
    let longest_ms = SIGNS_OF_LIFE_LIMIT_MS.max(context.remaining_ms());
    let longest_ms = longest_ms.saturating_add(QUESTIONS_WAIT_LIMIT_MS);
    Duration::from_millis(longest_ms).saturating_add(GRACE)
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
