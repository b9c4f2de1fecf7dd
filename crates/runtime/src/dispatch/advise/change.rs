//! The advice about what to change before another call: the input, an item, access.

use panpan_failure::{Failure, Remedy, Repeat, codes};

use super::super::correction::correction;
use super::super::repetition::{self, Repetition};
use super::Situation;
use super::item::read_first;
use super::reason::instead_of_the_message;

/// What to change before another call.
pub(super) fn change(
    failure: &Failure,
    situation: Situation<'_>,
    mut defaults: Vec<String>,
) -> String {
    let input_is_wrong = failure.remedies().contains(Remedy::ChangeInput);
    if failure.repeat() == Some(Repeat::Refused) && failure.retryable() {
        return "Do not repeat this call: the service says not to; ask the person responsible for it"
            .to_owned();
    }
    // If repeating is harmless, a lost outcome is not a problem.
    if situation.is_harmless && failure.code().as_str().starts_with("ERR_OUTCOME_") {
        let too_large = codes::ERR_OUTCOME_TOO_LARGE.code;
        return match failure.code().as_str() == too_large {
            true => "Request less, without an idempotency_key",
            false => "Call again without an idempotency_key",
        }
        .to_owned();
    }
    if let Some(action) = missing_item(failure, situation) {
        return action;
    }
    if let Some(action) = existing_item(failure, situation) {
        return action;
    }
    if let Some(action) = read_first(failure, situation) {
        return action;
    }
    if let Some(action) = other_denial(failure) {
        return action;
    }
    let corrected = correction(failure, situation.input_argument, !situation.is_read);
    if let Some(corrected) = corrected.filter(|_| input_is_wrong) {
        return corrected;
    }
    if defaults.is_empty() {
        defaults = failure.kind().default_recovery().required_actions;
    }
    let names_message = || defaults.iter().any(|it| it.contains("the message"));
    if input_is_wrong
        && names_message()
        && let Some(action) = instead_of_the_message(failure)
    {
        return action;
    }
    match defaults.len() {
        1 => defaults.remove(0),
        _ => defaults.join("; "),
    }
}

/// What to do about an item that does not exist. A change is never redirected to another item.
fn missing_item(failure: &Failure, situation: Situation<'_>) -> Option<String> {
    if !is_missing(failure) {
        return None;
    }
    match (situation.is_read, situation.lists) {
        (true, lists) => {
            lists.map(|it| format!("List what exists with {it}, then ask for one of those"))
        }
        (false, Some(lists)) => Some(format!(
            "Call {lists} to see whether the item named in the input exists and is spelled correctly; \
             do not change another item instead"
        )),
        (false, None) => Some(
            "Check whether the item named in the input exists and is spelled correctly; do not change \
             another item instead"
                .to_owned(),
        ),
    }
}

/// What to do if something already exists or is done: with other input it would be created or done twice.
pub(super) fn existing_item(failure: &Failure, situation: Situation<'_>) -> Option<String> {
    if situation.is_read {
        return None;
    }
    let found = repetition::of(failure)?;
    let look = match situation.shows_effect.or(situation.lists) {
        Some(operation) => format!("call {operation} to see it"),
        None => "look at it".to_owned(),
    };
    Some(match found {
        Repetition::Exists => format!(
            "What this call should create may already exist: {look} before doing anything else, and change the \
             input only to create another one"
        ),
        Repetition::IsDone => format!(
            "What this call should do may already be done or in progress: {look} before doing anything else, and \
             change the input only to do something else"
        ),
    })
}

/// What to do about a denial whose reason is not access: a plan, terms, a state, a balance.
fn other_denial(failure: &Failure) -> Option<String> {
    const ABOUT_ACCESS: [&str; 16] = [
        "access",
        "allowed",
        "auth",
        "credential",
        "denied",
        "forbidden",
        "key",
        "log in",
        "login",
        "permi",
        "privilege",
        "right",
        "role",
        "scope",
        "sign",
        "token",
    ];
    if failure.upstream().and_then(|it| it.status) != Some(403) {
        return None;
    }
    let message = failure.message().to_ascii_lowercase();
    let is_explained = message.contains(' ') && !message.contains("answered http");
    let is_other = is_explained && !ABOUT_ACCESS.iter().any(|word| message.contains(word));
    is_other.then(|| {
        "Do what the message asks, or ask the person responsible for this tool to; another credential helps \
         only if the message asks for one"
            .to_owned()
    })
}

/// Whether the requested item does not exist. An unknown operation is a different failure.
fn is_missing(failure: &Failure) -> bool {
    const STATUSES: [u16; 2] = [404, 410];
    if failure.code().as_str() == codes::NOT_FOUND.code {
        return false;
    }
    let status = failure.upstream().and_then(|it| it.status);
    let service_says_so = status.is_some_and(|status| STATUSES.contains(&status));
    let input_is_wrong = failure.remedies().contains(Remedy::ChangeInput);
    service_says_so || (input_is_wrong && STATUSES.contains(&failure.kind().http_status()))
}
