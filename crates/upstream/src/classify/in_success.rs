//! Adds to a failure that was sent as a success what the rest of its body says about the input.

use panpan_failure::catalogue::Remedy;
use panpan_failure::{Effect, Failure, Inferred, Violation};
use serde_json::Value;

use super::evidence::MESSAGE_CHARACTERS_LIMIT;
use super::{ErrorBody, RequestContext};
use crate::bounded::bounded;

/// The failure with the violations in its body. A call that was refused for its input had no effect, unless
/// `something_happened`.
pub(crate) fn with_body(
    failure: Failure,
    document: &Value,
    request: RequestContext<'_>,
    something_happened: bool,
) -> Failure {
    let is_about_input = failure.remedies().contains(Remedy::ChangeInput) && !failure.retryable();
    if !is_about_input {
        return failure;
    }
    let body = ErrorBody::of_json(document);
    let failure = match body.message.filter(|it| says_more(it, failure.message())) {
        Some(message) => {
            failure.with_message(bounded(&message, MESSAGE_CHARACTERS_LIMIT, request.input))
        }
        None => failure,
    };
    let located = body.violations.into_iter().filter_map(|mut violation| {
        violation.pointer = request.input_pointer(&violation.pointer)?;
        violation.reason = bounded(&violation.reason, MESSAGE_CHARACTERS_LIMIT, request.input);
        Some(violation)
    });
    let known = failure.violations();
    let is_new = |it: &Violation| known.iter().all(|known| known.pointer != it.pointer);
    let located: Vec<Violation> = located.filter(is_new).collect();
    let is_refused = !located.is_empty() && !something_happened;
    let failure = match located.is_empty() {
        true => failure,
        false => failure.with_violations(located),
    };
    match failure.effect() {
        Effect::Unknown if is_refused => failure
            .with_effect(Effect::None)
            .mark_inferred(Inferred::Effect),
        _ => failure,
    }
}

fn says_more(message: &str, than: &str) -> bool {
    message.len() > than.len() && message.contains(than)
}

#[cfg(test)]
mod tests {
    use panpan_failure::classify::InputMembers;
    use panpan_failure::codes;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refused_input_had_no_effect_unless_something_happened() {
        let refused = json!({"success": false, "errors": [{"code": "E1", "field": "amount", "message": "amount is too large"}]});
        let other =
            json!({"success": false, "errors": [{"code": "E1", "message": "amount is too large"}]});
        for (document, happened, violations, effect) in [
            (&refused, false, 1, Effect::None),
            (&refused, true, 1, Effect::Unknown),
            (&other, false, 0, Effect::Unknown),
        ] {
            let members = InputMembers::of_schema(&json!({"properties": {"amount": {}}}));
            let request = RequestContext {
                members: &members,
                declared: None,
                input: &Value::Null,
                kind_by_rule: None,
                reads: false,
            };
            let failure = Failure::new(codes::TOOL_FAILED).with_message("amount is too large");
            let failure = with_body(failure, document, request, happened);
            assert_eq!(failure.violations().len(), violations, "{document}");
            assert_eq!(failure.effect(), effect, "{document}");
        }
    }
}
