//! Resources, prompts and completion, passed on from the library the gateway was lent.
//!
//! Without a library there are no such methods. A failure is an error of JSON-RPC here: these methods
//! know no result that says that something failed.

use panpan_failure::dialect::{Dialect, Envelope};
use panpan_failure::{Failure, Redacted, codes};
use rmcp::ErrorData;
use rmcp::model::{CacheScope, ErrorCode, PaginatedRequestParams, ReadResourceResult};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::attendant::Attendant;
use super::refusal;
use super::server::Server;
use crate::caller::Caller;
use crate::library::{Freshness, Library, Offer};

impl Server {
    /// What there is beside tools.
    pub(super) fn offer(&self) -> Offer {
        let library = self.gateway().library();
        library.map_or_else(Offer::default, Library::offer)
    }

    /// The library, for a caller who has a share left.
    pub(super) fn library(&self, caller: &Caller) -> Result<&dyn Library, ErrorData> {
        let library = self.gateway().library().ok_or_else(no_library)?;
        self.gateway().take_call(caller).map_err(refused)?;
        Ok(library)
    }
}

impl Server {
    /// What it takes to follow resources, where that is offered to a client that stays connected.
    pub(super) fn following(
        &self,
        caller: &Caller,
    ) -> Result<(&dyn Library, &Attendant), ErrorData> {
        let client = self.attendant.get().filter(|_| self.offer().subscriptions);
        let absent = || refusal::no_such_method("resources cannot be followed here");
        let client = client.ok_or_else(absent)?;
        Ok((self.library(caller)?, client))
    }
}

/// Nothing is offered beside tools.
pub(super) fn no_library() -> ErrorData {
    refusal::no_such_method("there is no such method")
}

/// Only the first page is asked for: lists are always whole.
pub(super) fn whole(page: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    let cursor = page.and_then(|page| page.cursor);
    match cursor.is_some_and(|cursor| !cursor.is_empty()) {
        // Given to nobody.
        true => Err(refusal::invalid_params("no list has given this cursor")),
        false => Ok(()),
    }
}

/// A list of the library, as the result in which it stands under this name.
pub(super) fn listed<T: DeserializeOwned>(
    library: &dyn Library,
    member: &'static str,
    items: Result<Vec<Value>, Failure>,
) -> Result<T, ErrorData> {
    lent(items.map(|items| {
        let mut result = json!({member: items});
        if let Some(fresh) = library.freshness(member) {
            result["ttlMs"] = fresh.ttl_ms.into();
            result["cacheScope"] = json!(cache_scope(fresh));
        }
        result
    }))
}

/// Who may keep a list, in the words of the protocol.
pub(super) fn cache_scope(fresh: Freshness) -> CacheScope {
    match fresh.is_public {
        true => CacheScope::Public,
        false => CacheScope::Private,
    }
}

/// A result of the library's, as one of this protocol.
pub(super) fn lent<T: DeserializeOwned>(result: Result<Value, Failure>) -> Result<T, ErrorData> {
    let mut result = result.map_err(refused)?;
    if let Value::Object(members) = &mut result {
        // Servers of older versions do not say it, and newer clients insist; the MCP library takes it out
        // again for older clients.
        let complete = || json!("complete");
        members.entry("resultType").or_insert_with(complete);
    }
    serde_json::from_value(result).map_err(|_| {
        let failure = Failure::new(codes::ERR_HTTP_502_BAD_GATEWAY)
            .with_message("what stands behind answered with something else");
        refused(failure)
    })
}

/// A resource, or an error that names it.
pub(super) fn lent_resource(
    uri: &str,
    result: Result<Value, Failure>,
) -> Result<ReadResourceResult, ErrorData> {
    lent(result).map_err(|error| of_resource(uri, error))
}

/// The error of a request for a resource, which names it.
pub(super) fn of_resource(uri: &str, mut error: ErrorData) -> ErrorData {
    const LONGEST: usize = 2048;
    if is_absent(&error) {
        // The MCP library writes what newer clients know instead.
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

/// A failure with the number that the protocol has for it: what the server behind answered with, or that of a
/// name that is not known.
pub(super) fn refused(failure: Failure) -> ErrorData {
    let said = failure.upstream().and_then(|it| it.code.as_deref());
    let said = said.and_then(|code| code.parse().ok()).map(ErrorCode);
    let is_absent = failure.code().as_str() == codes::ARTIFACT_NOT_FOUND.code;
    let number = said.or(is_absent.then_some(ErrorCode::INVALID_PARAMS));
    let mut error = error(&failure.redacted());
    error.code = number.unwrap_or(error.code);
    error
}

/// The error a failure is written as, with all of it among the data.
pub(super) fn error(failure: &Redacted) -> ErrorData {
    let document = Dialect::JsonRpc.render_failure(failure, Envelope::default());
    let error = document.get("error").cloned().unwrap_or_default();
    serde_json::from_value(error)
        .unwrap_or_else(|_| refusal::internal("the failure could not be written"))
}
