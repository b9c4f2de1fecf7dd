//! Archives: tasks that have the inputs and the result that their original had when they were added, and never run.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use panpan_failure::Violation;
use panpan_runtime::ports::StoreError;

use super::caller::Caller;
use crate::plan::{About, PlanProblem, ProblemKind, Problems};
use crate::ports::{Key, NewRow, Row, Rows, StoredOutcome};
use crate::state::State;
use crate::step::Run;
use crate::task::{Definition, NewTask, Provenance, ReadTask, TaskId, is_archive};

/// How many results or definitions are read at once.
const READ_AT_ONCE: usize = 32;

/// The original of an archive.
fn archived(task: &NewTask) -> Option<TaskId> {
    match task.definition.origin {
        Provenance::Archive(original) => Some(original),
        Provenance::Create | Provenance::Link(_) | Provenance::Copy(_) => None,
    }
}

/// Gives new archives the inputs of their originals. A client may repeat these, but state no others.
pub(super) async fn take_inputs(
    rows: &mut dyn Rows,
    caller: &Caller,
    tasks: &mut [ReadTask],
    problems: &mut Problems,
) -> Result<(), StoreError> {
    let originals: BTreeSet<TaskId> = tasks.iter().filter_map(|it| archived(&it.task)).collect();
    let originals: Vec<TaskId> = originals.into_iter().collect();
    let mut found = rows.find(&originals).await?;
    found.retain(|row| caller.visible.includes(row));
    let originals: BTreeMap<Key, &Row> = found.iter().map(|row| (row.key, row)).collect();
    let keys: Vec<Key> = originals.keys().copied().collect();
    for some in keys.chunks(READ_AT_ONCE) {
        for stored in rows.definitions(some).await? {
            let original = Definition::from_text(&stored.text).map_err(|_| StoreError::Damaged)?;
            let row = originals.get(&stored.key).ok_or(StoreError::Damaged)?;
            let of_this = |it: &&mut ReadTask| archived(&it.task) == Some(row.id);
            for archive in tasks.iter_mut().filter(of_this) {
                if is_changed(&original, row.run.generation) {
                    let pointer = archive.place.member("original_task_id");
                    problems.note(ProblemKind::Schema, || changed(row.id, pointer));
                }
                take_inputs_of(archive, &original, problems);
            }
        }
    }
    Ok(())
}

/// Whether the inputs or the operation of a task were changed after it completed: its result is not theirs.
pub(super) fn is_changed(definition: &Definition, generation: u32) -> bool {
    definition.changed_after == Some(generation)
}

/// The problem with an archive of such a task: it would record what never happened.
pub(super) fn changed(task: TaskId, pointer: String) -> PlanProblem {
    let reason = format!(
        "task {task} was changed after it completed, so its result is not that of its inputs"
    );
    let violation = Violation::value(pointer, reason)
        .expected("a task that has not been changed since it completed");
    let action = format!("Call tasks/execute with {task}, then archive it when it has completed");
    PlanProblem::new(ProblemKind::Schema, task, violation).about(About::Advice(action))
}

fn take_inputs_of(archive: &mut ReadTask, original: &Definition, problems: &mut Problems) {
    let inputs = &mut archive.task.definition.inputs;
    if inputs.is_empty() {
        inputs.clone_from(&original.inputs);
    }
    if *inputs != original.inputs {
        let kind = ProblemKind::Schema;
        let (task, pointer) = (archive.task.id, archive.place.member("inputs"));
        problems.note(kind, || {
            let reason = "an archive has the inputs of its original";
            let violation = Violation::value(pointer, reason);
            let expected = "the inputs of the original, or none; a copy may have other inputs";
            PlanProblem::new(kind, task, violation.expected(expected))
        });
    }
}

/// The ids of archives among new tasks.
pub(super) fn archives(tasks: &[NewTask]) -> BTreeSet<TaskId> {
    let archives = tasks.iter().filter(|it| archived(it).is_some());
    archives.map(|it| it.id).collect()
}

/// The run of a new archive: it is completed from the start.
pub(super) fn completed(run: Run, now: Timestamp) -> Run {
    Run {
        state: State::Completed,
        progress: 1.0,
        started_at: Some(now),
        completed_at: Some(now),
        ..run
    }
}

/// Keeps the results of the originals as those of new archives.
pub(super) async fn take_results(
    rows: &mut dyn Rows,
    tasks: &[NewTask],
    new: &[NewRow],
    known: &BTreeMap<TaskId, Row>,
) -> Result<(), StoreError> {
    let archives = tasks.iter().zip(new).filter_map(|(task, new)| {
        let original = known.get(&archived(task)?)?;
        Some((new.row.key, original.key))
    });
    let archives: Vec<(Key, Key)> = archives.collect();
    let now = rows.now();
    for some in archives.chunks(READ_AT_ONCE) {
        let originals: BTreeSet<Key> = some.iter().map(|(_, original)| *original).collect();
        let originals: Vec<Key> = originals.into_iter().collect();
        let outcomes = rows.outcomes(&originals).await?.into_iter();
        let outcomes: BTreeMap<Key, StoredOutcome> = outcomes.map(|it| (it.key, it)).collect();
        let kept = some.iter().map(|(key, original)| {
            let outcome = outcomes.get(original).ok_or(StoreError::Damaged)?;
            Ok(StoredOutcome {
                key: *key,
                generation: 1,
                at: now,
                attempts: 0,
                ending: outcome.ending.clone(),
            })
        });
        rows.keep(&kept.collect::<Result<Vec<_>, StoreError>>()?)
            .await?;
    }
    Ok(())
}

/// Those of these tasks that are archives with a result: nothing replaces it.
pub(super) async fn kept_archives(
    rows: &mut dyn Rows,
    tasks: &[Row],
) -> Result<BTreeSet<Key>, StoreError> {
    let may_be = |row: &&Row| row.operation.is_none() && row.run.state == State::Completed;
    let keys: Vec<Key> = tasks.iter().filter(may_be).map(|row| row.key).collect();
    let mut archives = BTreeSet::new();
    for some in keys.chunks(READ_AT_ONCE) {
        let stored = rows.definitions(some).await?.into_iter();
        let stored = stored.filter(|it| is_archive(&it.text));
        archives.extend(stored.map(|it| it.key));
    }
    Ok(archives)
}
