//! The actions of each refusal can be followed.

use uuid::Uuid;

use super::*;
use crate::plan::{PlanProblem, ProblemKind};

fn id(number: u128) -> TaskId {
    TaskId::from_random(Uuid::from_u128(number))
}

fn blockers(are_pending: bool) -> Blockers {
    Blockers {
        tasks: vec![id(2)],
        are_pending,
    }
}

/// Every refusal, with words of what to do, and words that would be wrong advice.
fn refusals() -> Vec<(TaskError, &'static str, &'static [&'static str])> {
    let task = id(1);
    let not_owned = |is_anonymous| TaskError::NotOwned { task, is_anonymous };
    let executing = |state| TaskError::AlreadyExecuting { task, state };
    let delete = |obstacle| TaskError::CannotDelete { task, obstacle };
    let between = |current, requested| TaskError::Transition {
        task,
        transition: Transition::new(current, requested),
        reason: "not allowed".to_owned(),
    };
    let from = |current| between(current, State::InProgress);
    let cancel = |current| between(current, State::Cancelled);
    let violation = Violation::value("/name", "empty").expected("a name");
    let plan = PlanError::one(PlanProblem::new(ProblemKind::Schema, task, violation));
    let not_pending = |state| delete(Obstacle::State(state));
    let unsatisfied = |runs| TaskError::Unsatisfied {
        task,
        unsatisfied: vec![Unsatisfied {
            id: id(2),
            state: State::Pending,
            required: true,
            runs,
        }],
    };
    vec![
        (TaskError::NotFound(task), "List the tasks", &[]),
        (not_owned(false), "tasks/list", &["token"]),
        (
            not_owned(true),
            "bearer token of the caller who created",
            &[],
        ),
        (
            TaskError::NotCallable {
                task,
                operation: "vault/open".into(),
            },
            "schemas.method of the task with tasks/update",
            &[],
        ),
        (
            from(State::Pending),
            "Run the task with tasks/execute",
            &["again"],
        ),
        (
            from(State::InProgress),
            "Wait until the task has ended",
            &["copy"],
        ),
        (from(State::Failed), "again with tasks/execute", &["Cancel"]),
        (
            from(State::Completed),
            "again with tasks/execute",
            &["ancel"],
        ),
        (
            from(State::Cancelled),
            "again with tasks/execute",
            &["ancel"],
        ),
        (cancel(State::Completed), "Leave the task", &["tasks/"]),
        (cancel(State::Failed), "Leave the task", &["tasks/"]),
        (cancel(State::Cancelled), "Leave the task", &["tasks/"]),
        (
            unsatisfied(false),
            "tasks in unsatisfied with tasks/execute",
            &["Wait"],
        ),
        (
            unsatisfied(true),
            "Wait until the tasks in unsatisfied",
            &["tasks/execute first"],
        ),
        (executing(State::InProgress), "tasks/get", &[]),
        (executing(State::Pending), "tasks/get", &[]),
        (
            TaskError::InProgress {
                task,
                members: vec!["name".to_owned()],
            },
            "Wait until the task has ended",
            &["Follow"],
        ),
        (TaskError::Archived(task), "tasks/copy", &[]),
        (
            not_pending(State::InProgress),
            "Cancel the task",
            &["Delete"],
        ),
        (
            not_pending(State::Completed),
            "Keep the task",
            &["ancel", "Delete"],
        ),
        (
            not_pending(State::Failed),
            "Keep the task",
            &["ancel", "Delete"],
        ),
        (
            not_pending(State::Cancelled),
            "Keep the task",
            &["ancel", "Delete"],
        ),
        (
            delete(Obstacle::Children(blockers(true))),
            "delete_first",
            &[],
        ),
        (
            delete(Obstacle::Dependents(blockers(true))),
            "delete_first",
            &[],
        ),
        (
            delete(Obstacle::Children(blockers(false))),
            "Cancel the task",
            &["Delete"],
        ),
        (
            delete(Obstacle::Dependents(blockers(false))),
            "Cancel the task",
            &["Delete"],
        ),
        (
            TaskError::TreeTooLarge { task, tasks: 3 },
            "tasks/list and root_task_id",
            &[],
        ),
        (plan.into(), "Correct the listed fields", &[]),
    ]
}

#[test]
fn every_action_fits_and_names_only_operations_that_exist() {
    let specs = include_str!("../operations/specs.rs");
    for (error, expected, wrong) in refusals() {
        let message = error.to_string();
        let failure = Failure::from(error);
        let recovery = failure.recovery();
        let alternatives = recovery.alternatives.iter();
        let alternatives = alternatives.map(|it| it.description.as_str());
        let actions = recovery.required_actions.iter().map(String::as_str);
        let advice: Vec<&str> = actions.chain(alternatives).collect();
        assert!(advice[0].contains(expected), "{message}: {advice:?}");
        for word in wrong {
            let is_wrong = advice.iter().any(|it| it.contains(word));
            assert!(!is_wrong, "{word}: {message}: {advice:?}");
        }
        let words = advice.iter().flat_map(|it| it.split([' ', ':', ',']));
        for operation in words.filter(|it| it.starts_with("tasks/")) {
            assert!(specs.contains(&format!("\"{operation}\"")), "{operation}");
        }
    }
}

#[test]
fn a_task_that_is_queued_is_not_said_to_run() {
    for (state, word) in [(State::Pending, "queued"), (State::InProgress, "executing")] {
        let task = id(1);
        let failure = Failure::from(TaskError::AlreadyExecuting { task, state });
        assert_eq!(failure.details().unwrap()["current_status"], state.word());
        assert!(failure.message().contains(word), "{}", failure.message());
    }
}
