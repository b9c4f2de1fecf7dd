//! What to do about the failure of a task.
//!
//! The dispatcher advises a caller who can call again. A caller who reads the failure of a task changes the task and
//! executes its flow instead, and may have to look at the task whose result was the input.

use std::ops::ControlFlow;

use panpan_failure::{Effect, Failure, Redacted, Remedy, codes};

use crate::references::{Reference, visit_references};
use crate::task::{Definition, TaskCallOptions, TaskId};

/// The member of `params` of a call over MCP that runs as a task: its client calls again.
const CALLED_OVER_MCP: &str = "mcp";

/// How many sources of input values are named.
const SOURCES_LISTED: usize = 3;

/// The beginnings of advice that only a direct caller can follow.
const OF_DIRECT_CALLS: [&str; 8] = [
    "Repeat the ",
    "Call again",
    "Make the call again",
    "If it did not",
    "If this is different work",
    "If the same input becomes valid later",
    "Once that is fixed, call again",
    "Request less, without an idempotency_key",
];

/// The beginning of advice that helps after a task, too: a direct call with its key gets the outcome of the same call.
const WITH_KEY_OF_TASK: &str = "Repeat the call with idempotency_key ";

/// The end of advice to call again after something else.
const THEN_CALL_AGAIN: &str = ", then call again";

/// The failure of a task with actions that can be followed in a flow.
pub(super) fn advised(mut failure: Redacted, task: TaskId, definition: &Definition) -> Redacted {
    let params = definition.params.as_ref();
    if params.is_some_and(|it| it.contains_key(CALLED_OVER_MCP)) {
        return failure;
    }
    let mut recovery = failure.take_recovery();
    let before = std::mem::take(&mut recovery.required_actions);
    let delay_ms = recovery.retry_after_ms.filter(|it| *it > 0);
    recovery.required_actions = actions(&failure, before, delay_ms, task, definition);
    failure.with_recovery(recovery)
}

fn actions(
    failure: &Failure,
    before: Vec<String>,
    delay_ms: Option<u64>,
    task: TaskId,
    definition: &Definition,
) -> Vec<String> {
    let again = format!("call tasks/execute with the root_task_id of task {task}");
    let mut actions: Vec<String> = before.iter().filter_map(|it| kept(it)).collect();
    if failure.effect() == Effect::Applied && !failure.may_repeat() {
        actions.push(go_on_without(task));
    } else if failure.must_check_outcome() {
        let change = change(failure, task, definition);
        let change = change.map_or_else(String::new, |it| format!("{it}, then "));
        actions.push(format!(
            "If it did not: {change}{again}, which runs it again"
        ));
        actions.push(format!("If it did: {}", lower(&go_on_without(task))));
    } else if let Some(longer) = longer_timeout(failure, task, definition) {
        actions.push(format!("{longer}, then {again}"));
    } else if failure.may_repeat() {
        actions.push(match delay_ms {
            Some(delay_ms) => format!("Wait {delay_ms} ms, then {again}"),
            None => capitalised(&again),
        });
    } else if let Some(change) = change(failure, task, definition) {
        actions.push(format!("{}, then {again}", capitalised(&change)));
    } else {
        actions.push(format!("Once the cause is gone, {again}"));
    }
    actions
}

/// An action of the dispatcher, as far as it can be followed in a flow.
fn kept(action: &str) -> Option<String> {
    let waits = action.starts_with("Wait ") && action.contains(" ms, then repeat the ");
    if action.starts_with(WITH_KEY_OF_TASK) {
        return Some(action.to_owned());
    }
    if waits || OF_DIRECT_CALLS.iter().any(|it| action.starts_with(it)) {
        return None;
    }
    Some(
        action
            .strip_suffix(THEN_CALL_AGAIN)
            .unwrap_or(action)
            .to_owned(),
    )
}

/// How to finish a flow with a task that must not run again. Executing the flow would run it.
fn go_on_without(task: TaskId) -> String {
    format!(
        "Do not execute this flow again, which would run task {task} again; create the tasks that need its result as \
         a new flow, with the value in their inputs"
    )
}

fn longer_timeout(failure: &Failure, task: TaskId, definition: &Definition) -> Option<String> {
    let timed_out = [codes::TIMEOUT.code, codes::ERR_TIMEOUT.code];
    let options = TaskCallOptions::of(definition.params.as_ref()).ok()?;
    let timeout_ms = options.timeout_ms?;
    timed_out.contains(&failure.code().as_str()).then(|| {
        format!("Set params.call.timeout_ms of task {task} above {timeout_ms} with tasks/update, or leave it out")
    })
}

/// What to change if the input has to change: the task, or the one that its input is from.
fn change(failure: &Failure, task: TaskId, definition: &Definition) -> Option<String> {
    if !failure.remedies().contains(Remedy::ChangeInput) {
        return None;
    }
    let sources = sources(failure, definition);
    let mut change = format!("correct the inputs of task {task} with tasks/update");
    for (at, reference) in sources {
        let member = match at.is_empty() {
            true => "they are".to_owned(),
            false => format!("{at} is"),
        };
        let source = reference.task;
        change.push_str(&format!(
            "; {member} {reference}, so if that value is wrong, correct task {source} with tasks/update and call \
             tasks/execute with {source} first"
        ));
    }
    Some(change)
}

