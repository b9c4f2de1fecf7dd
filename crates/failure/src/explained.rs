//! The JSON that explains a code of the catalogue: its facts, its page and the failure in each dialect.

use panpan_catalogue::{Known, Remedy};
use serde_json::{Value, json};

use crate::dialect::{Dialect, Envelope};
use crate::{Failure, Kind};

/// The facts of a code.
pub fn facts(known: &Known) -> Value {
    let kind = Kind::from(*known);
    let recovery = kind.default_recovery();
    json!({
        "code": kind.code().as_str(),
        "title": known.title(),
        "category": kind.category().word(),
        "retryable": kind.retryable(),
        "effect": kind.default_effect().word(),
        "remedy": kind.remedies().iter().map(Remedy::word).collect::<Vec<_>>(),
        "number": known.number(),
        "domain": known.domain().word(),
        "jsonrpc_code": kind.jsonrpc_code(),
        "http_status": kind.http_status(),
        "grpc_code": kind.grpc().number(),
        "flat_code": kind.flat_name(),
        "flat_category": kind.flat_category().word(),
        "retry_after_ms": recovery.retry_after_ms,
        "max_retries": recovery.max_retries,
        "required_actions": recovery.required_actions,
        "alternatives": recovery.alternatives.iter().map(|other| &other.description).collect::<Vec<_>>(),
    })
}

/// The facts, the page and the failure in every dialect.
pub fn explained(known: &Known) -> Value {
    let failure = Failure::new(Kind::from(*known)).redacted();
    let rendered = |dialect: Dialect| dialect.render_failure(&failure, Envelope::default());
    let mut document = facts(known);
    document["page"] = known.page().into();
    document["dialects"] = Dialect::ALL
        .map(|dialect| (dialect.name().to_owned(), rendered(dialect)))
        .into_iter()
        .collect();
    document
}
