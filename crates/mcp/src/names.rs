//! The names that panpan adds to the protocol, and those of the protocol that rmcp does not define.

use rmcp::model::ErrorCode;

/// The member of `_meta` with the idempotency key of a call.
pub const IDEMPOTENCY_META_KEY: &str = "dev.panpan/idempotency-key";

/// The member of `_meta` with the retry seed of a call.
pub const SEED_META_KEY: &str = "dev.panpan/retry-seed";

/// The member of `_meta` with the timeout of the caller, in milliseconds.
pub const TIMEOUT_META_KEY: &str = "dev.panpan/timeout-ms";

/// The member of `_meta` with the trace.
pub const TRACE_META_KEY: &str = "traceparent";

/// The prefixes of the members of `_meta` that only the two ends of a connection use.
const RESERVED_META_PREFIXES: [&str; 2] = ["dev.panpan/", "io.modelcontextprotocol/"];

/// The member of `_meta` with the token of a request for progress.
const PROGRESS_TOKEN: &str = "progressToken";

/// Whether a member of `_meta` is passed on to the server or the client on the other side.
pub fn passes_on(name: &str) -> bool {
    let is_reserved = RESERVED_META_PREFIXES.iter().any(|it| name.starts_with(it));
    !is_reserved && name != PROGRESS_TOKEN && name != TRACE_META_KEY
}

/// The member of a result's `_meta` that says whether and until when the same key returns the same outcome.
pub const IDEMPOTENCY_RESULT_META_KEY: &str = "dev.panpan/idempotency";

/// The member of a tool's `_meta` with the failures that it declares.
pub const ERRORS_META_KEY: &str = "dev.panpan/errors";

/// The argument of a tool that carries the idempotency key.
pub const KEY_ARGUMENT: &str = "idempotency_key";

/// The experimental capability by which one panpan recognises another, whatever its name.
pub const PANPAN_CAPABILITY: &str = "dev.panpan";

/// The member of an output schema that declares, with `true`, outputs of content blocks.
pub const CONTENT_MARK: &str = "x-mcp-content";

/// The extension of an operation with the name of its tool at the upstream server.
pub const TOOL_EXTENSION: &str = "x-mcp-tool";

/// The extension of an operation that requests a name for its tool. The name must not contain `__`, which replaces
/// a slash in derived names, nor be `search`, `schema`, `call` or `batch`.
pub const NAME_EXTENSION: &str = "x-mcp-tool-name";

/// The extension of an operation with the definition of its tool by the upstream server: `order`, the position in the
/// server's list; `name`, if the server's own name is used; and `title`, `annotations`, `icons` and `_meta` as the
/// server wrote them.
pub const DEFINITION_EXTENSION: &str = "x-mcp-definition";

/// The member of `_meta` with which a call asks to run as a task.
pub const TASK_META_KEY: &str = "dev.panpan/task";

/// The member of `_meta` that relates a message to a task, in 2025-11-25.
pub const RELATED_TASK_META_KEY: &str = "io.modelcontextprotocol/related-task";

/// The notification that a URL elicitation is complete.
pub const ELICITATION_COMPLETE: &str = "notifications/elicitation/complete";

/// The error code of a server that requires a URL elicitation first.
pub const URL_ELICITATION_REQUIRED: i32 = -32042;

/// The error code of a server that requires another client capability.
pub const CAPABILITY_MISSING: i32 = ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_meta_that_belong_to_one_connection_are_not_passed_on() {
        for (name, expected) in [
            ("vendor/locale", true),
            ("tracestate", true),
            ("locale", true),
            ("dev.panpanther/x", true),
            ("progressToken", false),
            (TRACE_META_KEY, false),
            (IDEMPOTENCY_META_KEY, false),
            (RELATED_TASK_META_KEY, false),
            ("io.modelcontextprotocol/clientInfo", false),
        ] {
            assert_eq!(passes_on(name), expected, "{name}");
        }
    }
}
