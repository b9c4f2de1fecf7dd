//! What to do about an input that a service refused without saying why in its message.

use panpan_failure::{Failure, Redacted, Violation};

/// How many violations a message lists.
const LISTED: usize = 3;

/// Whether the message is only that there was a status.
pub(super) fn is_unexplained(failure: &Failure) -> bool {
    let message = failure.message().trim_end_matches('.');
    let status = message.rsplit_once(" answered HTTP ").map(|(_, it)| it);
    message.is_empty() || status.is_some_and(|it| it.bytes().all(|it| it.is_ascii_digit()))
}

/// Says in the message what the violations say, if the service gave no other reason.
pub(super) fn with_violations_in_message(failure: Redacted) -> Redacted {
    if failure.violations().is_empty() || !is_unexplained(&failure) {
        return failure;
    }
    let message = format!("{}: {}", failure.message(), listed(failure.violations()));
    let message = message.trim_start_matches(": ").to_owned();
    failure.into_failure().with_message(message).redacted()
}

/// `2 invalid values: /qty must be positive; /sku is missing`.
fn listed(violations: &[Violation]) -> String {
    let first: Vec<String> = violations.iter().take(LISTED).map(described).collect();
    let more = match violations.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let count = match violations.len() {
        1 => "1 invalid value".to_owned(),
        count => format!("{count} invalid values"),
    };
    format!("{count}: {}{more}", first.join("; "))
}

fn described(violation: &Violation) -> String {
    let said = match violation.reason.trim() {
        "" => violation.kind.word(),
        reason => reason,
    };
    format!("{} {said}", violation.pointer)
        .trim_start()
        .to_owned()
}

/// What to do instead of what a message without a reason says.
pub(super) fn instead_of_the_message(failure: &Failure) -> Option<String> {
    let is_explained = !is_unexplained(failure);
    let instead = match failure.meaning() {
        _ if is_explained => return None,
        Some(_) => {
            "Change the input as the meaning says, then call again; the service did not say more"
        }
        None => {
            "Compare the input with the input schema of the operation: the service rejected it and did not say why"
        }
    };
    Some(instead.to_owned())
}

#[cfg(test)]
mod tests {
    use panpan_failure::codes;

    use super::*;

    #[test]
    fn only_a_bare_status_is_no_reason() {
        for (message, expected) in [
            ("127.0.0.1 answered HTTP 400", true),
            ("api.example.com answered HTTP 422.", true),
            ("", true),
            ("qty must be positive", false),
            ("the proxy answered HTTP 400 because of a header", false),
        ] {
            let failure = Failure::new(codes::ERR_HTTP_400_BAD_REQUEST).with_message(message);
            assert_eq!(is_unexplained(&failure), expected, "{message}");
        }
    }

    #[test]
    fn a_message_without_a_reason_lists_the_violations() {
        let violations = [
            ("/qty", "must be positive"),
            ("/sku", ""),
            ("/a", "no"),
            ("/b", "no"),
        ]
        .map(|(pointer, reason)| Violation::value(pointer, reason));
        let listed = |count: usize| {
            let failure = Failure::new(codes::ERR_HTTP_422_UNPROCESSABLE)
                .with_message("127.0.0.1 answered HTTP 422")
                .with_violations(violations[..count].to_vec());
            with_violations_in_message(failure.redacted())
                .message()
                .to_owned()
        };
        assert_eq!(
            listed(1),
            "127.0.0.1 answered HTTP 422: 1 invalid value: /qty must be positive"
        );
        assert_eq!(
            listed(4),
            "127.0.0.1 answered HTTP 422: 4 invalid values: /qty must be positive; /sku value; /a no; and 1 more"
        );
    }
}
