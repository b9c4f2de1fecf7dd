//! The OpenAPI document of the service, generated from the table: one operation for each fault, and the
//! operations that work.

use serde_json::{Map, Value, json};

use crate::fault::Endpoint;
use crate::table::{Access, Row, faults};

/// Describes the operations at an endpoint with this URL.
pub(crate) fn document(endpoint: Endpoint, url: &str) -> Value {
    let mut paths = Map::new();
    for row in faults().iter().filter(|row| row.endpoint() == endpoint) {
        let mut item = Map::new();
        item.insert(row.method().to_ascii_lowercase(), operation(row));
        paths.insert(row.path(), Value::Object(item));
    }
    if matches!(endpoint, Endpoint::Plain | Endpoint::Tls) {
        paths.extend(working());
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "A service that fails",
            "description": "Every operation fails in the way its summary says.",
            "version": env!("CARGO_PKG_VERSION"),
        },
        "servers": [{"url": url}],
        "paths": paths,
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    })
}

fn operation(row: &Row) -> Value {
    let mut operation = json!({
        "operationId": row.slug(),
        "summary": row.name,
        "tags": ["faults"],
        // A credential is accepted but not required.
        "security": [{"token": []}, {}],
        "responses": responses(row),
    });
    if row.operation == Access::Write {
        operation["requestBody"] = body();
    }
    if row.honours_key {
        operation["parameters"] = json!([key()]);
    }
    operation
}

fn responses(row: &Row) -> Value {
    let mut responses = Map::new();
    let answer = json!({"type": "object", "properties": {"answer": {"type": "string"}}});
    responses.insert("200".to_owned(), described("Success", &answer));
    let status = row.failure().and_then(|expected| expected.status);
    if let Some(status) = status.filter(|status| (400..600).contains(status)) {
        let error = json!({"type": "object"});
        responses.insert(status.to_string(), described(&row.name, &error));
    }
    Value::Object(responses)
}

/// Operations that do not fail, or fail only on request.
fn working() -> Vec<(String, Value)> {
    let anything = json!({"type": "object"});
    let number = json!({"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]});
    let echo = |id: &str| {
        json!({
            "operationId": id,
            "summary": "Returns the request",
            "security": [{"token": []}, {}],
            "responses": {"200": described("The request as it arrived", &anything)},
        })
    };
    let mut sent = echo("send-echo");
    sent["requestBody"] = body();
    let order = json!({
        "operationId": "create-order",
        "summary": "Places an order; the response can get lost",
        "parameters": [
            key(),
            chosen("keys", &["honoured", "ignored"], "Whether an idempotency key stands for one order"),
            chosen("then", &["cut", "silence", "error"], "What happens after the order was placed"),
            counted("times", "For how many requests with the same key this happens"),
        ],
        "requestBody": body(),
        "responses": {
            "201": described("The order", &anything),
            "500": described("The order was placed, but the response is an error", &anything),
            "507": described("Too many idempotency keys", &anything),
        },
    });
    let count = json!({
        "operationId": "count-orders",
        "summary": "Returns how many orders were placed",
        "responses": {"200": described("The number", &number)},
    });
    let cut = json!({"name": "cut", "in": "query", "description": "Whether the stream is cut off", "schema": {"type": "boolean"}});
    let events = json!({
        "operationId": "watch-events",
        "summary": "A stream of events",
        "parameters": [counted("count", "The number of events"), cut],
        "responses": {"200": {"description": "Events", "content": {"text/event-stream": {"schema": {"type": "string"}}}}},
    });
    vec![
        (
            "/echo".to_owned(),
            json!({"get": echo("echo"), "post": sent}),
        ),
        ("/orders".to_owned(), json!({"post": order})),
        ("/orders/count".to_owned(), json!({"get": count})),
        ("/events".to_owned(), json!({"get": events})),
    ]
}

fn described(description: &str, schema: &Value) -> Value {
    json!({"description": description, "content": {"application/json": {"schema": schema}}})
}

fn body() -> Value {
    json!({"content": {"application/json": {"schema": {"type": "object"}}}})
}

fn key() -> Value {
    json!({
        "name": "Idempotency-Key",
        "in": "header",
        "description": "Requests with the same key have one effect",
        "schema": {"type": "string"},
    })
}

fn chosen(name: &str, values: &[&str], description: &str) -> Value {
    let schema = json!({"type": "string", "enum": values});
    json!({"name": name, "in": "query", "description": description, "schema": schema})
}

fn counted(name: &str, description: &str) -> Value {
    let schema = json!({"type": "integer", "minimum": 0});
    json!({"name": name, "in": "query", "description": description, "schema": schema})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_an_operation_of_its_endpoint() {
        for &endpoint in Endpoint::ALL {
            let document = document(endpoint, "http://127.0.0.1");
            for row in faults().iter().filter(|row| row.endpoint() == endpoint) {
                let operation = &document["paths"][row.path()][row.method().to_ascii_lowercase()];
                assert_eq!(operation["operationId"], row.slug());
                assert!(operation["responses"].is_object(), "{}", row.name);
            }
        }
    }

    #[test]
    fn only_working_endpoints_have_working_operations() {
        for &endpoint in Endpoint::ALL {
            let document = document(endpoint, "http://127.0.0.1");
            let works = document["paths"].get("/echo").is_some();
            assert_eq!(
                works,
                matches!(endpoint, Endpoint::Plain | Endpoint::Tls),
                "{endpoint:?}"
            );
        }
    }

    #[test]
    fn the_status_of_a_fault_is_declared() {
        let row = Row::of_slug("rate-limited-seconds").unwrap();
        let responses = responses(row);
        assert_eq!(responses["429"]["description"], row.name);
    }
}
