//! Limits, and plans as large as they allow.

use serde_json::{Value, json};

use super::{Shop, id, plan, shown, task, tasks};
use crate::plan::*;
use crate::references::REFERENCES_LIMIT;
use crate::task::{Definition, Dependency, RequestPlace, Unread};

#[test]
fn problems_beyond_the_limit_are_counted() {
    let list = |count: usize| {
        let bad = (0..count).map(|it| task(10_000 + it as u128, Some(1), &[9]));
        tasks([task(1, None, &[])].into_iter().chain(bad))
    };
    let at_limit = plan(&list(PROBLEMS_LIMIT)).unwrap_err();
    assert_eq!(at_limit.problems().len(), PROBLEMS_LIMIT);
    assert_eq!(shown(at_limit)["data"]["problems_not_listed"], Value::Null);
    let above = plan(&list(PROBLEMS_LIMIT + 1)).unwrap_err();
    assert_eq!(above.problems().len(), PROBLEMS_LIMIT);
    assert_eq!(
        (
            above.count(),
            shown(above)["data"]["problems_not_listed"].clone()
        ),
        (51, json!(1))
    );
}

fn new_task(number: usize, parent: Option<usize>, dependencies: Vec<usize>) -> ReadTask {
    let id = |number: usize| id(number as u128);
    let dependency = |number| Dependency {
        id: id(number),
        required: true,
    };
    ReadTask {
        task: NewTask {
            id: id(number),
            parent: parent.map(id),
            dependencies: dependencies.into_iter().map(dependency).collect(),
            definition: Definition::new("a").unwrap(),
        },
        place: RequestPlace::Item(number),
        id_is_given: false,
        unread: Unread::default(),
    }
}

fn validated(tasks: Vec<ReadTask>) -> Result<Plan, PlanError> {
    Plan::new(tasks, &|_: TaskId| None, &Shop)
}

fn parent_of(number: usize) -> Option<usize> {
    (number > 0).then_some(0)
}

#[test]
fn dependencies_are_limited_per_task_and_in_all() {
    let first = DEPENDENCIES_LIMIT;
    let plain = || (0..=first).map(|it| new_task(it, parent_of(it), Vec::new()));
    let depending = |count: usize, dependencies: usize| {
        let numbers = (0..count).map(move |it| first + 1 + it);
        numbers.map(move |it| new_task(it, Some(0), (0..dependencies).collect()))
    };
    let full = TOTAL_DEPENDENCIES_LIMIT / DEPENDENCIES_LIMIT;
    let at_both: Vec<_> = plain().chain(depending(full, DEPENDENCIES_LIMIT)).collect();
    let mut above_total = at_both.clone();
    above_total.push(new_task(first + full + 1, Some(0), vec![0]));
    assert!(validated(at_both).is_ok());
    let error = validated(above_total).unwrap_err();
    assert_eq!((error.kind(), error.count()), (ProblemKind::Malformed, 1));
    assert_eq!(error.problems()[0].violation.pointer, "/tasks");
    let above_one = plain()
        .chain(depending(1, DEPENDENCIES_LIMIT + 1))
        .collect();
    let error = validated(above_one).unwrap_err();
    assert_eq!((error.kind(), error.count()), (ProblemKind::Malformed, 1));
    let pointer = &error.problems()[0].violation.pointer;
    assert_eq!(*pointer, format!("/tasks/{}/dependencies", first + 1));
}

#[test]
fn tasks_are_limited() {
    let list = |count| {
        (0..count)
            .map(|it| new_task(it, parent_of(it), Vec::new()))
            .collect()
    };
    assert_eq!(
        validated(list(TASKS_LIMIT)).unwrap().tasks().len(),
        TASKS_LIMIT
    );
    let error = validated(list(TASKS_LIMIT + 1)).unwrap_err();
    assert_eq!((error.kind(), error.count()), (ProblemKind::Malformed, 1));
}

#[test]
fn levels_of_a_tree_are_limited() {
    let below = |it: usize| it.checked_sub(1);
    let chain = |count: usize| -> Vec<ReadTask> {
        let tasks = (0..count).map(|it| new_task(it, below(it), Vec::new()));
        // Parents may follow their children.
        tasks.rev().collect()
    };
    assert!(validated(chain(TREE_LEVELS_LIMIT)).is_ok());
    let error = validated(chain(TREE_LEVELS_LIMIT + 2)).unwrap_err();
    assert_eq!((error.kind(), error.count()), (ProblemKind::Tree, 2));
    let error = shown(error);
    assert_eq!(error["code"], json!(-32012));
    assert_eq!(error["data"]["reason"], "the tree has too many levels");
    assert!(error.to_string().contains("level 50"), "{error}");
    // Below a task that exists already.
    assert!(plan(&task(1, Some(150), &[])).is_ok());
    let joined = tasks([task(1, Some(150), &[]), task(2, Some(1), &[])]);
    assert_eq!(plan(&joined).unwrap_err().kind(), ProblemKind::Tree);
}

/// A thread of a test has a small stack: recursion over the chain would overflow it.
#[test]
fn the_longest_chain_and_the_longest_cycle_do_not_overflow_the_stack() {
    let last = TASKS_LIMIT - 1;
    let below = |it: usize| it.checked_sub(1);
    let chain = |closing: Vec<usize>| {
        let mut tasks: Vec<ReadTask> = (0..=last)
            .map(|it| new_task(it, parent_of(it), below(it).into_iter().collect()))
            .collect();
        tasks[0] = new_task(0, None, closing);
        tasks
    };
    assert!(validated(chain(Vec::new())).is_ok());
    let error = validated(chain(vec![last])).unwrap_err();
    let data = shown(error)["data"].clone();
    assert_eq!(data["cycle_length"], json!(TASKS_LIMIT));
    let cycle = data["cycle"].as_array().unwrap();
    assert_eq!(cycle.len(), LISTED_IDS_LIMIT);
    assert_eq!(cycle.first(), cycle.last());
    // A loop of parents of the same length.
    let parents = (0..=last).map(|it| new_task(it, below(it), Vec::new()));
    let mut tasks: Vec<ReadTask> = parents.collect();
    tasks[0] = new_task(0, Some(last), Vec::new());
    assert_eq!(validated(tasks).unwrap_err().kind(), ProblemKind::Tree);
}

#[test]
fn references_of_a_task_are_limited() {
    let referring = |count: usize| {
        let mut task = new_task(1, Some(0), vec![2]);
        let reference = json!({"$from": id(2)});
        let references = Value::Array(vec![reference; count]);
        task.task
            .definition
            .inputs
            .insert("all".to_owned(), references);
        let others = [
            new_task(0, None, Vec::new()),
            new_task(2, Some(0), Vec::new()),
        ];
        others.into_iter().chain([task]).collect()
    };
    assert!(validated(referring(REFERENCES_LIMIT)).is_ok());
    let error = validated(referring(REFERENCES_LIMIT + 1)).unwrap_err();
    assert_eq!((error.kind(), error.count()), (ProblemKind::Malformed, 1));
    assert_eq!(error.problems()[0].violation.pointer, "/tasks/1/inputs");
}
