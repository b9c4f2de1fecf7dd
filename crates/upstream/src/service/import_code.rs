//! The codes of imported operations: `HTTP_<status>` where only the status says what failed.

use panpan_failure::{Failure, Kind, codes};

/// Gives a failure that has no status of its own the code of an imported operation.
pub(super) fn with_import_code(failure: Failure) -> Failure {
    match import_kind(&failure) {
        Some(kind) => failure.restated(kind),
        None => failure,
    }
}

/// `HTTP_<status>` for a failure that is known only by the status that its response means; `None` keeps a more
/// specific code.
pub(super) fn import_kind(failure: &Failure) -> Option<Kind> {
    let is_known_by_status = failure.code().as_str().starts_with("ERR_HTTP_");
    is_known_by_status.then(|| of_status(failure.kind().http_status()))
}

/// `HTTP_<status>`. A number that is not an error status is garbled by a server in between.
pub(super) fn of_status(status: u16) -> Kind {
    let status = if (400..600).contains(&status) {
        status
    } else {
        502
    };
    let kind = Kind::of(&format!("HTTP_{status}"));
    kind.unwrap_or_else(|| codes::ERR_HTTP_502_BAD_GATEWAY.into())
}
