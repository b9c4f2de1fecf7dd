//! Handlers of `/errors`: the pages and facts of the codes, public to every caller.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, StatusCode};
use panpan_failure::catalogue::{self, Known, nearest};
use panpan_failure::explained::{explained, facts};
use panpan_failure::{Failure, codes};
use pulldown_cmark::Parser;
use pulldown_cmark::html::push_html;
use serde_json::{Value, json};

use super::{HttpState, call, response};

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
/// The style of an HTML page.
const HEAD: &str = "<meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
<style>:root{color-scheme:light dark}\
body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem}\
code{background:#8882;padding:.1em .3em;border-radius:.2em}h1{font-size:1.4rem}h2{font-size:1.1rem}\
</style>";
const MARKDOWN: HeaderValue = HeaderValue::from_static("text/markdown; charset=utf-8");

/// `GET /errors`: every code with its facts.
pub(super) async fn all() -> Response {
    let rows = catalogue::entries().map(|row| facts(&Known::Row(row)));
    response::json(&json!({"errors": Value::from_iter(rows)}))
}

/// `GET /errors/{code}`, which the `type` of a problem links to: a page for people, facts for programs.
pub(super) async fn one(
    State(state): State<HttpState>,
    code: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Result<Response, Response> {
    let Path(code) = code.map_err(|rejection| call::unreadable_path(&state, &rejection))?;
    if let Some(known) = catalogue::lookup(&code) {
        return Ok(page(&known, &headers));
    }
    let unknown = || response::problem(&state, &unknown(&code), StatusCode::NOT_FOUND);
    let definition = declared(&state, &code).ok_or_else(unknown)?;
    Ok(response::json(&definition))
}

/// The definition of a code that a public operation declares.
fn declared(state: &HttpState, code: &str) -> Option<Value> {
    let callable = state.0.gateway.dispatcher().callable(None);
    let mut definitions = callable.iter().flat_map(|it| &it.spec().error_schemas);
    let definition = definitions.find(|it| it.code.as_str() == code)?;
    serde_json::to_value(definition).ok()
}

fn unknown(code: &str) -> Failure {
    let shown: String = code.chars().take(64).collect();
    let near = nearest(&shown, catalogue::entries().map(|row| row.code));
    Failure::new(codes::NOT_FOUND)
        .with_message(format!("unknown code {shown:?}"))
        .with_detail("nearest", near)
        .with_actions(["Read GET /errors for the list of all codes"])
}

fn page(known: &Known, headers: &HeaderMap) -> Response {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    let accept = accept.unwrap_or_default();
    if accept.contains("json") {
        return response::json(&explained(known));
    }
    let page = format!("# {}: {}\n\n{}", known.code(), known.title(), known.page());
    let (media_type, text) = match accept.contains("text/html") {
        true => (HTML, html(known, &page)),
        false => (MARKDOWN, page),
    };
    ([(CONTENT_TYPE, media_type)], text).into_response()
}

/// The page as HTML.
fn html(known: &Known, page: &str) -> String {
    let mut body = String::new();
    push_html(&mut body, Parser::new(page));
    // Codes and titles are plain words that need no escaping.
    let head = format!("<title>{}: {}</title>", known.code(), known.title());
    format!("<!doctype html><html lang=\"en\"><head>{HEAD}{head}</head><body>{body}</body></html>")
}
