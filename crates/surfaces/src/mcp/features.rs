//! Resources, prompts and completion, from the `Library` of the gateway.
//!
//! Without a `Library` these methods do not exist. A failure is a JSON-RPC error here: their
//! results have no `isError`.

use std::sync::Arc;

use panpan_failure::dialect::{Dialect, Envelope};
use panpan_failure::{Failure, Redacted, codes};
use panpan_mcp::library::{List, Offer, Request};
use panpan_runtime::BoxFuture;
use rmcp::model::{ErrorCode, PaginatedRequestParams};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::call::forwarded;
use super::connected_client::ConnectedClient;
use super::interactive::{RequestIdentity, ServerResponse};
use super::request::ActiveRequest;
use super::resume::ResumeInput;
use super::rpc_error;
use super::server::Server;
use crate::caller::Caller;
use crate::library::{Library, RequestSource};

impl Server {
    /// The capabilities beside tools.
    pub(super) fn offer(&self) -> Offer {
        let library = self.gateway().library();
        library.map_or_else(Offer::default, Library::offer)
    }

    /// The library, if the caller is within its rate limit.
    pub(super) fn library(&self, caller: &Caller) -> Result<&dyn Library, ErrorData> {
        let library = self.gateway().library().ok_or_else(no_library)?;
        self.gateway().take_call(caller).map_err(failure_error)?;
        Ok(library)
    }

    /// The library and the client for a subscription, if subscriptions are supported and the client
    /// stays connected.
    pub(super) fn subscribing(
        &self,
        caller: &Caller,
    ) -> Result<(&dyn Library, &ConnectedClient), ErrorData> {
        let client = self.client.get().filter(|_| self.offer().subscriptions);
        let unsupported = || rpc_error::unknown_method("resource subscriptions are not supported");
        let client = client.ok_or_else(unsupported)?;
        Ok((self.library(caller)?, client))
    }

    /// A list, as the result of its method.
    pub(super) async fn list<T: DeserializeOwned>(
        &self,
        list: List,
        page: Option<PaginatedRequestParams>,
        context: &RequestContext<RoleServer>,
    ) -> Result<T, ErrorData> {
        let caller = self.caller(context);
        let library = self.library(caller)?;
        refuse_cursor(page)?;
        let items = send(library, caller, Request::List(list)).await;
        typed(items.map(|items| {
            let mut result = json!({list.member(): items});
            if let Some(fresh) = library.freshness(list) {
                result["ttlMs"] = fresh.ttl_ms.into();
                result["cacheScope"] = json!(fresh.scope());
            }
            result
        }))
    }

    /// The response to `prompts/get` or `resources/read`; the upstream server may request input first.
    pub(super) async fn fetch(
        &self,
        context: &RequestContext<RoleServer>,
        resume: Option<ResumeInput>,
        (method, target, input): (&'static str, String, Value),
        request: Request,
        as_result: impl FnOnce(Result<Value, Failure>) -> ServerResponse + Send + 'static,
    ) -> ServerResponse {
        let caller = self.caller(context);
        self.library(caller)?;
        let identity = RequestIdentity {
            principal: caller.principal.clone(),
            method: Some(method),
            target,
            input: Arc::new(input),
        };
        let (shared, caller) = (self.shared.clone(), caller.clone());
        let meta = forwarded(&context.meta);
        let fetch = async move |client| {
            let library = shared.gateway.library().ok_or_else(no_library)?;
            let source = RequestSource { client, meta };
            as_result(library.request(&caller, request, source).await)
        };
        let active = ActiveRequest::new(self, context, resume);
        active.feature(identity, fetch).await
    }
}

/// Sends a request that brings nothing but its parameters.
pub(super) fn send<'a>(
    library: &'a dyn Library,
    caller: &'a Caller,
    request: Request,
) -> BoxFuture<'a, Result<Value, Failure>> {
    library.request(caller, request, RequestSource::default())
}

/// The error for a method that exists only with a library.
fn no_library() -> ErrorData {
    rpc_error::unknown_method("unknown method")
}

/// Refuses a cursor: every list has one page.
pub(super) fn refuse_cursor(page: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    let cursor = page.and_then(|page| page.cursor);
    match cursor.is_some_and(|cursor| !cursor.is_empty()) {
        // No cursor is ever issued.
        true => Err(rpc_error::invalid_params(
            "unknown cursor: the list has a single page",
        )),
        false => Ok(()),
    }
}

/// A JSON result of the library as a typed result of the protocol.
pub(super) fn typed<T: DeserializeOwned>(result: Result<Value, Failure>) -> Result<T, ErrorData> {
    let mut result = result.map_err(failure_error)?;
    if let Value::Object(members) = &mut result {
        // Older servers omit it and newer clients require it; rmcp removes it for older clients.
        let complete = || json!("complete");
        members.entry("resultType").or_insert_with(complete);
    }
    serde_json::from_value(result).map_err(|_| {
        let failure = Failure::new(codes::ERR_HTTP_502_BAD_GATEWAY)
            .with_message("the upstream MCP server returned an unexpected result");
        failure_error(failure)
    })
}

/// Adds the URI to the error of a resource request.
pub(super) fn with_uri(uri: &str, mut error: ErrorData) -> ErrorData {
    const LONGEST: usize = 2048;
    if is_absent(&error) {
        // rmcp translates this into the code of newer versions.
        error.code = ErrorCode::RESOURCE_NOT_FOUND;
    }
    if let Some(Value::Object(data)) = &mut error.data {
        let uri: String = uri.chars().take(LONGEST).collect();
        data.insert("uri".to_owned(), uri.into());
    }
    error
}

fn is_absent(error: &ErrorData) -> bool {
    let code = error.data.as_ref().and_then(|data| data.get("code"));
    code.and_then(Value::as_str) == Some(codes::ARTIFACT_NOT_FOUND.code)
        && error.code == ErrorCode::INVALID_PARAMS
}

/// A failure as a JSON-RPC error, with the code of the upstream server's error or of an unknown
/// name, if there is one.
pub(super) fn failure_error(failure: Failure) -> ErrorData {
    let stated = failure.upstream().and_then(|it| it.code.as_deref());
    let stated = stated.and_then(|code| code.parse().ok()).map(ErrorCode);
    let is_absent = failure.code().as_str() == codes::ARTIFACT_NOT_FOUND.code;
    let code = stated.or(is_absent.then_some(ErrorCode::INVALID_PARAMS));
    let mut error = error_response(&failure.redacted());
    error.code = code.unwrap_or(error.code);
    error
}

/// A failure as a JSON-RPC error, with the whole failure in its data.
pub(super) fn error_response(failure: &Redacted) -> ErrorData {
    let document = Dialect::JsonRpc.render_failure(failure, Envelope::default());
    let error = document.get("error").cloned().unwrap_or_default();
    serde_json::from_value(error)
        .unwrap_or_else(|_| rpc_error::internal("the failure could not be serialised"))
}
