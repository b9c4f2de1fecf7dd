//! What to do where the advice of the code would not help: a quota that resets by itself, a locked account, a position
//! in a list that has expired, a feature that is switched off.

use panpan_failure::{Failure, codes};

use super::{limits, misused};

/// The action for a limit of a day or a month.
const RESETS: &str = "This limit resets by itself: call again after that, or ask a person to raise it; calling before \
                      that does not help";
const LOCKED_OUT: &str =
    "Ask a person to unlock what the message names; calling again before that does not help";
const FROM_THE_START: &str =
    "Leave the cursor or page token out of the input and read the list again from its start";
const SWITCHED_OFF: &str =
    "What the message names is switched off: ask a person to switch it on, or do without it";

/// Adds the action that the message of a response calls for.
pub(super) fn with_action(
    failure: Failure,
    received_status: u16,
    codes: &[String],
    message: &str,
) -> Failure {
    match action(&failure, received_status, codes, message) {
        Some(action) => failure.with_actions([action]),
        None => failure,
    }
}

fn action(
    failure: &Failure,
    received_status: u16,
    service_codes: &[String],
    message: &str,
) -> Option<&'static str> {
    let service_codes: Vec<&str> = service_codes.iter().map(String::as_str).collect();
    let is_spent = failure.code().as_str() == codes::ERR_RESOURCE_EXHAUSTED.code;
    if is_spent && limits::resets_by_itself(&service_codes, message) {
        return Some(RESETS);
    }
    if failure.retryable() {
        return None;
    }
    let has_expired = [
        "expired",
        "too old",
        "no longer valid",
        "start again",
        "invalid",
    ]
    .iter()
    .any(|it| message.to_ascii_lowercase().contains(it));
    match received_status {
        429 if limits::is_locked_out(received_status, message) => Some(LOCKED_OUT),
        410 if misused::is_switched_off(message) => Some(SWITCHED_OFF),
        400 | 410 | 422 if has_expired && misused::is_about_position(message) => {
            Some(FROM_THE_START)
        }
        _ => None,
    }
}
