//! Rules that assign the new code to responses with a renamed status.
//!
//! A range and `default` apply only to statuses that have no narrower definition. A rule for a range would
//! match those too, so the rules for narrower definitions come first.

use panpan_contract::binding::{ResponsePattern, ResponseRule};
use panpan_failure::{Code, ErrorDefinition, StatusPattern};

/// A status and its new code.
pub(super) type Renamed = (StatusPattern, Code);

/// The rules for the renamed statuses of an operation with these declared failures.
pub(super) fn rules(renamed: &[Renamed], declared: &[ErrorDefinition]) -> Vec<ResponseRule> {
    let is_renamed = |pattern| renamed.iter().any(|(it, _)| *it == pattern);
    let last = |pattern| renamed.iter().rev().find(|(it, _)| *it == pattern);
    let mut exact = Vec::new();
    let mut ranges = Vec::new();
    for definition in declared {
        match definition.http_status {
            Some(pattern @ StatusPattern::Exact(_)) => {
                exact.push((pattern, definition.code.clone()));
            }
            Some(pattern @ StatusPattern::Range(_)) if is_renamed(pattern) => {
                ranges.push((pattern, definition.code.clone()));
            }
            _ => {}
        }
    }
    if let Some((_, code)) = last(StatusPattern::Default) {
        let is_declared = |it| declared.iter().any(|known| known.http_status == Some(it));
        let free = [4, 5].map(StatusPattern::Range).into_iter();
        ranges.extend(
            free.filter(|it| !is_declared(*it))
                .map(|it| (it, code.clone())),
        );
    }
    // Rules for exact statuses are needed only if they were renamed or there is a rule for a range.
    exact.retain(|(pattern, _)| is_renamed(*pattern) || !ranges.is_empty());
    let all = exact.into_iter().chain(ranges);
    all.map(|(pattern, code)| rule(pattern, code)).collect()
}

fn rule(status: StatusPattern, code: Code) -> ResponseRule {
    ResponseRule {
        fits: ResponsePattern {
            status: Some(status),
            ..ResponsePattern::default()
        },
        code,
        effect: None,
        message_pointer: None,
        retry_after_pointer: None,
    }
}
