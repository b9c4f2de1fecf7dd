//! Replaces a code that callers cannot know by the nearest code of the catalogue.
//!
//! Callers know the codes of the catalogue and those that the operation declares. For any other code the failure
//! gets the nearest code of the catalogue, and the service's code becomes the upstream code. The protocol codes
//! are reserved for panpan: from other services they are replaced too.

use panpan_failure::catalogue::{Entry, is_protocol_code};
use panpan_failure::classify::http_status;
use panpan_failure::{Category, Failure, Kind, codes};

/// What the protocol codes mean when another service uses them.
const PROTOCOL_EQUIVALENTS: [(&str, &Entry); 5] = [
    ("NOT_FOUND", codes::ARTIFACT_NOT_FOUND),
    ("FORBIDDEN", codes::NOT_AUTHORIZED),
    ("INVALID_INPUT", codes::INVALID_INPUT_ERROR),
    ("TIMEOUT", codes::ERR_TIMEOUT),
    ("INTERNAL", codes::TOOL_FAILED),
];

/// The failure with a code that callers know. `is_panpan` says that a panpan sent it.
pub(crate) fn with_known_code(
    failure: Failure,
    is_panpan: bool,
    server: &str,
    declared: impl Fn(&str) -> bool,
) -> Failure {
    let code = failure.code().as_str().to_owned();
    let is_known = Kind::of(&code).is_some() && (is_panpan || !is_protocol_code(&code));
    if is_known || declared(&code) {
        return failure;
    }
    let upstream = failure.upstream().cloned().unwrap_or_default();
    let kind = nearest(&failure, &code, upstream.status);
    let upstream = match upstream.code {
        Some(_) => upstream,
        None => upstream.code(code),
    };
    failure
        .restated(kind)
        .with_upstream(upstream.provider(server))
}

fn nearest(failure: &Failure, code: &str, status: Option<u16>) -> Kind {
    let equivalent = PROTOCOL_EQUIVALENTS.iter().find(|(name, _)| *name == code);
    if let Some((_, entry)) = equivalent {
        return (*entry).into();
    }
    status
        .and_then(http_status)
        .filter(|kind| kind.category() == failure.category())
        .unwrap_or_else(|| of_category(failure.category(), code).into())
}

fn of_category(category: Category, code: &str) -> &'static Entry {
    match category {
        Category::RateLimit => codes::RATE_LIMIT_ERROR,
        Category::Timeout => codes::ERR_TIMEOUT,
        Category::Network => codes::NETWORK_ERROR,
        Category::Transient => codes::ERR_HTTP_503_UNAVAILABLE,
        Category::ServerError => codes::ERR_HTTP_500_SERVER_ERROR,
        Category::AuthFail => codes::NOT_AUTHORIZED,
        Category::Validation => codes::INVALID_INPUT_ERROR,
        Category::Resource => codes::ERR_RESOURCE_EXHAUSTED,
        Category::ClientError if code.contains("NOT_FOUND") || code.contains("NO_SUCH") => {
            codes::ARTIFACT_NOT_FOUND
        }
        Category::ClientError if code.contains("ALREADY_EXISTS") => codes::ALREADY_EXISTS,
        Category::ClientError => codes::ERR_HTTP_400_BAD_REQUEST,
        Category::Permanent => codes::TOOL_FAILED,
    }
}

#[cfg(test)]
mod tests {
    use panpan_failure::catalogue::entries;

    use super::*;

    #[test]
    fn the_nearest_code_of_a_category_has_that_category() {
        for entry in entries() {
            let category = Kind::from(entry).category();
            let nearest = Kind::from(of_category(category, entry.code));
            assert_eq!(nearest.category(), category, "{category:?}");
            assert!(!is_protocol_code(nearest.code().as_str()));
        }
    }

    #[test]
    fn a_stated_category_wins_over_the_status() {
        let stated = |category| {
            let document = serde_json::json!({
                "ok": false,
                "error": {"code": "QUEUE_BUSY", "category": category, "upstream_status": 409},
            });
            let read = panpan_failure::dialect::Dialect::Outcome.read(document);
            let failure =
                with_known_code(read.unwrap().outcome.unwrap_err(), false, "files", |_| {
                    false
                });
            (failure.category(), failure.code().as_str().to_owned())
        };
        assert_eq!(stated("RATE_LIMIT").0, Category::RateLimit);
        assert_eq!(stated("CLIENT_ERROR").1, "ERR_HTTP_409_CONFLICT");
    }

    #[test]
    fn protocol_codes_are_kept_only_from_a_panpan() {
        for entry in entries().filter(|entry| is_protocol_code(entry.code)) {
            let code = |is_panpan| {
                let failure = with_known_code(Failure::new(entry), is_panpan, "files", |_| false);
                failure.code().as_str().to_owned()
            };
            assert_eq!(code(true), entry.code);
            assert!(!is_protocol_code(&code(false)), "{}", entry.code);
        }
    }
}
