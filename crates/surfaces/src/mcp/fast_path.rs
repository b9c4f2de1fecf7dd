//! The fast path: a stateless `tools/call` without progress or logging, answered without rmcp.
//!
//! Nearly every call of the stateless version qualifies: the tool exists, no notifications are
//! requested, and headers and body agree. rmcp would start tasks and channels for it. Only requests
//! that rmcp would accept take the fast path; all others are left to rmcp.

use std::sync::Arc;

use ::http::header::{ACCEPT, CONTENT_TYPE};
use ::http::request::Parts;
use ::http::{HeaderMap, HeaderName, Method, StatusCode};
use axum::body::Bytes;
use panpan_mcp::STATELESS;
use panpan_mcp::input::UsableCapabilities;
use rmcp::ErrorData;
use rmcp::model::{CallToolRequestMethod, ClientCapabilities, ConstString, Implementation};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::call::{CancelTokens, RequestScope};
use super::gateway_tools::GatewayTool;
use super::input_requests::InputQueue;
use super::interactive::{ClientChannel, InteractiveRequest};
use super::server::Shared;
use super::tasks::runs_as_task;
use super::tool_result::WireVersion;
use crate::caller::Caller;
use crate::jsonrpc::{Params, Request, single};

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

const VERSION_IN_META: &str = "io.modelcontextprotocol/protocolVersion";
pub(super) const CAPABILITIES_IN_META: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_IN_META: &str = "io.modelcontextprotocol/clientInfo";
const PROGRESS_IN_META: &str = "progressToken";
const LOG_LEVEL_IN_META: &str = "io.modelcontextprotocol/logLevel";

/// The longest number that is accepted as an id; ids in rmcp have 64 bits.
const NUMBER_LENGTH_LIMIT: usize = 18;

/// A tool call on the fast path.
#[derive(Debug)]
pub(super) struct FastCall<'a> {
    id: &'a RawValue,
    tool: String,
    arguments: Map<String, Value>,
    meta: Map<String, Value>,
}

#[derive(Serialize)]
struct ResultMessage<'a, T> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: T,
}

impl<'a> FastCall<'a> {
    /// The call in a request, if it qualifies.
    pub(super) fn read(parts: &Parts, body: &'a Bytes, bytes_limit: usize) -> Option<Self> {
        let tool = tool_in_headers(parts)?;
        let Request {
            id, method, params, ..
        } = single(body, bytes_limit)?;
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
        let qualifies = method == CallToolRequestMethod::VALUE
            && name == tool
            && params.is_empty()
            && is_plain_meta(&meta);
        qualifies.then_some(Self {
            id,
            tool: name,
            arguments,
            meta,
        })
    }

    /// The response, if the tool exists and none of its arguments are repeated in headers. Closing
    /// the response cancels the call, as everywhere in this version.
    pub(super) async fn answer(
        self,
        shared: &Arc<Shared>,
        caller: &Caller,
    ) -> Option<(StatusCode, Vec<u8>)> {
        let index = shared.tool_index();
        // Whether such a name means a gateway tool depends on the caller.
        if GatewayTool::from_name(&self.tool).is_some() {
            return None;
        }
        let entry = index.by_tool(&self.tool);
        let entry = entry.filter(|entry| !entry.has_headers)?;
        // Whether it becomes a task depends on the client.
        if runs_as_task(entry.task, &self.meta) {
            return None;
        }
        let scope = RequestScope {
            gateway: &shared.gateway,
            caller,
            meta: &self.meta,
            cancel: CancelTokens::new(),
        };
        let call = scope.decode(entry, Value::Object(self.arguments));
        if let Some(client) = usable_capabilities(&self.meta) {
            let cancel = scope.cancel.clone();
            // Boxed: a call that needs input outlives its request, and most calls do not.
            let response = Box::pin(async {
                let meta = self.meta.clone();
                let client = ClientChannel {
                    input: InputQueue::stateless(client, Map::new()),
                    reporter: None,
                    version: WireVersion::Stateless,
                };
                let mut request =
                    InteractiveRequest::new(shared, caller, meta, call, cancel, client);
                request.cancels_on_drop = true;
                request.run_until_input(&shared.parked).await
            });
            return response_message(self.id, response.await);
        }
        let cancel_on_drop = scope.cancel.all.clone().drop_guard();
        let finished = scope.perform(Some(entry), call, None, None).await;
        cancel_on_drop.disarm();
        let result = finished.into_result(Some(entry), &index, WireVersion::Stateless);
        response_message(self.id, result)
    }
}

/// A response and its status: 400 for a JSON-RPC error that the client has to act on, as the
/// specification requires.
fn response_message<T: Serialize>(
    id: &RawValue,
    response: Result<T, ErrorData>,
) -> Option<(StatusCode, Vec<u8>)> {
    let jsonrpc = "2.0";
    let (status, bytes) = match response {
        Ok(result) => {
            let message = ResultMessage {
                jsonrpc,
                id,
                result,
            };
            (StatusCode::OK, serde_json::to_vec(&message))
        }
        Err(error) => {
            let message = json!({"jsonrpc": jsonrpc, "id": id, "error": error});
            (StatusCode::BAD_REQUEST, serde_json::to_vec(&message))
        }
    };
    Some((status, bytes.ok()?))
}

/// The capabilities of the client that upstream servers can use, if any.
fn usable_capabilities(meta: &Map<String, Value>) -> Option<UsableCapabilities> {
    let client = meta.get(CAPABILITIES_IN_META)?;
    client.as_object().filter(|it| !it.is_empty())?;
    UsableCapabilities::of(&ClientCapabilities::deserialize(client).ok()?)
}

/// The tool that the headers name, if they qualify for the fast path.
fn tool_in_headers(parts: &Parts) -> Option<&str> {
    let headers = &parts.headers;
    let qualifies = parts.method == Method::POST
        && text(headers, &VERSION) == Some(STATELESS.as_str())
        && text(headers, &METHOD) == Some(CallToolRequestMethod::VALUE)
        && text(headers, &CONTENT_TYPE).is_some_and(|it| it.starts_with("application/json"))
        && text(headers, &ACCEPT)
            .is_some_and(|it| it.contains("application/json") && it.contains("text/event-stream"))
        && !headers.contains_key(SESSION)
        && headers.len() == headers.keys_len();
    qualifies.then(|| text(headers, &NAME)).flatten()
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn is_id(id: &RawValue) -> bool {
    match id.get().as_bytes() {
        [b'"', ..] => true,
        [] => false,
        number => number.len() <= NUMBER_LENGTH_LIMIT && number.iter().all(u8::is_ascii_digit),
    }
}

/// Whether `_meta` has the required members and requests no notifications.
fn is_plain_meta(meta: &Map<String, Value>) -> bool {
    let capabilities = meta.get(CAPABILITIES_IN_META);
    meta.get(VERSION_IN_META).and_then(Value::as_str) == Some(STATELESS.as_str())
        && capabilities.is_some_and(parses_as::<ClientCapabilities>)
        && meta
            .get(CLIENT_IN_META)
            .is_none_or(parses_as::<Implementation>)
        && !meta.contains_key(PROGRESS_IN_META)
        && !meta.contains_key(LOG_LEVEL_IN_META)
}

fn parses_as<'a, T: Deserialize<'a>>(value: &'a Value) -> bool {
    T::deserialize(value).is_ok()
}
