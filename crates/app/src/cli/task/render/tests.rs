//! What is drawn of a flow, on terminals of every size.

use panpan_flow::Dependency;

use super::*;

const EVIL: &str = "\u{1b}[2J\u{9b}1m\r\n\u{202e}evil";

fn id(number: usize) -> TaskId {
    format!("00000000-0000-4000-9000-{number:012}")
        .parse()
        .unwrap()
}

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

/// A task below the first one.
fn task(number: usize, name: &str, state: State) -> SeenTask {
    SeenTask {
        id: id(number),
        parent: (number > 1).then(|| id(1)),
        root: id(1),
        name: name.to_owned(),
        state,
        progress: 0.0,
        attempts: 1,
        retry_at: None,
        dependencies: Vec::new(),
        problem: None,
        may_have_happened: false,
        updated_at: now(),
    }
}

fn after(mut task: SeenTask, on: &[(usize, bool)]) -> SeenTask {
    let dependency = |(number, required): &(usize, bool)| Dependency {
        id: id(*number),
        required: *required,
    };
    task.dependencies = on.iter().map(dependency).collect();
    task
}

fn flow(tasks: Vec<SeenTask>) -> SeenFlow {
    let total = tasks.len() as u64;
    SeenFlow::new(tasks, id(1), total)
}

/// A flow in which every state occurs.
fn report() -> SeenFlow {
    let failed = SeenTask {
        attempts: 3,
        problem: Some("DIVISION_BY_ZERO: cannot divide 1 by zero (next: change_input)".to_owned()),
        ..task(3, "divide", State::Failed)
    };
    let running = SeenTask {
        progress: 0.426,
        attempts: 2,
        ..task(4, "count", State::InProgress)
    };
    let waiting = SeenTask {
        retry_at: Some("2026-01-01T00:00:07Z".parse().unwrap()),
        ..task(5, "fetch", State::InProgress)
    };
    let cancelled = SeenTask {
        problem: Some("cancelled by ann".to_owned()),
        ..task(6, "publish", State::Cancelled)
    };
    let below = SeenTask {
        parent: Some(id(3)),
        ..after(task(9, "format", State::Pending), &[(7, true)])
    };
    flow(vec![
        task(1, "report", State::Completed),
        task(2, "load", State::Completed),
        failed,
        running,
        waiting,
        cancelled,
        after(
            task(7, "total", State::Pending),
            &[(2, true), (3, true), (6, true)],
        ),
        after(
            task(8, "mail", State::Pending),
            &[(3, false), (4, true), (5, true)],
        ),
        below,
    ])
}

fn drawing(size: Option<(usize, usize)>) -> Drawing {
    Drawing {
        size: size.map(|(rows, columns)| Size { rows, columns }),
        colour: Colour::Off,
        now: now(),
    }
}

#[test]
fn a_tree_shows_what_every_task_is_doing() {
    assert_eq!(
        drawing(None).lines(&report()),
        [
            "report: 2 of 9 completed, 2 in progress, 1 failed, 1 cancelled, 1 blocked, 2 pending \
             (00000000-0000-4000-9000-000000000001)",
            "completed    report",
            "completed      load",
            "failed         divide  3 attempts, DIVISION_BY_ZERO: cannot divide 1 by zero (next: change_input)",
            "pending          format  waits for total",
            "in progress    count  42%, attempt 2",
            "in progress    fetch  next attempt in 7 s",
            "cancelled      publish  cancelled by ann",
            "blocked        total  by divide (failed), publish (cancelled)",
            "pending        mail  waits for count, fetch",
        ]
    );
}

#[test]
fn failed_and_running_tasks_are_shown_if_not_all_fit() {
    let lines = drawing(Some((7, 200))).lines(&report());
    assert_eq!(
        lines[1..],
        [
            "failed         divide  3 attempts, DIVISION_BY_ZERO: cannot divide 1 by zero (next: change_input)",
            "in progress    count  42%, attempt 2",
            "in progress    fetch  next attempt in 7 s",
            "cancelled      publish  cancelled by ann",
            "… 5 more not shown",
        ]
    );
    // Many failures do not hide what runs, nor the other way round.
    for (failed, running, shown) in [(50, 50, (4, 4)), (50, 2, (6, 2)), (2, 50, (2, 6))] {
        let failed = (0..failed).map(|it| task(2 + it, "f", State::Failed));
        let running = (0..running).map(|it| task(100 + it, "r", State::InProgress));
        let root = task(1, "root", State::Completed);
        let tasks = [root].into_iter().chain(failed).chain(running);
        let lines = drawing(Some((11, 80))).lines(&flow(tasks.collect()));
        let count = |word: &str| lines[1..].iter().filter(|it| it.starts_with(word)).count();
        assert_eq!((count("failed"), count("in progress")), shown);
        assert_eq!(lines.len(), 10);
    }
}

#[test]
fn tasks_that_were_not_read_are_counted() {
    let tasks = vec![task(1, "root", State::Completed)];
    let flow = SeenFlow::new(tasks, id(1), 200_000);
    let lines = drawing(Some((24, 80))).lines(&flow);
    assert!(lines[0].starts_with("root: 1 of 200000 completed"));
    assert_eq!(lines.last().unwrap(), "… 199999 more not shown");
}

