//! `search` and `schema`: which operations there are, and what one takes.

use panpan_failure::Failure;
use panpan_runtime::absent;
use serde_json::{Value, json};

use crate::mcp::arguments::Arguments;
use crate::mcp::tools::Catalogue;
use crate::mcp::turn::Turn;
use crate::search::{Cursor, RESULTS, RESULTS_LIMIT, search};

/// Finds operations among those the caller may call.
pub(super) fn find(
    turn: &Turn<'_>,
    catalogue: &Catalogue,
    mut arguments: Arguments<'_>,
) -> Result<Value, Failure> {
    let query = arguments.text("query").unwrap_or_default();
    let limit = arguments.count("limit");
    let limit = limit.map_or(RESULTS, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    });
    let after = arguments.text("after");
    let cursor = after.as_deref().map(Cursor::parse);
    if let (Some(None), Some(after)) = (&cursor, after) {
        let reason = "not the next of an answer";
        arguments.problem(
            "after",
            reason,
            "the next of the answer before",
            &json!(after),
        );
    }
    arguments.finish();
    let callable = turn.server.gateway().callable(turn.caller());
    let among = catalogue.among(&callable).map(|entry| &entry.words);
    let limit = limit.min(RESULTS_LIMIT);
    Ok(search(among, &query, limit, cursor.flatten().as_ref()))
}

/// Describes an operation. One that may not be called looks like one that does not exist.
pub(super) fn describe(turn: &Turn<'_>, mut arguments: Arguments<'_>) -> Result<Value, Failure> {
    let name = arguments.required_text("name");
    arguments.finish();
    let asked = name.strip_prefix('/').unwrap_or(&name);
    let mut callable = turn.server.gateway().callable(turn.caller());
    callable.retain(|it| it.is_offered_to_models());
    let found = callable.iter().find(|it| it.name().as_str() == asked);
    let operation = found.ok_or_else(|| {
        let names = callable.iter().map(|it| it.name().as_str());
        absent(asked, names, "ask for")
    })?;
    serde_json::to_value(operation.spec()).map_err(|error| panpan_runtime::untyped(&error))
}
