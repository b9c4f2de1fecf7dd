//! Runs one attempt of a task: resolves its inputs, calls its operation, and says how it ended.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use panpan_contract::operation::OperationName;
use panpan_contract::retry::Attempt;
use panpan_failure::{Effect, Failure, Redacted, codes};
use panpan_runtime::ports::Scope;
use panpan_runtime::{
    AskClient, CallRequest, CancellationToken, IdempotencyKey, Identity, Origin, Progress,
    ReportProgress, TaskAttempt, TaskState,
};
use serde_json::{Map, Value};

use super::advice::advised;
use super::calls::TaskCalls;
use super::clients::TaskClients;
use super::refused::{not_called, not_offered, refused, refused_method, stand_in, unreadable};
use crate::authority::Authority;
use crate::engine::{ClaimedTask, Contents, Ended, NOTIFY};
use crate::kept::kept_text;
use crate::plan::inputs::input_violations;
use crate::ports::Ending;
use crate::references::{ReferenceError, Unresolved, may_have_references, resolve_stored};
use crate::task::{Definition, Provenance, TaskCallOptions, TaskId};

/// The largest result of a task, in bytes. What was returned beside it is kept as far as there is room.
pub const RESULT_BYTES_LIMIT: usize = 4 * 1024 * 1024;

/// The share of its work that a handler has reported as done.
#[derive(Debug, Default)]
pub(super) struct TaskProgress(AtomicU64);

impl TaskProgress {
    /// The share, if one was reported.
    pub(super) fn share(&self) -> Option<f64> {
        let share = f64::from_bits(self.0.load(Ordering::Relaxed));
        (share > 0.0).then_some(share)
    }
}

impl ReportProgress for TaskProgress {
    fn report(&self, progress: Progress) {
        let share = match progress.total {
            Some(total) if total > 0.0 => progress.done / total,
            // Without a total, only a share makes sense.
            _ => progress.done,
        };
        if (0.0..=1.0).contains(&share) {
            self.0.store(share.to_bits(), Ordering::Relaxed);
        }
    }

    fn note(&self, message: String) {
        drop(message);
    }
}

/// Runs one attempt.
pub(super) async fn run_attempt(
    calls: &TaskCalls,
    clients: Option<&dyn TaskClients>,
    task: ClaimedTask,
    stop: CancellationToken,
    progress: Arc<TaskProgress>,
) -> Ended {
    let id = task.row.id;
    match call(calls, clients, task, stop, progress) {
        Ok(Call {
            request,
            state,
            definition,
        }) => {
            let (method, history) = (request.operation.clone(), state.history.clone());
            let attempt = calls.dispatcher.dispatch_task(*request, state).await;
            after(calls, attempt, &method, history, (id, &definition))
        }
        Err(ended) => *ended,
    }
}

/// The call of a task: all that stays in memory while it runs.
struct Call {
    request: Box<CallRequest>,
    state: TaskState,
    /// Without its inputs, unless they have references.
    definition: Box<Definition>,
}

