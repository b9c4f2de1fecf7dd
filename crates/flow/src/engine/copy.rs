//! Copies a task, alone or with the tasks below it, as the root of a new flow.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use panpan_failure::Violation;
use panpan_runtime::ports::Ids;

use super::archive::{changed, is_changed};
use super::caller::Caller;
use super::create::{Created, Release, add};
use super::view::{FoundTask, find, tree_definitions};
use crate::error::TaskError;
use crate::plan::{About, PlanError, PlanProblem, ProblemKind, Problems};
use crate::ports::Rows;
use crate::references::{Reference, redirect, visit_references};
use crate::state::State;
use crate::task::{
    Definition, Dependency, NewTask, Provenance, ReadTask, RequestPlace, TaskId, Unread,
};

/// The most tasks that are copied at once: other writers wait meanwhile.
pub const COPY_TASKS_LIMIT: usize = 10_000;

/// The most bytes of definitions that are copied at once.
pub const COPY_BYTES_LIMIT: usize = 16 * 1024 * 1024;

/// Copies a task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    pub(crate) id: TaskId,
    /// Whether all tasks below it are copied, too.
    pub(crate) with_children: bool,
    /// What the copies are.
    pub(crate) origin: fn(TaskId) -> Provenance,
}

/// A copied task.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Copied {
    pub(crate) root: TaskId,
    pub(crate) state: State,
    /// The dependencies on tasks that are not part of the copy, with the copies that had them.
    pub(crate) dropped: Vec<(TaskId, Dependency)>,
}

/// Copies a task. The originals only learn that they have copies.
pub(crate) async fn copy(
    rows: &mut dyn Rows,
    caller: &Caller,
    command: Copy,
    ids: &dyn Ids,
) -> Result<Copied, TaskError> {
    let visible = &caller.visible;
    let originals = match command.with_children {
        true => {
            let id = command.id;
            let limits = (COPY_TASKS_LIMIT, COPY_BYTES_LIMIT);
            let tree = tree_definitions(rows, visible, id, limits.0, limits.1).await?;
            tree.ok_or(TaskError::CopyTooLarge(id))?
        }
        false => vec![find(rows, visible, command.id).await?],
    };
    let new_id = |found: &FoundTask| (found.row.id, TaskId::from_random(ids.new_id()));
    let copies = Copies {
        ids: originals.iter().map(new_id).collect(),
        origin: command.origin,
    };
    let mut dropped = Vec::new();
    let mut problems = Problems::default();
    let mut tasks = Vec::with_capacity(originals.len());
    for original in &originals {
        let definition = Definition::of_stored(&original.definition)?;
        copies.check_references(original, &definition, &mut problems);
        let is_archive = matches!((command.origin)(original.row.id), Provenance::Archive(_));
        if is_archive && is_changed(&definition, original.row.run.generation) {
            let kind = ProblemKind::Schema;
            problems.note(kind, || changed(original.row.id, "/task_id".to_owned()));
        }
        tasks.push(copies.task(original, definition, &mut dropped));
    }
    problems.or_err(|| ())?;
    // The schemas were checked with the originals.
    let known = Problems::default();
    let created = add(rows, caller, tasks, known, Release::Later).await;
    let created: Created = created.map_err(|error| match error {
        TaskError::Plan(error) => TaskError::Plan(copies.about_originals(error)),
        other => other,
    })?;
    let root = created.root;
    let state = created.state(root);
    Ok(Copied {
        root,
        state,
        dropped,
    })
}

/// The new ids of copied tasks.
struct Copies {
    ids: BTreeMap<TaskId, TaskId>,
    origin: fn(TaskId) -> Provenance,
}

impl Copies {
    fn new_id(&self, original: TaskId) -> Option<TaskId> {
        self.ids.get(&original).copied()
    }

    /// The problems of copies, which do not exist, as problems of their originals.
    fn about_originals(&self, error: PlanError) -> PlanError {
        let originals = self.ids.iter().map(|(original, copy)| (*copy, *original));
        let originals: BTreeMap<TaskId, TaskId> = originals.collect();
        error.map(|mut problem| {
            let original = problem.task.and_then(|copy| originals.get(&copy).copied());
            let named = original.map_or_else(String::new, |id| format!(" of task {id}"));
            let violation = &mut problem.violation;
            violation.reason = format!("{}{named}: {}", violation.pointer, violation.reason);
            violation.pointer = "/task_id".to_owned();
            problem.task = original;
            problem
        })
    }

    /// An input cannot refer to the result of a task that is not part of the copy, unless the copy never runs.
    fn check_references(
        &self,
        original: &FoundTask,
        definition: &Definition,
        problems: &mut Problems,
    ) {
        let (task, root) = (original.row.id, original.root);
        if (self.origin)(task).needs_completed() {
            return;
        }
        let _ = visit_references(&definition.inputs, |found| {
            if let Ok(reference) = found.read()
                && !self.ids.contains_key(&reference.task)
            {
                let kind = ProblemKind::Dependency;
                problems.note(kind, || outside(task, root, &found.pointer(), &reference));
            }
            ControlFlow::<()>::Continue(())
        });
    }

    fn task(
        &self,
        original: &FoundTask,
        mut definition: Definition,
        dropped: &mut Vec<(TaskId, Dependency)>,
    ) -> ReadTask {
        let old = original.row.id;
        let id = self.new_id(old).expect("every copied task has a new id");
        let mut dependencies = Vec::new();
        for dependency in original.dependencies.iter().copied() {
            match self.new_id(dependency.id) {
                Some(id) => dependencies.push(Dependency { id, ..dependency }),
                None => dropped.push((id, dependency)),
            }
        }
        redirect(&mut definition.inputs, &|it| self.new_id(it));
        definition.origin = (self.origin)(old);
        // The copy is another flow, perhaps of another caller.
        definition.webhook = None;
        definition.changed_after = None;
        ReadTask {
            task: NewTask {
                id,
                parent: original.parent.and_then(|it| self.new_id(it)),
                dependencies,
                definition,
            },
            place: RequestPlace::Only,
            id_is_given: false,
            unread: Unread::default(),
        }
    }
}

/// The problem with a reference in the inputs of a task to one that is not copied.
fn outside(task: TaskId, root: TaskId, pointer: &str, reference: &Reference) -> PlanProblem {
    let reason = format!(
        "the inputs of task {task} refer at {pointer} to a task that is not copied with it"
    );
    let violation = Violation::value("/task_id", reason)
        .expected(format!(
            "{root}, the root of the flow, with copy_children: true, which copies both"
        ))
        .actual(reference.task.to_string());
    let action = format!(
        "Call tasks/copy with task_id {root} and copy_children true, which copies the whole flow; or with origin_type \
         link or archive to keep the result without running the task"
    );
    PlanProblem::new(ProblemKind::Dependency, task, violation).about(About::Advice(action))
}
