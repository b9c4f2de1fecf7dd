//! The operations of a server as an OpenAPI document: one path for each, and the gateway's own.
//!
//! What an operation may answer is in `operation`, what a failure looks like in `failures`; how
//! schemas move into one document without their references breaking is in `components`.

mod components;
mod failures;
mod gateway;
mod operation;

use panpan_contract::operation::{OperationSpec, Visibility};
use serde_json::{Map, Value, json};

use components::Components;
use failures::Failures;

/// The version of OpenAPI the document is written in: the first whose schemas are JSON Schema.
const OPENAPI: &str = "3.1.0";
/// The name of the security scheme.
const BEARER: &str = "bearer";

/// The header that carries the id of a failure.
const ERROR_ID: &str = "Panpan-Error-Id";

/// What a document says about the server as a whole.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// The name, for people.
    pub title: &'a str,
    /// The version of what is offered.
    pub version: &'a str,
    /// Where the server is reached; where the document came from when unset.
    pub server: Option<&'a str>,
}

/// The HTTP surface of a server with these operations. Internal ones are left out.
///
/// ```
/// use panpan_contract::operation::{OperationSpec, OperationType};
///
/// let spec = OperationSpec::new("demo/echo".parse()?, OperationType::Query);
/// let about = panpan_openapi::About { title: "demo", version: "1", server: None };
/// let document = panpan_openapi::export([&spec].into_iter(), &about);
/// assert_eq!(document["paths"]["/operations/demo/echo"]["post"]["operationId"], "demo/echo");
/// # Ok::<(), panpan_contract::operation::NameError>(())
/// ```
pub fn export<'a>(operations: impl Iterator<Item = &'a OperationSpec>, about: &About<'_>) -> Value {
    let mut components = Components::default();
    let mut failures = Failures::new(&mut components);
    let mut paths = gateway::paths(&mut failures, &mut components);
    for spec in operations.filter(|spec| spec.visibility == Visibility::External) {
        let operation = operation::written(spec, &mut failures, &mut components);
        paths.insert(
            format!("/operations/{}", spec.name),
            json!({"post": operation}),
        );
    }
    let mut document = json!({
        "openapi": OPENAPI,
        "info": {"title": about.title, "version": about.version},
        "paths": paths,
        "components": {
            "schemas": components.into_schemas(),
            "responses": failures.into_responses(),
            "headers": headers(),
            "securitySchemes": {BEARER: {"type": "http", "scheme": "bearer"}},
        },
    });
    if let Some(url) = about.server {
        document["servers"] = json!([{"url": url}]);
    }
    document
}

fn headers() -> Value {
    json!({
        ERROR_ID: {
            "description": "The id of the failure, by which it is found in logs.",
            "schema": {"type": "string", "format": "uuid"},
        },
        "Retry-After": {
            "description": "How many seconds to wait before the same call may succeed.",
            "schema": {"type": "integer", "minimum": 0},
        },
        "WWW-Authenticate": {
            "description": "What kind of credential is asked for.",
            "schema": {"type": "string"},
        },
        "Idempotent-Replayed": {
            "description": "The outcome was recorded before under the same key; nothing was done again.",
            "schema": {"type": "boolean"},
        },
    })
}

/// Headers of an answer, by reference.
fn header_references(names: &[&str]) -> Value {
    let named = names.iter().map(|name| {
        let reference = json!({"$ref": format!("#/components/headers/{name}")});
        ((*name).to_owned(), reference)
    });
    named.collect::<Map<_, _>>().into()
}
