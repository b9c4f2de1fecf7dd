//! Four tools that replace one tool per operation, when those would be too many for a model to
//! read.
//!
//! `search` finds operations, `schema` describes one, `call` calls one and `batch` several. Their
//! calls pass through the same stages as all others.

mod calls;
mod discovery;

use std::sync::Arc;

use panpan_failure::Failure;
use panpan_mcp::names::KEY_ARGUMENT;
use panpan_mcp::output;
use panpan_runtime::CallRequest;
use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, CallToolResult, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::arguments::{Arguments, Violations};
use super::call::INPUT_ARGUMENT;
use super::request::ActiveRequest;
use super::tool_index::ToolIndex;
use super::tool_result::WireVersion;
use super::{key, tool_result};
use crate::gateway::Surface;
use crate::options::IN_META;
use crate::search::{RESULTS, RESULTS_LIMIT};
use calls::{call_batch, decode, decode_batch};
use discovery::{describe, find};

/// The largest number of operations that are shown as one tool each.
pub const TOOLS_LIMIT: usize = 64;

/// A tool of panpan itself, which is not an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GatewayTool {
    Search,
    Schema,
    Call,
    Batch,
}

impl GatewayTool {
    const ALL: [Self; 4] = [Self::Search, Self::Schema, Self::Call, Self::Batch];

    fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Schema => "schema",
            Self::Call => "call",
            Self::Batch => "batch",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// All four as they are listed.
    pub(super) fn tools(batch_limit: usize) -> Vec<Tool> {
        let listed = Self::ALL.map(|it| it.tool(batch_limit));
        listed.into()
    }

    fn tool(self, batch_limit: usize) -> Tool {
        let reads = matches!(self, Self::Search | Self::Schema);
        let annotations = ToolAnnotations::new()
            .read_only(reads)
            .destructive(!reads)
            .idempotent(reads);
        let schema = Arc::new(self.input_schema(batch_limit));
        Tool::new(self.name(), self.description(), schema).with_annotations(annotations)
    }

    fn description(self) -> &'static str {
        match self {
            Self::Search => {
                "Finds operations by words in their names and descriptions, best match first; lists \
                 all of them without a query. Next, use schema to see what an operation takes, then call."
            }
            Self::Schema => {
                "Returns the contract of an operation: its input, its output and every failure it \
                 declares."
            }
            Self::Call => "Calls an operation with the input its schema describes.",
            Self::Batch => {
                "Calls several operations concurrently. Returns the results in the order of the calls, \
                 each {result: \"ok\", output} or {result: \"error\", error}."
            }
        }
    }

    fn input_schema(self, batch_limit: usize) -> Map<String, Value> {
        let (properties, required) = match self {
            Self::Search => (
                json!({
                    "query": {"type": "string", "description": "Words to search for."},
                    "limit": {"type": "integer", "minimum": 1, "maximum": RESULTS_LIMIT, "default": RESULTS},
                    "after": {"type": "string", "description": "The value of next in the previous result."},
                }),
                json!([]),
            ),
            Self::Schema => (json!({"name": name_schema()}), json!(["name"])),
            Self::Call => (call_schema(), json!(["operation"])),
            Self::Batch => {
                let call = object(call_schema(), json!(["operation"]));
                let calls =
                    json!({"type": "array", "minItems": 1, "maxItems": batch_limit, "items": call});
                (json!({"calls": calls}), json!(["calls"]))
            }
        };
        object(properties, required)
    }

    pub(super) async fn call(
        self,
        request: &ActiveRequest<'_>,
        index: &ToolIndex,
        input: Value,
    ) -> Result<CallToolResponse, ErrorData> {
        if self != Self::Call {
            request.refuse_resume_of(self.name(), self == Self::Batch)?;
        }
        let mut violations = Violations::default();
        let arguments = Arguments::new(input, "", &mut violations);
        let output = match self {
            Self::Search => find(request, index, arguments),
            Self::Schema => describe(request, arguments),
            Self::Call => {
                let call = decode(arguments, &request.context.meta);
                if let Some(failure) = violations.failure() {
                    return Ok(self.refused(request, failure).into());
                }
                let entry = index.by_operation(&call.operation);
                return request.call(entry, call).await;
            }
            Self::Batch => {
                if let Err(failure) = refuse_options(request) {
                    return Ok(self.refused(request, failure).into());
                }
                let calls = decode_batch(request, arguments);
                if let Some(failure) = violations.failure() {
                    return Ok(self.refused(request, failure).into());
                }
                return call_batch(request, index, calls).await.map(Into::into);
            }
        };
        let output = violations.failure().map_or(output, Err);
        let result = match output {
            Ok(output) => output::to_result(output),
            Err(failure) => self.refused(request, failure),
        };
        Ok(result.into())
    }

    fn refused(self, request: &ActiveRequest<'_>, failure: Failure) -> CallToolResult {
        let mut call = CallRequest::from_wire(self.name(), json!({}));
        call.caller.clone_from(&request.caller().identity);
        let gateway = request.server.gateway();
        tool_result::from_answer(
            gateway.refuse(Surface::Mcp, call, failure),
            None,
            None,
            None,
            WireVersion::Stateless,
        )
    }
}

/// Refuses options of a call beside a batch: one key cannot belong to several calls.
fn refuse_options(request: &ActiveRequest<'_>) -> Result<(), Failure> {
    if let Some(options) = request.caller().header_options.as_deref() {
        options.refuse_in_batch()?;
    }
    IN_META.refuse_in_batch(&request.context.meta)
}

fn object(properties: Value, required: Value) -> Map<String, Value> {
    Map::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), properties),
        ("required".to_owned(), required),
        ("additionalProperties".to_owned(), json!(false)),
    ])
}

fn name_schema() -> Value {
    json!({"type": "string", "description": "The name of the operation, such as orders/get."})
}

fn call_schema() -> Value {
    json!({
        "operation": name_schema(),
        INPUT_ARGUMENT: {"description": "The input, as the operation's schema describes it; {} if left out."},
        KEY_ARGUMENT: key::schema_of_argument(),
        "timeout_ms": {"type": "integer", "minimum": 1},
    })
}
