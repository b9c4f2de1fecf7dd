//! Ctrl-C while a flow is watched.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command};

use panpan_testkit::{signal, until};
use serde_json::json;

use crate::{Place, id, task};

/// A command that watches a task which takes long.
fn watching(place: &Place, arguments: &[&str]) -> Child {
    let wait = task(1, "wait", "demo/wait", json!({"ms": 600_000}));
    let file = place.folder.file("flow.json", wait.to_string());
    let mut command: Command = place.command(&[&["run", &file, "--watch"], arguments].concat());
    let mut child = command.spawn().unwrap();
    // The heading and the start of the task.
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    let started = lines.nth(1).unwrap().unwrap();
    assert!(started.ends_with("in progress wait"), "{started}");
    child
}

/// The exit code and stderr.
fn ended(mut child: Child) -> (Option<i32>, String) {
    let status = child.wait().unwrap();
    let mut messages = String::new();
    child.stderr.unwrap().read_to_string(&mut messages).unwrap();
    (status.code(), messages)
}

#[test]
fn at_a_server_the_flow_continues() {
    let place = Place::server();
    let child = watching(&place, &[]);
    signal(child.id(), "INT");
    let message = format!(
        "panpan: stopped watching; the flow continues on the server\n\n\
         hint: `panpan task tree {}{options} --watch` shows the flow again, `panpan task cancel ID{options}` cancels \
         a task\n",
        id(1),
        options = place.options(),
    );
    assert_eq!(ended(child), (Some(130), message));
    assert_eq!(place.json(&["get", &id(1)])["status"], "in_progress");
    place.json(&["cancel", &id(1)]);
    let again = place.task(&["tree", &id(1), "--watch"]);
    assert_eq!(again.status.code(), Some(1));
}

#[test]
fn without_a_server_running_tasks_end_first_or_another_interrupt_stops_them() {
    let place = Place::local();
    let mut child = watching(&place, &[]);
    signal(child.id(), "INT");
    let mut messages = BufReader::new(child.stderr.take().unwrap()).lines();
    let message = messages.next().unwrap().unwrap();
    assert_eq!(
        message,
        "panpan: waiting for running tasks; press Ctrl-C again to stop at once"
    );
    signal(child.id(), "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(place.json(&["get", &id(1)])["status"], "in_progress");
}

#[test]
fn a_task_that_ends_after_an_interrupt_is_recorded() {
    let place = Place::local();
    let mut child = watching(&place, &[]);
    signal(child.id(), "INT");
    let mut messages = BufReader::new(child.stderr.take().unwrap()).lines();
    messages.next().unwrap().unwrap();
    // Another process cancels it: its handler stops when its lease is extended.
    place.json(&["cancel", &id(1)]);
    until("the end of the process", || {
        child.try_wait().unwrap().is_some()
    });
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let rest: Vec<String> = messages.map(Result::unwrap).collect();
    assert_eq!(
        rest,
        [
            "panpan: interrupted; tasks that have not run stay in the store".to_owned(),
            String::new(),
            format!(
                "hint: `panpan task tree {} --local --watch` continues the flow, and so does a server with the same store",
                id(1)
            ),
        ]
    );
}
