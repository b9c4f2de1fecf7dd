//! `calls/get`: the recording of one call.

use std::sync::Arc;

use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_failure::{DeclareFailures, Failure};
use panpan_runtime::ports::Outcomes;
use panpan_runtime::{Context, untyped};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{WATCH_SCOPE, operation};

#[derive(Debug, Failure)]
enum GetError {
    /// There is no recording of this call.
    #[failure(
        code = "CALL_NOT_RECORDED",
        category = CLIENT_ERROR,
        http = 404,
        message = "there is no recording of call {id}",
        action = "Look for it with calls/recent: only some successful calls are recorded, and old recordings are deleted"
    )]
    NotRecorded { id: String },
}

pub(super) fn spec() -> OperationSpec {
    let mut spec = operation(
        "calls/get",
        OperationType::Query,
        WATCH_SCOPE,
        "Returns the recording of one call: its attempts, the decision after each, and its outcome. Secrets \
         are redacted.",
    );
    spec.input_schema = json!({
        "type": "object",
        "required": ["id"],
        "additionalProperties": false,
        "properties": {"id": {"type": "string", "format": "uuid"}},
    });
    spec.error_schemas = GetError::definitions();
    spec
}

pub(super) async fn run(
    _: Context,
    store: Arc<dyn Outcomes>,
    input: Arc<Value>,
) -> Result<Value, Failure> {
    let id = Uuid::deserialize(&input["id"]).map_err(|error| untyped(&error))?;
    let found = store.find(id).await.map_err(|error| error.failure())?;
    let recording = found.ok_or_else(|| GetError::NotRecorded { id: id.to_string() })?;
    serde_json::to_value(recording).map_err(|error| untyped(&error))
}
