//! Writes stored tasks as the protocol shows them.

use panpan_failure::{Failure, codes};
use panpan_runtime::untyped;
use serde_json::{Value, json};

use crate::engine::{Fields, FoundTask};
use crate::kept::read_kept;
use crate::ports::{Ending, StoredOutcome};
use crate::state::State;
use crate::step::Queued;
use crate::task::{Definition, Phase, TaskView, result_object};

/// The members that a summary does not have.
const NOT_IN_SUMMARY: [&str; 3] = ["inputs", "params", "result"];

/// The task object.
pub(super) fn task(found: &FoundTask, fields: Fields) -> Result<Value, Failure> {
    let definition = Definition::from_text(&found.definition).map_err(|error| untyped(&error))?;
    let texts = Texts::of(found.outcome.as_ref());
    let view = TaskView {
        id: found.row.id,
        parent: found.parent,
        root: found.root,
        definition: &definition,
        dependencies: &found.dependencies,
        phase: phase(found, &texts)?,
        progress: found.row.run.progress,
        generation: found.row.run.generation,
        attempts: found.row.run.attempts,
        created_at: found.row.created_at,
        updated_at: found.row.run.updated_at,
        has_references: found.row.has_references,
    };
    let mut task = view.to_value();
    if let (Fields::Summary, Some(members)) = (fields, task.as_object_mut()) {
        members.retain(|name, _| !NOT_IN_SUMMARY.contains(&name.as_str()));
    }
    Ok(task)
}

/// What the task object does not show of an outcome: what was returned beside it, and whether its result is wrapped
/// because the output is not an object. For protocols that answer with the call of the task.
pub(super) fn beside(outcome: Option<&Ending>) -> Option<Value> {
    let text = match outcome? {
        Ending::Completed { result } => result,
        Ending::Failed { failure, .. } => failure,
        Ending::Cancelled { .. } => return None,
    };
    let kept = read_kept(text).ok()?;
    let is_wrapped = !kept.value.is_object();
    let has_any = is_wrapped || kept.extra.is_some();
    has_any.then(|| json!({"task": {"is_wrapped": is_wrapped, "extra": kept.extra}}))
}

/// The parsed parts of an outcome.
#[derive(Default)]
struct Texts {
    result: Value,
    error: String,
    failure: Option<Value>,
}

impl Texts {
    /// What cannot be read is null: it must not hide the rest of the task, or other tasks of a list.
    fn of(ending: Option<&Ending>) -> Self {
        let read = |text: &str| {
            let value = read_kept(text).map(|it| it.value);
            value.inspect_err(|error| tracing::warn!(%error, "a stored outcome cannot be read"))
        };
        match ending {
            None => Self::default(),
            Some(Ending::Completed { result }) => Self {
                result: read(result).unwrap_or_default(),
                ..Self::default()
            },
            Some(Ending::Failed { error, failure }) => Self {
                error: error.to_string(),
                failure: read(failure).ok(),
                ..Self::default()
            },
            Some(Ending::Cancelled { error }) => Self {
                error: error.to_string(),
                ..Self::default()
            },
        }
    }
}

fn phase<'a>(found: &'a FoundTask, texts: &'a Texts) -> Result<Phase<'a>, Failure> {
    let run = &found.row.run;
    let retry_at = match run.queued {
        Queued::At(at) if !run.is_held => Some(at),
        _ => None,
    };
    // A task that is in progress or has ended without a time is a damaged row.
    let damaged = || Failure::new(codes::INTERNAL).with_message("the stored task is damaged");
    let started = || run.started_at.ok_or_else(damaged);
    let completed = || run.completed_at.ok_or_else(damaged);
    let (error, failure) = (texts.error.as_str(), texts.failure.as_ref());
    Ok(match run.state {
        State::Pending => Phase::Pending {
            blocked_by: &found.blocked_by,
            retry_at,
        },
        State::InProgress => Phase::InProgress {
            started_at: started()?,
            retry_at,
        },
        State::Completed => Phase::Completed {
            started_at: started()?,
            completed_at: completed()?,
            output: &texts.result,
        },
        State::Failed => Phase::Failed {
            started_at: run.started_at,
            completed_at: completed()?,
            error,
            failure,
        },
        State::Cancelled => Phase::Cancelled {
            started_at: run.started_at,
            completed_at: completed()?,
            error: Some(error),
            failure,
        },
    })
}

/// The outcome of one generation.
pub(super) fn outcome(outcome: &StoredOutcome) -> Result<Value, Failure> {
    let texts = Texts::of(Some(&outcome.ending));
    let state = outcome.ending.state();
    let result = match state {
        State::Completed => result_object(&texts.result).into_owned(),
        _ => Value::Null,
    };
    Ok(json!({
        "generation": outcome.generation,
        "status": state.word(),
        "completed_at": outcome.at,
        "attempts": outcome.attempts,
        "result": result,
        "error": Some(texts.error).filter(|_| state != State::Completed),
        "failure": texts.failure,
    }))
}
