//! Resources, prompts and completion, passed on from the library the desk was lent.
//!
//! Without a library there are no such methods. A failure is an error of JSON-RPC here: these methods
//! know no result that says that something failed.

use panpan_contract::dialect::{Dialect, Envelope};
use panpan_contract::{Failure, Redacted, codes};
use rmcp::ErrorData;
use rmcp::model::PaginatedRequestParams;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::refusal;
use super::server::Server;
use crate::caller::Caller;
use crate::library::{Library, Offer};

impl Server {
    /// What there is beside tools.
    pub(super) fn offer(&self) -> Offer {
        let library = self.desk().library();
        library.map_or_else(Offer::default, Library::offer)
    }

    /// The library, for a caller who has a share left.
    pub(super) fn library(&self, caller: &Caller) -> Result<&dyn Library, ErrorData> {
        let absent = || refusal::no_such_method("there is no such method");
        let library = self.desk().library().ok_or_else(absent)?;
        self.desk().take_share(caller).map_err(refused)?;
        Ok(library)
    }
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
    member: &'static str,
    items: Result<Vec<Value>, Failure>,
) -> Result<T, ErrorData> {
    lent(items.map(|items| json!({member: items})))
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

fn refused(failure: Failure) -> ErrorData {
    error(&failure.redacted())
}

/// The error a failure is written as, with all of it among the data.
pub(super) fn error(failure: &Redacted) -> ErrorData {
    let document = Dialect::JsonRpc.render_failure(failure, Envelope::default());
    let error = document.get("error").cloned().unwrap_or_default();
    serde_json::from_value(error)
        .unwrap_or_else(|_| refusal::internal("the failure could not be written"))
}