/// What a task calls, or how it ended without a call. A task without an operation only groups others.
fn call(
    calls: &TaskCalls,
    clients: Option<&dyn TaskClients>,
    mut task: ClaimedTask,
    stop: CancellationToken,
    progress: Arc<TaskProgress>,
) -> Result<Call, Box<Ended>> {
    let contents = std::mem::take(&mut task.contents);
    let mut definition = Definition::from_text(&contents.definition)
        .map_err(|error| refused(calls, "", unreadable(&error)))?;
    if definition.origin.needs_completed() {
        return Err(stand_in(calls, contents.original, &definition).into());
    }
    let Some(schemas) = &definition.schemas else {
        let result = "{}".into();
        return Err(Ended::With(Ending::Completed { result }).into());
    };
    let method = schemas.method().to_owned();
    check_method(calls, &task, &method)?;
    let authority = contents.authority.as_deref().map(Authority::from_text);
    let owner = authority.as_ref().map(Authority::state_owner);
    let caller = authority.and_then(Authority::into_identity);
    let request = CallRequest {
        origin: origin(&method),
        caller: caller.clone(),
        ..CallRequest::from_wire(&method, Value::Null)
    };
    let (inputs, options) = match prepared(contents, &mut definition) {
        Ok(prepared) => prepared,
        Err(failure) => {
            let task = (task.row.id, &definition);
            return Err(not_called(calls, request, task, failure).into());
        }
    };
    let service_key = service_key(&task);
    let scope = scope(service_key.as_ref(), &method, caller.as_deref());
    let state = state(&task, &definition, scope);
    // A caller that runs a task again, or a copy of it, wants the call to be made again.
    let is_first = is_first_run(&task, definition.origin);
    let request = CallRequest {
        input: Value::Object(inputs).into(),
        owner: owner.unwrap_or_default(),
        key: options.key.filter(|_| is_first),
        service_key,
        timeout_ms: options.timeout_ms.map(NonZeroU64::get),
        abort: Some(stop),
        progress: Some(progress),
        client: client(clients, &task, &definition),
        ..request
    };
    Ok(Call {
        request: Box::new(request),
        state,
        definition: Box::new(definition),
    })
}

/// Whether a task may call an operation that this process offers.
fn check_method(calls: &TaskCalls, task: &ClaimedTask, method: &str) -> Result<(), Box<Ended>> {
    if let Some(failure) = refused_method(method) {
        return Err(refused(calls, method, failure).into());
    }
    if calls
        .dispatcher
        .with_registry(|it| it.get(method).is_none())
    {
        return Err(not_offered(calls, task, method).into());
    }
    Ok(())
}

/// The input and the options of the call.
fn prepared(
    contents: Contents,
    definition: &mut Definition,
) -> Result<(Map<String, Value>, TaskCallOptions), Failure> {
    let options = call_options(definition)?;
    Ok((inputs(contents, definition)?, options))
}

fn state(task: &ClaimedTask, definition: &Definition, scope: Option<Scope>) -> TaskState {
    TaskState {
        history: history(task),
        scope,
        policy: definition.retry,
        abandoned: task.was_abandoned.then_some(task.row.run.recoveries),
    }
}

/// The client that created the task, if it answers questions.
fn client(
    clients: Option<&dyn TaskClients>,
    task: &ClaimedTask,
    definition: &Definition,
) -> Option<Arc<dyn AskClient>> {
    let params = definition.params.as_ref()?;
    clients?.client(task.row.id, task.row.owner.as_deref(), params)
}

/// How the task goes on after an attempt.
fn after(
    calls: &TaskCalls,
    attempt: TaskAttempt,
    method: &str,
    history: Vec<Attempt>,
    (id, definition): (TaskId, &Definition),
) -> Ended {
    if let Some(after_ms) = attempt.retry_after_ms {
        let history: Vec<Attempt> = history.into_iter().chain(attempt.attempt).collect();
        let history = serde_json::to_string(&history).unwrap_or_default().into();
        return Ended::Retry { after_ms, history };
    }
    let mut answer = attempt.answer;
    let (extra, retries) = (answer.extra.take(), retries(&history));
    match answer.into_value() {
        Ok(output) => match completed(&output, extra.as_deref()) {
            Ok(ended) => {
                calls.note(method, retries, None);
                ended
            }
            Err(failure) => refused(calls, method, failure),
        },
        Err(failure) => {
            calls.note(method, retries, Some(&failure));
            failed(method, &advised(failure, id, definition), extra.as_deref())
        }
    }
}

/// How many attempts were made before the last one.
fn retries(history: &[Attempt]) -> u32 {
    let made = history.iter().filter(|it| !it.refused_by_circuit).count();
    u32::try_from(made).unwrap_or(u32::MAX)
}

