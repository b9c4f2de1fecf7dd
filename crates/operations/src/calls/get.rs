//! `calls/get` and `calls/recent`: recordings, one by its id or the newest.

use std::sync::Arc;

use panpan_contract::operation::{ErrorDefinition, OperationSpec, OperationType};
use panpan_contract::recording::Recording;
use panpan_contract::{Category, Code, Failure};
use panpan_runtime::ports::Outcomes;
use panpan_runtime::{Builder, Context, untyped};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{WATCH_SCOPE, operation, unavailable};

/// The most recordings given at once.
const RECENT_LIMIT: usize = 100;

#[derive(Deserialize)]
struct Recent {
    #[serde(default = "few")]
    limit: usize,
    #[serde(default)]
    failed_only: bool,
}

fn few() -> usize {
    20
}

pub(super) fn add(builder: Builder, outcomes: &Arc<dyn Outcomes>) -> Builder {
    let store = outcomes.clone();
    let get = move |_: Context, input: Arc<Value>| get(store.clone(), input);
    let store = outcomes.clone();
    let recent = move |_: Context, input: Arc<Value>| recent(store.clone(), input);
    builder
        .register(get_spec(), get)
        .register(recent_spec(), recent)
}

fn get_spec() -> OperationSpec {
    let mut spec = operation(
        "calls/get",
        OperationType::Query,
        WATCH_SCOPE,
        "Gives the recording of one call: its attempts, what was decided after each, and its outcome, \
         without anything secret.",
    );
    spec.input_schema = json!({
        "type": "object",
        "required": ["id"],
        "additionalProperties": false,
        "properties": {"id": {"type": "string", "format": "uuid"}},
    });
    spec.error_schemas = vec![not_recorded()];
    spec
}

fn not_recorded() -> ErrorDefinition {
    let code = Code::new("CALL_NOT_RECORDED").expect("the code is well formed");
    ErrorDefinition {
        category: Some(Category::ClientError),
        http_status: Some(panpan_contract::operation::StatusPattern::Exact(404)),
        schema: json!({
            "type": "object",
            "required": ["id"],
            "properties": {"id": {"type": "string"}},
        }),
        ..ErrorDefinition::new(code, "There is no recording of this call")
    }
}

async fn get(store: Arc<dyn Outcomes>, input: Arc<Value>) -> Result<Value, Failure> {
    let id = Uuid::deserialize(&input["id"]).map_err(|error| untyped(&error))?;
    let found = store.find(id).await.map_err(|error| unavailable(&error))?;
    let Some(recording) = found else {
        let failure = not_recorded().failure().map_err(|_| unwritable())?;
        return Err(failure
            .with_message(format!("there is no recording of call {id}"))
            .with_detail("id", id.to_string())
            .with_actions([
                "Look it up by time with calls/recent: of calls that went well only some are recorded, \
                 and recordings are deleted after a while",
            ]));
    };
    shown(&recording)
}

fn recent_spec() -> OperationSpec {
    let mut spec = operation(
        "calls/recent",
        OperationType::Query,
        WATCH_SCOPE,
        "Gives the newest recordings of calls, without anything secret.",
    );
    spec.input_schema = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "limit": {"type": "integer", "minimum": 1, "maximum": RECENT_LIMIT},
            "failed_only": {"type": "boolean"},
        },
    });
    spec
}

async fn recent(store: Arc<dyn Outcomes>, input: Arc<Value>) -> Result<Value, Failure> {
    let Recent { limit, failed_only } =
        Recent::deserialize(&*input).map_err(|error| untyped(&error))?;
    let recent = store.recent(limit, failed_only).await;
    let recent = recent.map_err(|error| unavailable(&error))?;
    let shown: Result<Vec<Value>, Failure> = recent.iter().map(shown).collect();
    Ok(json!({"calls": shown?}))
}

fn shown(recording: &Recording) -> Result<Value, Failure> {
    serde_json::to_value(recording).map_err(|error| untyped(&error))
}

fn unwritable() -> Failure {
    Failure::new(panpan_contract::codes::INTERNAL)
}
