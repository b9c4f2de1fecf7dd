//! `/search` and `/schema`: what a caller may call, and the whole contract of it.

use axum::extract::{Request, State};
use axum::response::Response;
use panpan_failure::dialect::Dialect;
use panpan_failure::pointer::joined;
use panpan_failure::{Failure, Violation, codes};
use panpan_runtime::{SHOWN_CHARACTERS_LIMIT, absent, untyped};
use serde_json::Value;

use super::service::identified;
use super::{HttpState, answer, dialect};
use crate::caller::Caller;
use crate::search::{self, Cursor, RESULTS_LIMIT, Words};

/// `GET /search?query=&limit=&after=`.
pub(super) async fn search(State(state): State<HttpState>, request: Request) -> Response {
    let caller = match identified(request.extensions()) {
        Ok(caller) => caller,
        Err(failure) => return answer::turned_away(&state, Dialect::Call, failure),
    };
    let query = request.uri().query().unwrap_or_default();
    match found(&state, &caller, query) {
        Ok(found) => answer::json(&found),
        Err(failure) => answer::refused(&state, Dialect::Call, "services/list", failure),
    }
}

fn found(state: &HttpState, caller: &Caller, query: &str) -> Result<Value, Failure> {
    state.0.gateway.take_share(caller)?;
    if let Some(name) = unknown_parameter(query) {
        return Err(no_such_parameter(name));
    }
    let parameter = |name: &str| dialect::parameter(query, name).map(decoded);
    let limit = match parameter("limit").map(|limit| limit.parse::<usize>().map_err(|_| limit)) {
        None => RESULTS_LIMIT,
        Some(Ok(limit)) if (1..=RESULTS_LIMIT).contains(&limit) => limit,
        Some(Ok(limit)) => return Err(unusable_limit(&limit.to_string())),
        Some(Err(limit)) => return Err(unusable_limit(&limit)),
    };
    let after = parameter("after").as_deref().and_then(Cursor::parse);
    let callable = state.0.gateway.callable(caller);
    let words: Vec<Words> = callable.iter().map(|it| Words::of(it.spec())).collect();
    let asked = parameter("query").unwrap_or_default();
    Ok(search::search(words.iter(), &asked, limit, after.as_ref()))
}

/// What can be said about a search.
const PARAMETERS: [&str; 3] = ["query", "limit", "after"];

/// A parameter that would be overlooked: a search for nothing finds everything.
fn unknown_parameter(query: &str) -> Option<&str> {
    let names = query.split('&').filter(|pair| !pair.is_empty());
    let mut names = names.map(|pair| pair.split_once('=').map_or(pair, |(name, _)| name));
    names.find(|name| !PARAMETERS.contains(name))
}

fn no_such_parameter(name: &str) -> Failure {
    let shown: String = name.chars().take(SHOWN_CHARACTERS_LIMIT).collect();
    let known = PARAMETERS.join(", ");
    let violation = Violation::value(joined("", &shown), "there is no such parameter")
        .expected(format!("one of {known}"));
    Failure::new(codes::INVALID_INPUT)
        .with_violation(violation)
        .with_actions([format!("Leave out {shown}: this takes {known}")])
}

fn unusable_limit(limit: &str) -> Failure {
    let shown: String = limit.chars().take(SHOWN_CHARACTERS_LIMIT).collect();
    let violation = Violation::value("/limit", "not a number of operations")
        .expected(format!("a whole number from 1 to {RESULTS_LIMIT}"))
        .actual(shown);
    Failure::new(codes::INVALID_INPUT).with_violation(violation)
}

/// `GET /schema?name=`.
pub(super) async fn schema(State(state): State<HttpState>, request: Request) -> Response {
    let caller = match identified(request.extensions()) {
        Ok(caller) => caller,
        Err(failure) => return answer::turned_away(&state, Dialect::Call, failure),
    };
    let query = request.uri().query().unwrap_or_default();
    match described(&state, &caller, dialect::parameter(query, "name")) {
        Ok(contract) => answer::json(&contract),
        Err(failure) => answer::refused(&state, Dialect::Call, "", failure),
    }
}

/// The contract of an operation. One that may not be called looks like one that does not exist.
fn described(state: &HttpState, caller: &Caller, name: Option<&str>) -> Result<Value, Failure> {
    state.0.gateway.take_share(caller)?;
    let missing = || {
        let violation = Violation::missing("/name").expected("the name of an operation");
        Failure::new(codes::INVALID_INPUT).with_violation(violation)
    };
    let name = decoded(name.ok_or_else(missing)?);
    let asked = name.strip_prefix('/').unwrap_or(&name);
    let callable = state.0.gateway.callable(caller);
    let found = callable.iter().find(|it| it.name().as_str() == asked);
    let operation = found.ok_or_else(|| {
        let names = callable.iter().map(|it| it.name().as_str());
        absent(asked, names, "Ask for")
    })?;
    serde_json::to_value(operation.spec()).map_err(|error| untyped(&error))
}

/// A parameter with its percent signs and pluses undone.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = bytes
            .get(at + 1..at + 3)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (bytes[at], byte) {
            (b'%', Some(byte)) => {
                decoded.push(byte);
                at += 2;
            }
            (b'+', _) => decoded.push(b' '),
            (byte, _) => decoded.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
