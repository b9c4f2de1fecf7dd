//! Plain calls: one message, one answer, nothing in between.
//!
//! Nearly every call in the version of the protocol without sessions is one: it names a tool there is,
//! wants no word about its progress, and says the same in its headers as in its body. The library would
//! start tasks and channels for it; here it is a call like any other. Only what the library would take as
//! it is counts as plain, and whatever does not is the library's.

use std::sync::Arc;

use ::http::header::{ACCEPT, CONTENT_TYPE};
use ::http::request::Parts;
use ::http::{HeaderMap, HeaderName, Method, StatusCode};
use axum::body::Bytes;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestMethod, ClientCapabilities, ConstString, Implementation, ProtocolVersion,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::answer::Wire;
use super::call::Errand;
use super::general::General;
use super::questions::{Abilities, Questions};
use super::served::{Client, Served};
use super::server::Shared;
use crate::caller::Caller;
use crate::jsonrpc::{Params, Request, single};

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

const VERSION_IN_META: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_IN_META: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_IN_META: &str = "io.modelcontextprotocol/clientInfo";
const PROGRESS_IN_META: &str = "progressToken";
const LOG_LEVEL_IN_META: &str = "io.modelcontextprotocol/logLevel";

/// The only version without sessions.
const STATELESS: ProtocolVersion = ProtocolVersion::V_2026_07_28;

/// How long a number may be that is an id; the library's have 64 bits.
const NUMBER_LENGTH_LIMIT: usize = 18;

/// A call of a tool.
#[derive(Debug)]
pub(super) struct Plain<'a> {
    id: &'a RawValue,
    tool: String,
    arguments: Map<String, Value>,
    meta: Map<String, Value>,
}

#[derive(Serialize)]
struct Answer<'a, T> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: T,
}

impl<'a> Plain<'a> {
    /// The call in a request, if it is a plain one.
    pub(super) fn read(parts: &Parts, body: &'a Bytes, bytes_limit: usize) -> Option<Self> {
        let tool = tool_in_headers(parts)?;
        let Request { id, method, params } = single(body, bytes_limit)?;
        let id = id.filter(|id| is_id(id))?;
        let Params::Named(mut params) = params else {
            return None;
        };
        let (Value::String(name), Value::Object(meta)) =
            (params.remove("name")?, params.remove("_meta")?)
        else {
            return None;
        };
        let arguments = match params.remove("arguments") {
            None => Map::new(),
            Some(Value::Object(arguments)) => arguments,
            Some(_) => return None,
        };
        let is_plain = method == CallToolRequestMethod::VALUE
            && name == tool
            && params.is_empty()
            && is_usual(&meta);
        is_plain.then_some(Self {
            id,
            tool: name,
            arguments,
            meta,
        })
    }

    /// The answer to it, if there is such a tool and headers say nothing about its arguments. A client
    /// that does not wait for it cancels it, as it does by closing any response of this version.
    pub(super) async fn answer(
        self,
        shared: &Arc<Shared>,
        caller: &Caller,
    ) -> Option<(StatusCode, Vec<u8>)> {
        let catalogue = shared.catalogue();
        // Whether a name that panpan has too means its tool depends on the caller.
        if General::from_name(&self.tool).is_some() {
            return None;
        }
        let entry = catalogue.by_tool(&self.tool);
        let entry = entry.filter(|entry| !entry.has_headers)?;
        let errand = Errand::new(&shared.gateway, caller, &self.meta);
        let asked = errand.of_tool(entry, Value::Object(self.arguments));
        if let Some(client) = abilities(&self.meta) {
            let stops = errand.stops.clone();
            // On the heap: a call that asks outlives its request, and most calls do not.
            let served = Box::pin(async {
                let meta = self.meta.clone();
                let client = Client {
                    questions: Questions::by_answer(client, Map::new()),
                    teller: None,
                    wire: Wire::Stateless,
                };
                let mut served = Served::new(shared, caller, meta, asked, stops, client);
                served.stops_when_dropped = true;
                served.until_asked(&shared.parked).await
            });
            return written(self.id, served.await);
        }
        let unless_answered = errand.stops.all.clone().drop_guard();
        let performed = errand.perform(Some(entry), asked, None, None).await;
        unless_answered.disarm();
        let result = performed.into_result(Some(entry), &catalogue, Wire::Stateless);
        written(self.id, result)
    }
}

/// An answer and its status: 400 for errors of the protocol that the client has to act on, as the specification
/// wants it.
fn written<T: Serialize>(
    id: &RawValue,
    answered: Result<T, ErrorData>,
) -> Option<(StatusCode, Vec<u8>)> {
    let jsonrpc = "2.0";
    let (status, bytes) = match answered {
        Ok(result) => {
            let answer = Answer {
                jsonrpc,
                id,
                result,
            };
            (StatusCode::OK, serde_json::to_vec(&answer))
        }
        Err(error) => {
            let refusal = json!({"jsonrpc": jsonrpc, "id": id, "error": error});
            (StatusCode::BAD_REQUEST, serde_json::to_vec(&refusal))
        }
    };
    Some((status, bytes.ok()?))
}

/// What its client can do for the servers behind, if anything.
fn abilities(meta: &Map<String, Value>) -> Option<Abilities> {
    let client = meta.get(CAPABILITIES_IN_META)?;
    client.as_object().filter(|it| !it.is_empty())?;
    Abilities::of(&ClientCapabilities::deserialize(client).ok()?)
}

/// The tool that the headers of a plain call name.
fn tool_in_headers(parts: &Parts) -> Option<&str> {
    let headers = &parts.headers;
    let is_plain = parts.method == Method::POST
        && stated(headers, &VERSION) == Some(STATELESS.as_str())
        && stated(headers, &METHOD) == Some(CallToolRequestMethod::VALUE)
        && stated(headers, &CONTENT_TYPE).is_some_and(|it| it.starts_with("application/json"))
        && stated(headers, &ACCEPT)
            .is_some_and(|it| it.contains("application/json") && it.contains("text/event-stream"))
        && !headers.contains_key(SESSION)
        && headers.len() == headers.keys_len();
    is_plain.then(|| stated(headers, &NAME)).flatten()
}

fn stated<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn is_id(id: &RawValue) -> bool {
    match id.get().as_bytes() {
        [b'"', ..] => true,
        [] => false,
        number => number.len() <= NUMBER_LENGTH_LIMIT && number.iter().all(u8::is_ascii_digit),
    }
}

/// Whether a client says of itself what it has to, and asks for nothing beside the call.
fn is_usual(meta: &Map<String, Value>) -> bool {
    let capabilities = meta.get(CAPABILITIES_IN_META);
    meta.get(VERSION_IN_META).and_then(Value::as_str) == Some(STATELESS.as_str())
        && capabilities.is_some_and(reads_as::<ClientCapabilities>)
        && meta
            .get(CLIENT_IN_META)
            .is_none_or(reads_as::<Implementation>)
        && !meta.contains_key(PROGRESS_IN_META)
        && !meta.contains_key(LOG_LEVEL_IN_META)
}

fn reads_as<'a, T: Deserialize<'a>>(value: &'a Value) -> bool {
    T::deserialize(value).is_ok()
}
