//! One call of an operation: its key, its trace and its cancellation. The request that waits for it
//! is in `request`.

use std::sync::Arc;

use panpan_failure::{Failure, Redacted, codes};
use panpan_mcp::names::passes_on;
use panpan_runtime::{
    Answer, AskClient, CallRequest, CancellationToken, IdempotencyKey, ReportProgress,
    operation_not_found,
};
use rmcp::ErrorData;
use rmcp::model::CallToolResult;
use serde_json::{Map, Value};

use super::tool_index::{Entry, ToolIndex};
use super::tool_result::WireVersion;
use super::{key, tasks, tool_result};
use crate::caller::Caller;
use crate::gateway::{Gateway, Surface};
use crate::options::IN_META;

/// A call that was decoded from the arguments of a tool.
#[derive(Debug)]
pub(super) struct DecodedCall {
    /// The name of the operation, which need not exist.
    pub(super) operation: String,
    pub(super) input: Arc<Value>,
    /// The idempotency key, or the violation that makes it unusable.
    pub(super) key: Result<Option<IdempotencyKey>, Failure>,
    /// Whether panpan generated the key.
    pub(super) key_is_generated: bool,
    pub(super) timeout_ms: Option<u64>,
    pub(super) named_by: NamedBy,
}

/// The argument of `call` that carries the input.
pub(super) const INPUT_ARGUMENT: &str = "input";

/// How the caller names operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamedBy {
    /// By the names of their tools.
    Tool,
    /// By their own names, as arguments of the tools `call` and `batch`.
    Operation,
}

impl NamedBy {
    /// The argument that carries the input, unless all arguments are the input.
    fn input_argument(self) -> Option<&'static str> {
        (self == Self::Operation).then_some(INPUT_ARGUMENT)
    }

    /// A failure with pointers that start at the caller's arguments.
    fn with_pointers(self, failure: Redacted) -> Redacted {
        match self.input_argument() {
            Some(argument) => failure.within(argument),
            None => failure,
        }
    }
}

/// The result of a call, and its key.
#[derive(Debug)]
pub(super) struct FinishedCall {
    pub(super) answer: Answer,
    pub(super) key: Option<IdempotencyKey>,
    pub(super) named_by: NamedBy,
}

/// The caller, the `_meta` and the cancellation tokens of a request.
#[derive(Debug)]
pub(super) struct RequestScope<'a> {
    pub(super) gateway: &'a Gateway,
    pub(super) caller: &'a Caller,
    pub(super) meta: &'a Map<String, Value>,
    pub(super) cancel: CancelTokens,
}

/// The cancellation tokens of a request's calls.
#[derive(Clone, Debug)]
pub(super) struct CancelTokens {
    /// Cancels all calls, with or without a key.
    pub(super) all: CancellationToken,
    /// Cancels the calls without a key.
    pub(super) without_key: CancellationToken,
}

impl CancelTokens {
    pub(super) fn new() -> Self {
        let all = CancellationToken::new();
        Self {
            without_key: all.child_token(),
            all,
        }
    }
}