/// The references that the wrong members of the input are from; all of them if the failure names no member.
fn sources(failure: &Failure, definition: &Definition) -> Vec<(String, Reference)> {
    let mut sources: Vec<(String, Reference)> = Vec::new();
    let violations = failure.violations();
    let _ = visit_references(&definition.inputs, |found| {
        let at = found.pointer();
        let is_about = |pointer: &str| is_within(pointer, &at) || is_within(&at, pointer);
        let is_wrong = violations.is_empty() || violations.iter().any(|it| is_about(&it.pointer));
        if is_wrong && let Ok(reference) = found.read() {
            sources.push((at, reference));
        }
        match sources.len() < SOURCES_LISTED {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    sources
}

/// Whether a pointer is to a value or to a part of it.
fn is_within(pointer: &str, value: &str) -> bool {
    let rest = pointer.strip_prefix(value);
    rest.is_some_and(|it| it.is_empty() || it.starts_with('/'))
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|it| it.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn lower(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|it| it.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use std::str::FromStr as _;

    use panpan_failure::{Repeat, Violation};
    use serde_json::{Value, json};

    use super::*;

    const TASK: &str = "10000000-0000-4000-8000-000000000001";
    const SOURCE: &str = "10000000-0000-4000-8000-000000000002";

    /// The actions for a failure of a task with these inputs and these options.
    fn actions_of(failure: Failure, inputs: Value, params: Value) -> String {
        let mut definition = Definition::new("a task").unwrap();
        definition.inputs = inputs.as_object().unwrap().clone();
        definition.params = params.as_object().cloned();
        let failure = advised(
            failure.redacted(),
            TaskId::from_str(TASK).unwrap(),
            &definition,
        );
        failure.recovery().required_actions.join("\n")
    }

    #[test]
    fn the_advice_can_be_followed_in_a_flow() {
        let root = format!("call tasks/execute with the root_task_id of task {TASK}");
        let invalid = || {
            let failure = Failure::new(codes::INVALID_INPUT_ERROR).with_effect(Effect::None);
            let failure = failure.with_violation(Violation::value("/divisor", "no"));
            failure.with_actions(["Correct divisor, then call again"])
        };
        let busy = Failure::new(codes::ERR_OVERLOADED).with_effect(Effect::None);
        let busy = busy.with_actions(["Wait 100 ms, then repeat the identical call"]);
        for (failure, inputs, params, expected) in [
            (
                busy.with_retry_after_ms(100),
                json!({}),
                json!({}),
                format!("Wait 100 ms, then {root}"),
            ),
            (
                Failure::new(codes::TIMEOUT)
                    .with_effect(Effect::None)
                    .with_actions(["Call again with a timeout_ms above 200, or without one"]),
                json!({}),
                json!({"call": {"timeout_ms": 200}}),
                format!(
                    "Set params.call.timeout_ms of task {TASK} above 200 with tasks/update, or leave it out, then {root}"
                ),
            ),
            (
                invalid(),
                json!({"dividend": {"$from": SOURCE}, "divisor": 0}),
                json!({}),
                format!(
                    "Correct divisor\nCorrect the inputs of task {TASK} with tasks/update, then {root}"
                ),
            ),
            (
                invalid(),
                json!({"divisor": {"$from": SOURCE, "pointer": "/a"}}),
                json!({}),
                format!(
                    "Correct divisor\nCorrect the inputs of task {TASK} with tasks/update; /divisor is /a in the \
                     result of task {SOURCE}, so if that value is wrong, correct task {SOURCE} with tasks/update and \
                     call tasks/execute with {SOURCE} first, then {root}"
                ),
            ),
            (
                invalid(),
                json!({}),
                json!({"mcp": {}}),
                "Correct divisor, then call again".to_owned(),
            ),
        ] {
            assert_eq!(actions_of(failure, inputs, params), expected);
        }
    }

    #[test]
    fn a_task_that_may_have_taken_effect_is_looked_at_before_it_runs_again() {
        let look =
            "Call orders/get to see whether this call took effect before doing anything else";
        let failure = Failure::new(codes::ERR_OUTCOME_UNKNOWN)
            .with_effect(Effect::Unknown)
            .with_repeat(Repeat::OnlyWithoutEffect)
            .with_actions([look, "If it did not, make the call again"]);
        let actions = actions_of(failure, json!({}), json!({}));
        let actions: Vec<&str> = actions.lines().collect();
        assert_eq!(actions[0], look);
        assert!(
            actions[1].starts_with("If it did not: call tasks/execute"),
            "{actions:?}"
        );
        assert!(
            actions[2].starts_with("If it did: do not execute this flow again"),
            "{actions:?}"
        );
        let applied = Failure::new(codes::ERR_OUTCOME_TOO_LARGE).with_effect(Effect::Applied);
        let actions = actions_of(applied, json!({}), json!({}));
        assert!(
            actions.contains("Do not execute this flow again"),
            "{actions}"
        );
        assert!(!actions.contains("call tasks/execute"), "{actions}");
    }
}
