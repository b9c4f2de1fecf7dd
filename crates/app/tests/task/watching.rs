//! `--watch` without a terminal: a line or a JSON document for each event.

use panpan_testkit::{Server, run, stderr, stdout};
use serde_json::{Value, json};

use crate::{Place, below, failing_flow, id, task};

/// The lines after the heading, without their times.
fn events(text: &str) -> Vec<String> {
    let events = text.lines().skip(1);
    let without_time = |line: &str| line.split_once(' ').unwrap().1.to_owned();
    events.map(without_time).collect()
}

#[test]
fn a_line_is_printed_for_each_event() {
    for place in Place::both() {
        let output = place.run_tasks(&failing_flow());
        assert_eq!(output.status.code(), Some(1));
        let text = stdout(&output);
        let heading = text.lines().next().unwrap();
        assert!(heading.starts_with("report: "), "{heading}");
        assert!(heading.ends_with(&format!("({})", id(1))), "{heading}");
        let mut events = events(&text);
        events.sort();
        assert_eq!(
            events,
            [
                format!("{} completed report", id(1)),
                format!("{} in progress report", id(1)),
                format!(
                    "{} failed divide: DIVISION_BY_ZERO: cannot divide 1 by zero (next: change_input)",
                    id(2)
                ),
                format!("{} in progress divide", id(2)),
            ]
        );
        let options = place.options();
        assert_eq!(
            stderr(&output),
            format!(
                "panpan: the flow rests: 1 of 3 completed, 1 failed, 1 blocked\n\n\
                 hint: `panpan task list --root {0} --status failed{options}` prints the failures; \
                 `panpan task retry {0}{options}` runs what failed again\n",
                id(1)
            )
        );
    }
}

#[test]
fn json_has_the_answer_and_each_event() {
    for place in Place::both() {
        let file = place.folder.file("flow.json", failing_flow().to_string());
        let output = place.task(&["run", &file, "--watch", "--json"]);
        assert_eq!(output.status.code(), Some(1));
        let text = stdout(&output);
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines[0]["root_task_id"], id(1));
        let (last, events) = lines[1..].split_last().unwrap();
        assert_eq!(last["data"]["final"], true);
        assert_eq!(events.len(), 4);
        assert!(events.iter().all(|it| it["data"]["final"] == false));
    }
}

#[test]
fn retries_are_shown_with_their_attempts() {
    for place in Place::both() {
        let mut flaky = task(1, "flaky", "demo/flaky", json!({"failures": 1}));
        flaky["retry"] = json!({"max_attempts": 2, "initial_delay": 0.01, "max_delay": 0.01});
        let output = place.run_tasks(&flaky);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(events(&stdout(&output)).len(), 3, "{}", stdout(&output));
        assert_eq!(place.json(&["get", &id(1)])["attempts"], 2);
    }
}

#[test]
fn a_flow_that_rests_can_be_watched_again() {
    for place in Place::both() {
        let ran = place.run_tasks(&failing_flow());
        let again = place.task(&["tree", &id(2), "--watch"]);
        assert_eq!(again.status.code(), ran.status.code());
        assert_eq!(stderr(&again), stderr(&ran));
        let text = stdout(&again);
        assert!(text.starts_with("report: 1 of 3 completed"), "{text}");
        assert_eq!(events(&text), [""; 0], "events from before are not shown");
    }
}

#[test]
fn a_retry_is_watched_although_nothing_was_done_yet() {
    let place = Place::server();
    let tasks = json!([
        task(1, "root", "demo/wait", json!({"ms": 300})),
        below(task(2, "child", "demo/echo", json!({})), &[]),
    ]);
    let create = json!({"tasks": tasks}).to_string();
    let file = place.folder.file("create.json", create);
    let server = format!("http://{}", place.server.as_ref().unwrap().address);
    let created = place.folder.run(&[
        "call",
        "tasks/create",
        &format!("@{file}"),
        "--server",
        &server,
    ]);
    assert!(created.status.success(), "{}", stderr(&created));
    assert!(
        place
            .task(&["retry", &id(2), "--watch"])
            .status
            .code()
            .is_some()
    );
    let output = place.task(&["retry", &id(1), "--watch"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let lines = stdout(&output);
    assert!(lines.contains(" completed root"), "{lines}");
    assert!(
        !lines.contains(" completed child"),
        "only this execution: {lines}"
    );
}

#[test]
fn names_cannot_control_the_terminal() {
    let place = Place::local();
    let evil = "\u{1b}[2J\u{9b}1m\u{202e}evil";
    let inputs = json!({"code": "ERR_TIMEOUT", "message": evil});
    let tasks = json!([
        task(1, evil, "demo/echo", json!({})),
        below(task(2, evil, "demo/fail", inputs), &[]),
    ]);
    let ran = place.run_tasks(&tasks);
    let outputs = [
        ran,
        place.task(&["list"]),
        place.task(&["tree", &id(1)]),
        place.task(&["get", "evil"]),
    ];
    for output in outputs {
        for text in [stdout(&output), stderr(&output)] {
            let text: String = text.lines().collect();
            let hidden = |it: char| it.is_control() || it == '\u{202e}';
            assert!(!text.contains(hidden), "{text:?}");
        }
    }
}

#[test]
fn watching_continues_after_the_server_was_restarted() {
    let mut place = Place::server();
    let wait = task(1, "wait", "demo/wait", json!({"ms": 1000}));
    let tasks = json!([wait, below(task(2, "last", "demo/echo", json!({})), &[1])]);
    let file = place.folder.file("flow.json", tasks.to_string());
    let watching = place.command(&["run", &file, "--watch"]);
    let (address, mut watching) = (place.server.as_ref().unwrap().address.clone(), watching);
    let watching = std::thread::spawn(move || run(&mut watching, b""));
    panpan_testkit::until("the first task", || {
        let listed = place.task(&["list", "--json", "--status", "in_progress"]);
        stdout(&listed).contains(&id(1))
    });
    place.server.as_mut().unwrap().stop();
    let mut restarted = place.folder.panpan(&["serve", "--listen", &address]);
    place.server = Some(Server::run(&mut restarted));
    let output = watching.join().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let mut lines = events(&stdout(&output));
    lines.retain(|it| !it.ends_with('%'));
    assert_eq!(lines.len(), 4, "each event once: {lines:?}");
}
