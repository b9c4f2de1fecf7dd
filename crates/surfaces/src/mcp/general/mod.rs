//! Four tools in place of one for each operation, where those would be too many for a model to read.
//!
//! `search` finds operations, `schema` describes one, `call` calls one, and `batch` several. What they
//! call goes the way of every call, and fails like every tool.

mod calls;
mod look;

use std::sync::Arc;

use panpan_failure::Failure;
use panpan_runtime::{CallRequest, KEY_LENGTH_LIMIT};
use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, CallToolResult, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::answer::Wire;
use super::arguments::{Arguments, Problems};
use super::call::INPUT_ARGUMENT;
use super::tools::Catalogue;
use super::turn::Turn;
use super::{KEY_ARGUMENT, answer, key};
use crate::gateway::Surface;
use crate::options::CallOptions;
use crate::search::{RESULTS, RESULTS_LIMIT};
use calls::{asked, batch, calls};
use look::{describe, find};

/// The most operations that are shown as a tool each.
pub const TOOLS_LIMIT: usize = 64;

/// A tool that is no operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum General {
    Search,
    Schema,
    Call,
    Batch,
}

impl General {
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
                "Finds operations by words of their names and descriptions, best first; lists all of \
                 them without a query. Ask schema next what an operation takes, then use call."
            }
            Self::Schema => {
                "Gives the whole contract of an operation: what goes in, what comes out, and every \
                 failure it declares."
            }
            Self::Call => "Calls an operation with the input its schema describes.",
            Self::Batch => {
                "Calls several operations side by side. The results come in the order of the calls, \
                 each {result: \"ok\", output} or {result: \"error\", error}."
            }
        }
    }

    fn input_schema(self, batch_limit: usize) -> Map<String, Value> {
        let (properties, required) = match self {
            Self::Search => (
                json!({
                    "query": {"type": "string", "description": "Words to look for."},
                    "limit": {"type": "integer", "minimum": 1, "maximum": RESULTS_LIMIT, "default": RESULTS},
                    "after": {"type": "string", "description": "The next of the answer before."},
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
        turn: &Turn<'_>,
        catalogue: &Catalogue,
        input: Value,
    ) -> Result<CallToolResponse, ErrorData> {
        if self != Self::Call {
            turn.refuse_return_to(self.name(), self == Self::Batch)?;
        }
        let mut problems = Problems::default();
        let arguments = Arguments::of(input, "", &mut problems);
        let told = match self {
            Self::Search => find(turn, catalogue, arguments),
            Self::Schema => describe(turn, arguments),
            Self::Call => {
                let asked = asked(arguments, &turn.context.meta);
                if let Some(failure) = problems.failure() {
                    return Ok(self.refused(turn, failure).into());
                }
                let entry = catalogue.by_operation(&asked.operation);
                return turn.one(entry, asked).await;
            }
            Self::Batch => {
                let options = turn.caller().header_options.as_deref();
                if let Some(Err(failure)) = options.map(CallOptions::refuse_in_batch) {
                    return Ok(self.refused(turn, failure).into());
                }
                let calls = calls(turn, arguments);
                if let Some(failure) = problems.failure() {
                    return Ok(self.refused(turn, failure).into());
                }
                return batch(turn, catalogue, calls).await.map(Into::into);
            }
        };
        let told = problems.failure().map_or(told, Err);
        let result = match told {
            Ok(output) => answer::success(output),
            Err(failure) => self.refused(turn, failure),
        };
        Ok(result.into())
    }

    fn refused(self, turn: &Turn<'_>, failure: Failure) -> CallToolResult {
        let mut request = CallRequest::from_wire(self.name(), json!({}));
        request.caller.clone_from(&turn.caller().identity);
        let gateway = turn.server.gateway();
        answer::of(
            gateway.refuse(Surface::Mcp, request, failure),
            None,
            None,
            None,
            Wire::Stateless,
        )
    }
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
        KEY_ARGUMENT: key_schema(),
        "timeout_ms": {"type": "integer", "minimum": 1},
    })
}

fn key_schema() -> Value {
    json!({
        "type": "string",
        "minLength": 1,
        "maxLength": KEY_LENGTH_LIMIT,
        "description": key::ARGUMENT_DESCRIPTION,
    })
}
