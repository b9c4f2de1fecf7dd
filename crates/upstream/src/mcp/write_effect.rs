//! What the response of a tool proves about the effect of a write.
//!
//! A text about a rate limit, a connection or a passing condition concerns some call inside the tool, which may
//! have done something before. Only a statement that nothing happened proves that there is no effect.

use panpan_failure::classify::{InputMembers, statements};
use panpan_failure::{Category, Effect, Failure};
use serde_json::Value;

use crate::classify::{ErrorBody, report_work};

/// The failure with the effect that is proven; `documents` are those of the response.
pub(super) fn with_proven_effect(failure: Failure, documents: &[&Value]) -> Failure {
    let states_none = || {
        let stated = documents.iter().map(|it| ErrorBody::of_json(it).effect);
        stated.flatten().any(|it| it == Effect::None)
    };
    let is_stated =
        states_none() || statements(failure.message(), &InputMembers::default()).nothing_happened;
    let is_open =
        is_of_an_inner_call(&failure) || documents.iter().any(|document| report_work(document));
    match failure.effect() == Effect::None && !is_stated && is_open {
        true => failure.with_effect(Effect::Unknown),
        false => failure,
    }
}

/// Whether a failure can befall a call inside the tool after another one succeeded. Rejected arguments, missing
/// permissions and missing items usually end a tool before it does anything.
fn is_of_an_inner_call(failure: &Failure) -> bool {
    let is_refusal = matches!(
        failure.category(),
        Category::AuthFail | Category::ClientError | Category::Validation | Category::Permanent
    );
    failure.retryable() || !is_refusal
}

#[cfg(test)]
mod tests {
    use panpan_failure::codes;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_statement_proves_that_a_failing_write_did_nothing() {
        let limit = || Failure::new(codes::ERR_HTTP_429_RATE_LIMITED).with_effect(Effect::None);
        let refused = || Failure::new(codes::ERR_CONNECTION_REFUSED).with_effect(Effect::None);
        let full = || Failure::new(codes::ERR_RESOURCE_EXHAUSTED).with_effect(Effect::None);
        let missing = || Failure::new(codes::ERR_HTTP_404_NOT_FOUND).with_effect(Effect::None);
        for (failure, document, effect) in [
            (limit(), json!({}), Effect::Unknown),
            (refused(), json!({}), Effect::Unknown),
            (full(), json!({}), Effect::Unknown),
            (missing(), json!({}), Effect::None),
            (missing(), json!({"created": ["u1"]}), Effect::Unknown),
            (
                limit(),
                json!({"error": "x", "effect": "none"}),
                Effect::None,
            ),
            (
                limit().with_message("Rate limited, nothing was changed"),
                json!({}),
                Effect::None,
            ),
            (
                limit().with_effect(Effect::Applied),
                json!({}),
                Effect::Applied,
            ),
        ] {
            let found = with_proven_effect(failure.clone(), &[&document]);
            assert_eq!(found.effect(), effect, "{failure:?} {document}");
        }
    }
}
