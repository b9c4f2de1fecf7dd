//! What 2025-11-25 writes in places that rmcp does not know: the member `task` of a call, and the capability `tasks`.

use panpan_mcp::names::TASK_META_KEY;
use rmcp::model::{
    CallToolRequestMethod, ClientJsonRpcMessage, ClientRequest, ConstString as _, CustomRequest,
    CustomResult, GetMeta as _, ProtocolVersion, ServerJsonRpcMessage, ServerResult,
    TASKS_EXTENSION_ID,
};
use serde_json::{Map, Value, json};

const TASK: &str = "task";
const META: &str = "_meta";

/// The member of `_meta` that only requests of the stateless version have.
const VERSION_IN_META: &str = "io.modelcontextprotocol/protocolVersion";

/// Whether a message may have the member `task`. Fast, and wrong only for other data with a member of this name.
pub(in crate::mcp) fn may_have_task_member(message: &[u8]) -> bool {
    const NAME: &[u8] = b"\"task\"";
    message.windows(NAME.len()).any(|it| it == NAME)
}

/// Moves the member `task` of a `tools/call` into its `_meta`; `false` if there is none. The stateless version has no
/// such member and ignores it.
pub(in crate::mcp) fn keep_task_member(message: &mut Value) -> bool {
    if message.get("method").and_then(Value::as_str) != Some(CallToolRequestMethod::VALUE) {
        return false;
    }
    let Some(Value::Object(params)) = message.get_mut("params") else {
        return false;
    };
    let is_stateless = params
        .get(META)
        .is_some_and(|it| it.get(VERSION_IN_META).is_some());
    let Some(task) = params.remove(TASK).filter(|_| !is_stateless) else {
        return false;
    };
    let meta = params
        .entry(META)
        .or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(meta) = meta {
        meta.insert(TASK_META_KEY.to_owned(), task);
    }
    true
}

/// Requests of sessions that rmcp would refuse or answer as in the stateless version, as requests that it passes on
/// unread.
pub(in crate::mcp) fn pass_unread(message: ClientJsonRpcMessage) -> ClientJsonRpcMessage {
    match message {
        ClientJsonRpcMessage::Request(mut request)
            if request.request.get_meta().protocol_version().is_none() =>
        {
            request.request = unread(request.request);
            ClientJsonRpcMessage::Request(request)
        }
        other => other,
    }
}

fn unread(request: ClientRequest) -> ClientRequest {
    let method = request.method().to_owned();
    let is_task = request.get_meta().contains_key(TASK_META_KEY);
    let (params, extensions) = match request {
        ClientRequest::GetTaskRequest(it) => (serde_json::to_value(it.params), it.extensions),
        ClientRequest::CancelTaskRequest(it) => (serde_json::to_value(it.params), it.extensions),
        ClientRequest::ListToolsRequest(it) => (serde_json::to_value(it.params), it.extensions),
        ClientRequest::CallToolRequest(it) if is_task => {
            (serde_json::to_value(it.params), it.extensions)
        }
        other => return other,
    };
    ClientRequest::CustomRequest(CustomRequest {
        method,
        params: params.ok(),
        extensions,
    })
}

/// The response to `initialize`, with tasks declared as the version of the session declares them: in a capability of
/// their own, or not at all. Clients that are not known cannot list their tasks.
pub(in crate::mcp) fn declare_for_session(
    message: ServerJsonRpcMessage,
    may_list: bool,
) -> ServerJsonRpcMessage {
    let ServerJsonRpcMessage::Response(mut response) = message else {
        return message;
    };
    if let ServerResult::InitializeResult(result) = &mut response.result
        && let Some(extensions) = &mut result.capabilities.extensions
        && extensions.remove(TASKS_EXTENSION_ID).is_some()
    {
        if extensions.is_empty() {
            result.capabilities.extensions = None;
        }
        if result.protocol_version == ProtocolVersion::V_2025_11_25
            && let Ok(mut declared) = serde_json::to_value(&*result)
        {
            let mut tasks = json!({"cancel": {}, "requests": {"tools": {"call": {}}}});
            if may_list {
                tasks["list"] = json!({});
            }
            declared["capabilities"]["tasks"] = tasks;
            response.result = ServerResult::CustomResult(CustomResult(declared));
        }
    }
    ServerJsonRpcMessage::Response(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_task_of_a_call_is_kept_in_sessions_only() {
        let task = json!({"ttl": 5});
        let stateless = json!({VERSION_IN_META: "2026-07-28"});
        for (method, params, kept) in [
            ("tools/call", json!({"name": "a", "task": task}), true),
            (
                "tools/call",
                json!({"name": "a", "task": task, "_meta": {"b": 1}}),
                true,
            ),
            ("tools/call", json!({"name": "a"}), false),
            (
                "tools/call",
                json!({"name": "a", "task": task, "_meta": stateless}),
                false,
            ),
            ("prompts/get", json!({"name": "a", "task": task}), false),
        ] {
            let mut message = json!({"id": 1, "method": method, "params": params});
            assert!(
                may_have_task_member(message.to_string().as_bytes()) || params["task"].is_null()
            );
            assert_eq!(keep_task_member(&mut message), kept, "{message}");
            let in_meta = &message["params"]["_meta"][TASK_META_KEY];
            assert_eq!(*in_meta == task, kept, "{message}");
        }
    }
}
