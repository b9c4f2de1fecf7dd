//! A code that says "try again" and lets the caller do so at once.

use panpan_contract::operation::{ErrorDefinition, OperationSpec};

use super::Rule;

pub(super) const RULE: Rule = Rule {
    name: "retryable_without_delay",
    hint: "give the operation a retry policy whose first delay is not zero",
    look,
};

/// The operation's own policy says how long to wait; without one, the code's default does.
fn look(spec: &OperationSpec, definition: &ErrorDefinition) -> Option<(&'static str, String)> {
    let kind = definition.kind().ok().filter(|kind| kind.retryable())?;
    let delay_ms = match &spec.retry {
        Some(policy) => policy.initial_delay_ms(),
        None => kind.default_recovery().retry_after_ms.unwrap_or_default(),
    };
    let message = format!(
        "{} is retryable, and no delay is given before the retry",
        definition.code
    );
    (delay_ms == 0).then_some(("", message))
}
