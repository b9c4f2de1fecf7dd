//! How a task ends whose operation is not called. Its failure is stamped and recorded like that of a call that is refused.

use std::sync::Arc;

use panpan_failure::{Effect, Failure, Violation, codes};
use panpan_runtime::CallRequest;
use serde_json::Value;

use super::advice::advised;
use super::attempt::{failed, origin};
use super::calls::TaskCalls;
use super::clients::TaskOwners;
use crate::engine::{ClaimedTask, Ended, NOTIFY};
use crate::limits::OPERATION_MISSING_MS;
use crate::ports::Ending;
use crate::task::{Definition, Schemas, TaskId, is_on_tasks};

/// How a task ends whose owner had a token and has none any more.
pub(super) async fn refused_to_owner(
    calls: &TaskCalls,
    owners: Option<&dyn TaskOwners>,
    task: &ClaimedTask,
) -> Option<Ended> {
    let (owners, owner) = (owners?, task.row.owner.as_deref()?);
    if owners.has_token(owner).await {
        return None;
    }
    let failure = Failure::new(codes::FORBIDDEN)
        .with_message("the owner of the task has no valid token any more, so it was not run")
        .with_effect(Effect::None)
        .with_actions(["Execute the task again when its owner has a new token"]);
    let method = task.row.operation.as_deref().unwrap_or_default();
    Some(refused(calls, method, failure))
}

/// Why a task does not call an operation on tasks. It may have been stored before such calls were refused.
pub(super) fn refused_method(method: &str) -> Option<Failure> {
    if method == NOTIFY || !is_on_tasks(method) {
        return None;
    }
    let violation = Violation::value(
        "/schemas/method",
        "a task cannot call an operation on tasks",
    )
    .expected("an operation outside tasks/")
    .actual(method.to_owned());
    let failure = Failure::new(codes::INVALID_TASK_SCHEMA)
        .with_message(format!("a task cannot call {method}: it works on tasks"))
        .with_violation(violation)
        .with_actions(["Change schemas.method of the task with tasks/update"])
        .with_effect(Effect::None);
    Some(failure)
}

/// A link or an archive has the result of its original, and calls no operation.
pub(super) fn stand_in(
    calls: &TaskCalls,
    result: Option<Arc<str>>,
    definition: &Definition,
) -> Ended {
    if let Some(result) = result {
        return Ended::With(Ending::Completed { result });
    }
    let origin = definition.origin;
    let original = origin.original().map(|it| it.to_string());
    let failure = Failure::new(codes::INVALID_TASK_SCHEMA)
        .with_message(format!(
            "the original of this {} is no longer completed: {}",
            origin.word(),
            original.as_deref().unwrap_or_default()
        ))
        .with_detail("original_task_id", original)
        .with_actions(["Execute the original until it completes, then this task again"])
        .with_effect(Effect::None);
    let method = definition.schemas.as_ref().map(Schemas::method);
    refused(calls, method.unwrap_or_default(), failure)
}

/// This process does not offer the operation. Unless no process has offered it for long, the source was removed since the
/// claim, and the next claim leaves the task to others.
pub(super) fn not_offered(calls: &TaskCalls, task: &ClaimedTask, method: &str) -> Ended {
    if !task.is_given_up {
        let history = task.history.clone();
        return Ended::Retry {
            after_ms: 0,
            history: history.unwrap_or_else(|| "[]".into()),
        };
    }
    let minutes = OPERATION_MISSING_MS / 60_000;
    let name = method.trim_start_matches('/');
    let effect = match task.row.run.attempts > 1 {
        // An earlier attempt may have taken effect.
        true => Effect::Unknown,
        false => Effect::None,
    };
    let failure = Failure::new(codes::EXECUTOR_NOT_FOUND)
        .with_message(format!(
            "no process that runs tasks of this store has offered the operation {name} for {minutes} minutes"
        ))
        .with_detail("method", name)
        .with_actions([
            format!("Start a gateway or a worker with the source of {name} and the same store, then execute the task again"),
            "Or change schemas.method of the task to an operation that services/list shows, with tasks/update".to_owned(),
        ])
        .with_effect(effect);
    refused(calls, method, failure)
}

/// The end of a task whose operation cannot be called: the same failure as that of a call that is refused.
pub(super) fn not_called(
    calls: &TaskCalls,
    request: CallRequest,
    (id, definition): (TaskId, &Definition),
    failure: Failure,
) -> Ended {
    let method = request.operation.clone();
    let request = CallRequest {
        input: Value::Object(definition.inputs.clone()).into(),
        ..request
    };
    let actions = &failure.recovery().required_actions;
    let is_authored = !failure.kind().has_default_actions(actions);
    let failure = calls.reject(request, failure.with_effect(Effect::None));
    match is_authored {
        true => failed(&method, &failure, None),
        false => failed(&method, &advised(failure, id, definition), None),
    }
}

/// The end of a task that is refused before its call is known. The failure is recorded like that of any call.
pub(super) fn refused(calls: &TaskCalls, method: &str, failure: Failure) -> Ended {
    let request = CallRequest {
        origin: origin(method),
        ..CallRequest::from_wire(method, Value::Null)
    };
    failed(method, &calls.reject(request, failure), None)
}

pub(super) fn unreadable(error: &serde_json::Error) -> Failure {
    Failure::new(codes::INTERNAL)
        .with_message("the stored task cannot be read")
        .with_effect(Effect::None)
        .caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tasks like these may be stored already.
    #[test]
    fn a_task_that_calls_an_operation_on_tasks_is_not_run() {
        for method in ["tasks/execute", "/tasks/copy", "/tasks/notify"] {
            let failure = refused_method(method).unwrap().redacted();
            assert_eq!(failure.code().as_str(), "INVALID_TASK_SCHEMA", "{method}");
            assert_eq!(failure.violations()[0].pointer, "/schemas/method");
        }
        for method in [NOTIFY, "demo/echo", "/demo/tasks"] {
            assert_eq!(
                refused_method(method).map(Failure::redacted),
                None,
                "{method}"
            );
        }
    }
}
