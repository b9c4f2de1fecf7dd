//! The advice about a change of an item whose version or state is another one than the caller assumed.

use panpan_failure::{Failure, Redacted, Violation, codes, pointer};
use serde_json::Value;

use super::Situation;
use super::change::existing_item;

/// Statuses for a request that has to name the version that it changes, or names another one.
const CONDITIONAL: [u16; 2] = [428, 412];

/// The argument of an operation that becomes the header `If-Match`.
pub(super) fn version_argument(input_schema: &Value) -> Option<&str> {
    let members = input_schema.get("properties")?.as_object()?;
    // Every failing call comes here, so no name is copied.
    let is_version = |name: &&String| {
        ["if-match", "if_match"]
            .iter()
            .any(|it| name.eq_ignore_ascii_case(it))
    };
    members.keys().find(is_version).map(String::as_str)
}

/// How a caller finds the version or the state that its change has to fit, if an operation shows it.
pub(super) fn read_first(failure: &Failure, situation: Situation<'_>) -> Option<String> {
    let shows = situation.shows_item.filter(|_| !situation.is_read)?;
    if let Some(argument) = wrong_version(failure, situation) {
        return Some(format!(
            "Call {shows}, put the ETag or version that it shows into {argument}, then call again; ask a person if it \
             shows none"
        ));
    }
    is_about_state(failure)
        .then(|| format!("Call {shows} to see the current state, then send a request that fits it"))
}

/// Adds the argument that names the version to the violations, so that every reader finds it.
pub(super) fn with_version_violation(failure: Redacted, situation: Situation<'_>) -> Redacted {
    let can_be_read = situation.shows_item.is_some() && !situation.is_read;
    let Some(argument) = wrong_version(&failure, situation).filter(|_| can_be_read) else {
        return failure;
    };
    let place = pointer::joined("", argument);
    if failure.violations().iter().any(|it| it.pointer == place) {
        return failure;
    }
    let violation = match situation.has_version {
        true => Violation::value(place, "the item has another version"),
        false => Violation::missing(place),
    };
    let mut violations = failure.violations().to_vec();
    violations.push(violation);
    failure
        .into_failure()
        .with_violations(violations)
        .redacted()
}

/// The argument with the version, if the failure is about it.
fn wrong_version<'a>(failure: &Failure, situation: Situation<'a>) -> Option<&'a str> {
    let argument = situation.version_argument?;
    let status = failure.upstream().and_then(|it| it.status);
    let is_conditional = status.is_some_and(|it| CONDITIONAL.contains(&it));
    let is_about_version =
        is_conditional || (is_conflict(failure) && names_version(failure.message()));
    (is_about_version && existing_item(failure, situation).is_none()).then_some(argument)
}

fn is_conflict(failure: &Failure) -> bool {
    let code = failure.code().as_str();
    code == codes::ERR_HTTP_409_CONFLICT.code || failure.kind().http_status() == 409
}

/// Whether a failure is about the state of an item, and not about what it clashes with.
fn is_about_state(failure: &Failure) -> bool {
    let status = failure.upstream().and_then(|it| it.status);
    status.is_some() && (is_conflict(failure) || failure.kind().http_status() == 412)
}

/// Whether a message says that the version of the item is another one.
fn names_version(message: &str) -> bool {
    const WORDS: [&str; 8] = [
        "version",
        "etag",
        "if-match",
        "revision",
        "stale",
        "out of date",
        "outdated",
        "modified",
    ];
    let message = message.to_ascii_lowercase();
    WORDS.iter().any(|word| message.contains(word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_argument_with_the_version_is_found_by_its_name() {
        for (name, is_found) in [
            ("If-Match", true),
            ("if_match", true),
            ("If-None-Match", false),
            ("match", false),
        ] {
            let schema = json!({"properties": {"id": {}, name: {}}});
            assert_eq!(version_argument(&schema), is_found.then_some(name));
        }
    }
}
