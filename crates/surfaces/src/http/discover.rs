//! Handlers of `/search` and `/schema`: the operations that a caller may call, and the contract of one.

use axum::extract::{Request, State};
use axum::response::Response;
use panpan_failure::dialect::Dialect;
use panpan_failure::pointer::joined;
use panpan_failure::{Failure, Violation, codes};
use panpan_runtime::{SHOWN_CHARACTERS_LIMIT, operation_not_found, untyped};
use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::service::identified;
use super::{HttpState, dialect, response};
use crate::caller::Caller;
use crate::gateway::Surface;
use crate::search::{self, Cursor, RESULTS_LIMIT, SearchEntry};

/// `GET /search?query=&limit=&after=`.
pub(super) async fn search(State(state): State<HttpState>, request: Request) -> Response {
    respond(&state, &request, "services/list", results)
}

/// Responds with facts about operations. A request for them counts as a call.
fn respond(
    state: &HttpState,
    request: &Request,
    operation: &str,
    facts: fn(&HttpState, &Caller, &str) -> Result<Value, Failure>,
) -> Response {
    let caller = match identified(request.extensions()) {
        Ok(caller) => caller,
        Err(failure) => {
            return response::refused_unread(state, Surface::Http, Dialect::Call, failure);
        }
    };
    let query = request.uri().query().unwrap_or_default();
    let taken = state.0.gateway.take_call(&caller);
    match taken.and_then(|()| facts(state, &caller, query)) {
        Ok(facts) => response::json(&facts),
        Err(failure) => response::refused(state, Dialect::Call, operation, failure),
    }
}

fn results(state: &HttpState, caller: &Caller, query: &str) -> Result<Value, Failure> {
    if let Some(name) = find_unknown_parameter(query) {
        return Err(unknown_parameter(name));
    }
    let parameter = |name: &str| dialect::parameter(query, name).map(decoded);
    let limit = match parameter("limit") {
        None => RESULTS_LIMIT,
        Some(text) => {
            let limit = text
                .parse()
                .ok()
                .filter(|it| (1..=RESULTS_LIMIT).contains(it));
            limit.ok_or_else(|| invalid_limit(&text))?
        }
    };
    let after = parameter("after").as_deref().and_then(Cursor::parse);
    let callable = state.0.gateway.callable(caller);
    let entries: Vec<SearchEntry> = callable
        .iter()
        .map(|it| SearchEntry::of(it.spec()))
        .collect();
    let query = parameter("query").unwrap_or_default();
    Ok(search::search(
        entries.iter(),
        &query,
        limit,
        after.as_ref(),
    ))
}

/// The parameters of a search.
const PARAMETERS: [&str; 3] = ["query", "limit", "after"];

/// Unknown parameters are refused: a misspelt `query` would return all operations.
fn find_unknown_parameter(query: &str) -> Option<&str> {
    let names = query.split('&').filter(|pair| !pair.is_empty());
    let mut names = names.map(|pair| pair.split_once('=').map_or(pair, |(name, _)| name));
    names.find(|name| !PARAMETERS.contains(name))
}

fn unknown_parameter(name: &str) -> Failure {
    let shown: String = name.chars().take(SHOWN_CHARACTERS_LIMIT).collect();
    let known = PARAMETERS.join(", ");
    let violation = Violation::value(joined("", &shown), "unknown parameter")
        .expected(format!("one of {known}"));
    Failure::new(codes::INVALID_INPUT)
        .with_violation(violation)
        .with_actions([format!("Remove {shown}; the parameters are {known}")])
}

fn invalid_limit(limit: &str) -> Failure {
    let shown: String = limit.chars().take(SHOWN_CHARACTERS_LIMIT).collect();
    let violation = Violation::value("/limit", "not a valid limit")
        .expected(format!("a whole number from 1 to {RESULTS_LIMIT}"))
        .actual(shown);
    Failure::new(codes::INVALID_INPUT).with_violation(violation)
}

/// `GET /schema?name=`.
pub(super) async fn schema(State(state): State<HttpState>, request: Request) -> Response {
    respond(&state, &request, "", contract)
}

/// The contract of an operation. An operation that the caller may not call looks like one that does not exist.
fn contract(state: &HttpState, caller: &Caller, query: &str) -> Result<Value, Failure> {
    let missing = || {
        let violation = Violation::missing("/name").expected("the name of an operation");
        Failure::new(codes::INVALID_INPUT).with_violation(violation)
    };
    let name = decoded(dialect::parameter(query, "name").ok_or_else(missing)?);
    let name = name.strip_prefix('/').unwrap_or(&name);
    let callable = state.0.gateway.callable(caller);
    let found = callable.iter().find(|it| it.name().as_str() == name);
    let operation = found.ok_or_else(|| {
        let names = callable.iter().map(|it| it.name().as_str());
        operation_not_found(name, names, "Ask for")
    })?;
    serde_json::to_value(operation.spec()).map_err(|error| untyped(&error))
}

/// Percent-decodes a parameter; a plus is a space.
fn decoded(text: &str) -> String {
    let text = text.replace('+', " ");
    percent_decode_str(&text).decode_utf8_lossy().into_owned()
}
