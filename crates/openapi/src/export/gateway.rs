//! The paths of the gateway that are not about one operation.

use serde_json::{Map, Value, json};

use super::BEARER;
use super::components::Components;
use super::failures::{CallFeatures, Failures};
use super::operation::{STREAM, key_header};
use crate::GATEWAY_EXTENSION;

/// Access and keys depend on the called operation.
const ANY_CALL: CallFeatures = CallFeatures {
    is_guarded: true,
    takes_key: true,
};
const READING: CallFeatures = CallFeatures {
    is_guarded: false,
    takes_key: false,
};

/// A path of the gateway.
struct Route {
    path: &'static str,
    method: &'static str,
    summary: &'static str,
    features: CallFeatures,
    parameters: Vec<Value>,
    request: Option<Value>,
    answer: Value,
}

/// The paths of the gateway.
pub(super) fn paths(failures: &mut Failures, components: &mut Components) -> Map<String, Value> {
    let mut paths = Map::new();
    for route in routes(components) {
        let name = route.path.trim_start_matches('/');
        let mut responses = failures.responses(name, &[], route.features, components);
        responses.insert("200".to_owned(), route.answer);
        let mut operation = json!({
            "operationId": name, "summary": route.summary, "parameters": route.parameters,
            "responses": responses, "security": [{}, {BEARER: []}], GATEWAY_EXTENSION: true,
        });
        if let Some(schema) = route.request {
            let content = json!({"application/json": {"schema": schema}});
            operation["requestBody"] = json!({"required": true, "content": content});
        }
        paths.insert(route.path.to_owned(), json!({route.method: operation}));
    }
    paths
}

fn routes(components: &mut Components) -> [Route; 5] {
    let call = components.add("Call", call_schema());
    let done = components.add("CallDone", done_schema());
    let results = components.add("BatchDone", batch_schema(&done));
    let listed = components.add("Listed", listed_schema());
    let contract = json!({"type": "object", "description": "The contract of the operation."});
    [
        Route {
            parameters: vec![key_header(false)],
            ..calling(
                "/call",
                "Call an operation",
                call.clone(),
                whole(&or_bare(&done)),
            )
        },
        {
            let calls = json!({"type": "array", "items": call});
            calling("/batch", "Call several operations", calls, whole(&results))
        },
        calling("/subscribe", "Subscribe to an operation", call, items()),
        Route {
            parameters: vec![
                query("query", false, "string"),
                query("limit", false, "integer"),
                query("after", false, "string"),
            ],
            ..reading("/search", "List operations", &listed)
        },
        Route {
            parameters: vec![query("name", true, "string")],
            ..reading("/schema", "Describe an operation", &contract)
        },
    ]
}

fn calling(path: &'static str, summary: &'static str, request: Value, answer: Value) -> Route {
    Route {
        path,
        method: "post",
        summary,
        features: ANY_CALL,
        parameters: Vec::new(),
        request: Some(request),
        answer,
    }
}

fn reading(path: &'static str, summary: &'static str, schema: &Value) -> Route {
    Route {
        path,
        method: "get",
        summary,
        features: READING,
        parameters: Vec::new(),
        request: None,
        answer: whole(schema),
    }
}

fn query(name: &str, is_required: bool, word: &str) -> Value {
    json!({"name": name, "in": "query", "required": is_required, "schema": {"type": word}})
}

fn whole(schema: &Value) -> Value {
    json!({"description": "Success.", "content": {"application/json": {"schema": schema}}})
}

fn items() -> Value {
    json!({
        "description": STREAM,
        "content": {"text/event-stream": {"schema": {}}},
    })
}

fn call_schema() -> Value {
    json!({
        "type": "object",
        "required": ["operation"],
        "additionalProperties": false,
        "properties": {
            "operation": {"type": "string", "description": "namespace/operation"},
            "input": {},
            // At most 255 characters, perhaps in quotes.
            "idempotency_key": {"type": ["string", "null"], "pattern": "^[!-~]{1,257}$"},
            "retry_seed": {"type": ["integer", "null"], "minimum": i64::MIN, "maximum": i64::MAX},
            "timeout_ms": {"type": ["integer", "null"], "minimum": 1},
        },
    })
}

fn done_schema() -> Value {
    json!({
        "type": "object",
        "required": ["request_id", "result", "output"],
        "properties": {"request_id": {}, "result": {"const": "ok"}, "output": {}},
    })
}

/// The output in its envelope, or the bare output: callers that accept problem details get no envelope.
fn or_bare(done: &Value) -> Value {
    let bare = "The output alone, for callers that accept application/problem+json.";
    json!({"anyOf": [done, {"description": bare}]})
}

fn batch_schema(done: &Value) -> Value {
    let failed = json!({
        "type": "object",
        "required": ["request_id", "result", "error"],
        "properties": {
            "request_id": {}, "result": {"const": "error"},
            "error": {"$ref": "#/components/schemas/Failure"},
        },
    });
    let results = json!({"type": "array", "items": {"oneOf": [done, failed]}});
    json!({"type": "object", "required": ["results"], "properties": {"results": results}})
}

fn listed_schema() -> Value {
    let operation = json!({
        "type": "object",
        "required": ["name", "namespace", "op_type"],
        "properties": {
            "name": {"type": "string"},
            "namespace": {"type": "string"},
            "op_type": {"enum": ["query", "mutation", "subscription"]},
            "description": {"type": "string"},
        },
    });
    let operations = json!({"type": "array", "items": operation});
    let next = json!({"type": "string", "description": "The value of `after` for the next page; absent on the last page."});
    json!({
        "type": "object",
        "required": ["operations"],
        "properties": {"operations": operations, "next": next},
    })
}
