//! The OpenAPI document of the service, made from the table: one operation for each fault, and those that
//! work.

use serde_json::{Map, Value, json};

use crate::fault::Place;
use crate::table::{Access, Row, faults};

/// Describes what is found at a place whose address is given.
pub(crate) fn document(place: Place, url: &str) -> Value {
    let mut paths = Map::new();
    for row in faults().iter().filter(|row| row.place() == place) {
        let mut item = Map::new();
        item.insert(row.method().to_ascii_lowercase(), operation(row));
        paths.insert(row.path(), Value::Object(item));
    }
    if matches!(place, Place::Plain | Place::Tls) {
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
        // A credential is taken and not needed.
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
    responses.insert("200".to_owned(), described("It worked", &answer));
    let status = row.failure().and_then(|expected| expected.status);
    if let Some(status) = status.filter(|status| (400..600).contains(status)) {
        let error = json!({"type": "object"});
        responses.insert(status.to_string(), described(&row.name, &error));
    }
    Value::Object(responses)
}

/// What does not fail, or only when it is asked to.
fn working() -> Vec<(String, Value)> {
    let anything = json!({"type": "object"});
    let number = json!({"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]});
    let echo = |id: &str| {
        json!({
            "operationId": id,
            "summary": "Gives back what was asked",
            "security": [{"token": []}, {}],
            "responses": {"200": described("What arrived", &anything)},
        })
    };
    let mut sent = echo("send-echo");
    sent["requestBody"] = body();
    let order = json!({
        "operationId": "create-order",
        "summary": "Orders something; the answer may get lost",
        "parameters": [
            key(),
            chosen("keys", &["honoured", "ignored"], "Whether one idempotency key is one order"),
            chosen("then", &["cut", "silence", "error"], "What happens after the order was taken"),
            counted("times", "For how many requests of one key that happens"),
        ],
        "requestBody": body(),
        "responses": {
            "201": described("The order", &anything),
            "500": described("The order was taken, then something broke", &anything),
            "507": described("No room for another key", &anything),
        },
    });
    let count = json!({
        "operationId": "count-orders",
        "summary": "Says how many orders were really taken",
        "responses": {"200": described("The number", &number)},
    });
    let cut = json!({"name": "cut", "in": "query", "description": "Whether the stream breaks off", "schema": {"type": "boolean"}});
    let events = json!({
        "operationId": "watch-events",
        "summary": "A stream of events",
        "parameters": [counted("count", "How many events there are"), cut],
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
        "description": "Work under one key is done once",
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
    fn every_fault_is_an_operation_at_its_place() {
        for &place in Place::ALL {
            let document = document(place, "http://127.0.0.1");
            for row in faults().iter().filter(|row| row.place() == place) {
                let operation = &document["paths"][row.path()][row.method().to_ascii_lowercase()];
                assert_eq!(operation["operationId"], row.slug());
                assert!(operation["responses"].is_object(), "{}", row.name);
            }
        }
    }

    #[test]
    fn only_where_the_service_is_does_anything_work() {
        for &place in Place::ALL {
            let document = document(place, "http://127.0.0.1");
            let works = document["paths"].get("/echo").is_some();
            assert_eq!(
                works,
                matches!(place, Place::Plain | Place::Tls),
                "{place:?}"
            );
        }
    }

    #[test]
    fn a_status_that_is_answered_is_declared() {
        let row = Row::of_slug("rate-limited-seconds").unwrap();
        let responses = responses(row);
        assert_eq!(responses["429"]["description"], row.name);
    }
}