#[test]
fn nothing_is_wider_or_higher_than_the_terminal() {
    let names = ["日本語の仕事", "👩‍💻 naïve", EVIL, "e\u{301}e\u{301}", "a b"];
    let task = |number: usize| SeenTask {
        problem: Some(EVIL.repeat(9)),
        parent: (number > 1).then(|| id(number - 1)),
        ..task(
            number,
            &names[number % names.len()].repeat(9),
            State::Failed,
        )
    };
    let flow = flow((1..40).map(task).collect());
    for rows in 0..45 {
        for columns in 0..60 {
            let lines = drawing(Some((rows, columns))).lines(&flow);
            assert!(lines.len() < rows.max(2), "{rows}: {}", lines.len());
            for line in lines {
                assert!(width(&line) <= columns, "{columns}: {line}");
                assert!(!line.chars().any(char::is_control), "{line:?}");
            }
        }
    }
}

#[test]
fn texts_of_tasks_cannot_control_the_terminal() {
    let evil = SeenTask {
        problem: Some(EVIL.to_owned()),
        ..task(1, EVIL, State::Failed)
    };
    let on_evil = after(task(2, "next", State::Pending), &[(1, true)]);
    let flow = flow(vec![evil, on_evil]);
    let event = SeenEvent {
        number: 1,
        task: id(1),
        state: State::Failed,
        progress: 0.0,
        at: now(),
        has_details: true,
        is_final: false,
    };
    let mut lines = drawing(None).lines(&flow);
    lines.push(drawing(None).event(&flow, &event));
    assert_eq!(lines.len(), 4);
    for line in lines {
        assert!(!line.chars().any(char::is_control), "{line:?}");
        assert!(line.contains("\\u202eevil"), "{line:?}");
    }
}

#[test]
fn colour_adds_only_escape_sequences() {
    let coloured = Drawing {
        colour: Colour::On,
        ..drawing(Some((24, 40)))
    };
    let coloured = coloured.lines(&report()).join("\n");
    assert!(
        coloured.contains("\u{1b}[1;31mfailed     \u{1b}[0m"),
        "{coloured}"
    );
    let mut plain = coloured;
    for sequence in ["[1;31m", "[1m", "[2m", "[36m", "[0m"] {
        plain = plain.replace(&format!("\u{1b}{sequence}"), "");
    }
    assert_eq!(plain, drawing(Some((24, 40))).lines(&report()).join("\n"));
}

#[test]
fn an_event_is_one_line() {
    let flow = report();
    let event = |number: usize, state: State, has_details: bool| SeenEvent {
        number: 1,
        task: id(number),
        state,
        progress: 0.5,
        at: now(),
        has_details,
        is_final: false,
    };
    for (event, expected) in [
        (
            event(3, State::InProgress, false),
            "000000000003 in progress divide: 50%",
        ),
        (
            event(3, State::Failed, true),
            "000000000003 failed divide: 3 attempts, DIVISION_BY_ZERO: cannot divide 1 by zero (next: change_input)",
        ),
        (
            event(2, State::Completed, false),
            "000000000002 completed load",
        ),
        (event(99, State::Completed, false), "000000000099 completed"),
    ] {
        let line = drawing(None).event(&flow, &event);
        let expected = format!("2026-01-01T00:00:00Z 00000000-0000-4000-9000-{expected}");
        assert_eq!(line, expected);
    }
}

#[test]
fn a_flow_succeeds_if_every_required_task_does() {
    let root = || task(1, "root", State::Completed);
    let done = |number: usize| task(number, "done", State::Completed);
    for (tasks, succeeds) in [
        (vec![root(), done(2)], true),
        (vec![root(), task(2, "a", State::Failed)], false),
        (vec![root(), task(2, "a", State::Cancelled)], false),
        (vec![root(), task(2, "a", State::Pending)], false),
        // The only dependent does not require it.
        (
            vec![
                root(),
                task(2, "a", State::Failed),
                after(done(3), &[(2, false)]),
            ],
            true,
        ),
        (
            vec![
                root(),
                task(2, "a", State::Failed),
                after(done(3), &[(2, false)]),
                after(task(4, "b", State::Pending), &[(2, true)]),
            ],
            false,
        ),
        // A root is always required.
        (
            vec![
                task(1, "root", State::Failed),
                after(done(2), &[(1, false)]),
            ],
            false,
        ),
    ] {
        let flow = flow(tasks);
        assert_eq!(flow.has_succeeded(), succeeds, "{flow:?}");
    }
}

#[test]
fn an_event_changes_a_task_unless_something_newer_is_known() {
    let mut flow = report();
    let event = |at: &str, state: State| SeenEvent {
        number: 1,
        task: id(3),
        state,
        progress: 0.0,
        at: at.parse().unwrap(),
        has_details: false,
        is_final: false,
    };
    flow.apply(&event("2025-12-31T23:59:59Z", State::InProgress));
    assert_eq!(flow.find(id(3)).unwrap().state, State::Failed);
    flow.apply(&event("2026-01-01T00:00:01Z", State::Pending));
    let again = flow.find(id(3)).unwrap();
    assert_eq!((again.state, again.attempts), (State::Pending, 0));
    assert_eq!(again.problem, None);
    assert!(!drawing(None).lines(&flow)[0].contains("failed"));
}