impl RequestScope<'_> {
    /// The call that a tool stands for.
    pub(super) fn decode(&self, entry: &Entry, mut input: Value) -> DecodedCall {
        let argument = entry.takes_key.then(|| key::take_from(&mut input));
        DecodedCall {
            operation: entry.operation.clone(),
            key: key::stated(self.meta, argument.flatten().as_ref()),
            key_is_generated: false,
            input: input.into(),
            timeout_ms: None,
            named_by: NamedBy::Tool,
        }
    }

    /// Makes one call; `entry` describes the operation, if it exists.
    pub(super) async fn perform(
        &self,
        entry: Option<&Entry>,
        decoded: DecodedCall,
        progress: Option<Arc<dyn ReportProgress>>,
        asks: Option<Arc<dyn AskClient>>,
    ) -> FinishedCall {
        let mut call = CallRequest {
            input_argument: decoded.named_by.input_argument(),
            progress,
            client: asks,
            ..CallRequest::from_wire(decoded.operation, decoded.input)
        };
        let refused = self.not_offered(&call.operation);
        let refused = refused.or_else(|| self.only_as_task(entry, decoded.named_by));
        if let Some(failure) = refused {
            return self.refused(call, failure, decoded.named_by);
        }
        let applied = IN_META.apply(self.meta, &mut call);
        call.timeout_ms = decoded.timeout_ms.or(call.timeout_ms);
        call.meta = Some(forwarded(self.meta))
            .filter(|it| !it.is_empty())
            .map(Arc::new);
        let stated = decoded.key.and_then(|stated| {
            applied?;
            call.key = stated;
            let options = self.caller.header_options.as_deref();
            options.map_or(Ok(()), |options| options.apply(&IN_META, &mut call))?;
            Ok(call.key.take())
        });
        let stated = match stated {
            Ok(stated) => stated,
            Err(failure) => return self.refused(call, failure, decoded.named_by),
        };
        let is_stated = stated.is_some() && !decoded.key_is_generated;
        let key = stated.or_else(|| generated_key(self.gateway, entry));
        call.key_is_generated = key.is_some() && !is_stated;
        let abort = match key {
            Some(_) => &self.cancel.all,
            None => &self.cancel.without_key,
        };
        call.abort = Some(abort.clone());
        call.key.clone_from(&key);
        let mut answer = self.gateway.call(Surface::Mcp, self.caller, call).await;
        answer.outcome = answer
            .outcome
            .map_err(|it| decoded.named_by.with_pointers(it));
        FinishedCall {
            answer,
            key,
            named_by: decoded.named_by,
        }
    }

    /// The refusal of an operation that is not offered to models: the same as for one that does not
    /// exist.
    fn not_offered(&self, name: &str) -> Option<Failure> {
        let registry = self.gateway.dispatcher().registry();
        registry.get(name).filter(|it| !it.is_offered_to_models())?;
        let callable = self.gateway.callable(self.caller);
        let offered = callable.iter().filter(|it| it.is_offered_to_models());
        let name = name.strip_prefix('/').unwrap_or(name);
        Some(operation_not_found(
            name,
            offered.map(|it| it.name().as_str()),
            "call",
        ))
    }

    /// The refusal of an operation that runs only as a task, by the name of the operation.
    fn only_as_task(&self, entry: Option<&Entry>, named_by: NamedBy) -> Option<Failure> {
        let entry = entry.filter(|it| named_by == NamedBy::Operation && it.requires_task())?;
        let tool = entry.tool.as_ref().map_or("", |tool| &*tool.name);
        tasks::are_offered(self.gateway).then(|| {
            Failure::new(codes::INVALID_REQUEST)
                .with_message(format!("operation {} runs only as a task", entry.operation))
                .with_actions([format!("Call the tool {tool} itself, as a task")])
        })
    }

    /// Answers a request that cannot become a call. The violation is beside the input, not in it.
    pub(super) fn refused(
        &self,
        mut call: CallRequest,
        failure: Failure,
        named_by: NamedBy,
    ) -> FinishedCall {
        call.caller.clone_from(&self.caller.identity);
        call.input_argument = None;
        let answer = self.gateway.refuse(Surface::Mcp, call, failure);
        FinishedCall {
            answer,
            key: None,
            named_by,
        }
    }
}

/// The members of `_meta` for the server behind a tool, a prompt or a resource.
pub(super) fn forwarded(meta: &Map<String, Value>) -> Map<String, Value> {
    let members = meta.iter().filter(|(name, _)| passes_on(name));
    members.map(|(k, v)| (k.clone(), v.clone())).collect()
}

/// A generated key, if the operation gets one.
pub(super) fn generated_key(gateway: &Gateway, entry: Option<&Entry>) -> Option<IdempotencyKey> {
    let gets_key = entry.is_some_and(|entry| entry.gets_key);
    gets_key.then(|| gateway.dispatcher().new_key())
}

impl FinishedCall {
    /// The result of the tool, or the JSON-RPC error to answer with instead.
    pub(super) fn into_result(
        self,
        entry: Option<&Entry>,
        index: &ToolIndex,
        version: WireVersion,
    ) -> Result<CallToolResult, ErrorData> {
        if let Some(error) = tool_result::protocol_error(&self.answer, version) {
            return Err(error);
        }
        let index = Some(index).filter(|_| self.named_by == NamedBy::Tool);
        let key = self.key.as_ref();
        Ok(tool_result::from_answer(
            self.answer,
            key,
            entry,
            index,
            version,
        ))
    }
}
