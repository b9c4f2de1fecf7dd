//! `search` and `schema`: find operations and describe one.

use panpan_failure::Failure;
use panpan_runtime::operation_not_found;
use serde_json::{Value, json};

use crate::mcp::arguments::Arguments;
use crate::mcp::request::ActiveRequest;
use crate::mcp::tool_index::ToolIndex;
use crate::search::{Cursor, RESULTS, RESULTS_LIMIT, search};

/// Finds operations that the caller may call.
pub(super) fn find(
    request: &ActiveRequest<'_>,
    index: &ToolIndex,
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
        let reason = "not a value of next";
        arguments.violation(
            "after",
            reason,
            "the value of next in the previous result",
            &json!(after),
        );
    }
    arguments.finish();
    let callable = request.server.gateway().callable(request.caller());
    let among = index.among(&callable).map(|entry| &entry.words);
    let limit = limit.min(RESULTS_LIMIT);
    Ok(search(among, &query, limit, cursor.flatten().as_ref()))
}

/// Describes an operation. An operation that the caller may not call is answered like one that does
/// not exist.
pub(super) fn describe(
    request: &ActiveRequest<'_>,
    mut arguments: Arguments<'_>,
) -> Result<Value, Failure> {
    let name = arguments.required_text("name");
    arguments.finish();
    let operation_name = name.strip_prefix('/').unwrap_or(&name);
    let mut callable = request.server.gateway().callable(request.caller());
    callable.retain(|it| it.is_offered_to_models());
    let found = callable
        .iter()
        .find(|it| it.name().as_str() == operation_name);
    let operation = found.ok_or_else(|| {
        let names = callable.iter().map(|it| it.name().as_str());
        operation_not_found(operation_name, names, "ask for")
    })?;
    serde_json::to_value(operation.spec()).map_err(|error| panpan_runtime::untyped(&error))
}
