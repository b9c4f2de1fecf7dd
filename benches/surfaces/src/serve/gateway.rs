//! Servers in front of another: panpan with an imported operation, and a hand-written proxy.

use std::net::SocketAddr;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, Request, Uri};
use axum::response::IntoResponse;
use axum::routing::post;
use axum::{Json, Router};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use panpan_contract::circuit::CircuitRule;
use panpan_openapi::ImportOptions;
use panpan_runtime::Credentials;
use panpan_upstream::header::HeaderMap;
use panpan_upstream::{Allowed, ClientSettings, Service, Url};
use serde_json::{Value, json};

use super::bare::{self, Answered, Asked};
use crate::request::ECHO_PATH;

const JSON: (HeaderName, &str) = (CONTENT_TYPE, "application/json");

/// The upstream server.
pub(super) async fn echo() -> anyhow::Result<()> {
    let give_back = |body: Bytes| async move { ([JSON], body) };
    bare::serve(Router::new().route(ECHO_PATH, post(give_back))).await
}

/// All of panpan, with the operation imported from a description.
pub(super) async fn panpan(upstream: SocketAddr) -> anyhow::Result<()> {
    let import = panpan_openapi::import(&document(), &ImportOptions::new("imported"))?;
    let contract = import.into_contract();
    let specs = contract.operations.iter();
    let specs = specs.map(|spec| contract.self_contained_operation(spec));
    let base = Url::parse(&format!("http://{upstream}"))?;
    let mut allowed = Allowed::default();
    allowed.allow_url(&base);
    let settings = ClientSettings {
        allowed,
        ..ClientSettings::default()
    };
    let service = Service {
        name: "echo".to_owned(),
        base: Some(base),
        client: panpan_upstream::Client::new(settings)?,
        credentials: Credentials::default(),
        headers: HeaderMap::new(),
        passed: Vec::new(),
        circuit: CircuitRule::default(),
    };
    let operations = service.operations(specs);
    let operations = operations.map_err(|errors| anyhow::anyhow!("{errors:?}"))?;
    super::panpan::serve_imported(operations).await
}

fn document() -> Value {
    let object = json!({"application/json": {"schema": {"type": "object"}}});
    json!({
        "openapi": "3.1.0",
        "info": {"title": "echo", "version": "1"},
        "paths": {ECHO_PATH: {"post": {
            "operationId": "echo",
            "requestBody": {"required": true, "content": object},
            "responses": {
                "200": {"description": "What was sent.", "content": object},
                "404": {"description": "Never."},
            },
        }}},
    })
}

/// A client and the URI of the upstream.
#[derive(Clone)]
struct Upstream {
    client: Client<HttpConnector, Full<Bytes>>,
    uri: Uri,
}

/// The same work in a bare server.
pub(super) async fn pass_through(upstream: SocketAddr) -> anyhow::Result<()> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let upstream = Upstream {
        client: Client::builder(TokioExecutor::new()).build(connector),
        uri: format!("http://{upstream}{ECHO_PATH}").parse()?,
    };
    let router = Router::new()
        .route("/call", post(pass))
        .with_state(upstream);
    bare::serve(router).await
}

async fn pass(
    State(Upstream { client, uri }): State<Upstream>,
    Json(asked): Json<Asked>,
) -> axum::response::Response {
    match ask(&client, uri, &asked.input["body"]).await {
        Ok(output) => Json(Answered::with(output)).into_response(),
        Err(error) => (axum::http::StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}

async fn ask(
    client: &Client<HttpConnector, Full<Bytes>>,
    uri: Uri,
    input: &Value,
) -> anyhow::Result<Value> {
    let body = Full::from(serde_json::to_vec(input)?);
    let (name, value) = JSON;
    let request = Request::post(uri).header(name, value).body(body)?;
    let answer = client.request(request).await?.into_body();
    let answer = answer.collect().await?.to_bytes();
    Ok(serde_json::from_slice(&answer)?)
}