/// The options of the call. Those of a stored task are valid unless an earlier version stored it.
fn call_options(definition: &Definition) -> Result<TaskCallOptions, Failure> {
    TaskCallOptions::of(definition.params.as_ref()).map_err(|violations| {
        let violations = violations.into_iter().map(|mut it| {
            it.pointer.insert_str(0, "/params");
            it
        });
        Failure::new(codes::INVALID_INPUT_ERROR)
            .with_message("the options of the call are not valid")
            .with_violations(violations)
    })
}

fn is_first_run(task: &ClaimedTask, origin: Provenance) -> bool {
    task.row.run.generation == 1 && origin == Provenance::default()
}

/// Only the engine makes tasks that call an internal operation.
pub(super) fn origin(method: &str) -> Origin {
    match method {
        NOTIFY => Origin::Internal,
        _ => Origin::Wire,
    }
}

/// The inputs with the results that they refer to, checked against the schema of the task.
fn inputs(contents: Contents, definition: &mut Definition) -> Result<Map<String, Value>, Failure> {
    if !may_have_references(&contents.definition) {
        return Ok(std::mem::take(&mut definition.inputs));
    }
    if let Some(bytes) = contents.oversized_results {
        return Err(ReferenceError::ResultsTooLarge { bytes }.into());
    }
    let inputs = match resolve_stored(&definition.inputs, &contents.results) {
        Ok(inputs) => inputs,
        Err(Unresolved::Reference(error)) => return Err(error.into()),
        Err(Unresolved::Unreadable(error)) => return Err(unreadable(&error)),
    };
    let violations = input_violations(definition, &inputs);
    if violations.is_empty() {
        return Ok(inputs);
    }
    let failure = Failure::new(codes::INVALID_INPUT_ERROR)
        .with_message("the resolved inputs do not match the input_schema of the task");
    Err(violations
        .into_iter()
        .fold(failure, Failure::with_violation))
}

fn history(task: &ClaimedTask) -> Vec<Attempt> {
    let history = task.history.as_deref().map(serde_json::from_str);
    history.and_then(Result::ok).unwrap_or_default()
}

/// The key of the call: one for each generation of a task. A failure names it, and the service recognises a direct call
/// with it as the same one.
fn service_key(task: &ClaimedTask) -> Option<IdempotencyKey> {
    let (id, generation) = (task.row.id, task.row.run.generation);
    let key = match generation {
        0 | 1 => format!("task-{id}"),
        _ => format!("task-{id}-{generation}"),
    };
    IdempotencyKey::new(&key).ok()
}

/// The scope of the key that the service gets.
fn scope(key: Option<&IdempotencyKey>, method: &str, caller: Option<&Identity>) -> Option<Scope> {
    let operation = OperationName::new(method.trim_start_matches('/')).ok()?;
    Some(Scope::of(caller.map(|it| it.id.as_str()), &operation, key?))
}

/// The end of a task with this output, unless it is too large to be kept.
fn completed(output: &Value, extra: Option<&Value>) -> Result<Ended, Failure> {
    let result = output.to_string();
    if result.len() > RESULT_BYTES_LIMIT {
        return Err(Failure::new(codes::ERR_OUTCOME_TOO_LARGE)
            .with_message(format!(
                "the task succeeded, but its result has {} bytes and at most {RESULT_BYTES_LIMIT} are kept",
                result.len()
            ))
            .with_effect(Effect::Applied));
    }
    let result = kept_text(&result, extra, RESULT_BYTES_LIMIT).into();
    Ok(Ended::With(Ending::Completed { result }))
}

pub(super) fn failed(method: &str, failure: &Redacted, extra: Option<&Value>) -> Ended {
    let (code, message) = (failure.code(), failure.message());
    let error = match method {
        "" => format!("{code}: {message}"),
        method => format!("{method} failed with {code}: {message}"),
    };
    let failure = serde_json::to_string(failure).unwrap_or_default();
    Ended::With(Ending::Failed {
        error: error.into(),
        failure: kept_text(&failure, extra, RESULT_BYTES_LIMIT).into(),
    })
}
