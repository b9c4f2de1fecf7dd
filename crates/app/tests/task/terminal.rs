//! `--watch` on a pseudo-terminal.

use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};
use std::thread;

use nix::pty::{Winsize, openpty};
use panpan_testkit::stderr;
use serde_json::{Value, json};

use crate::{Place, below, failing_flow, id, task};

/// What a command writes to a terminal of this size, and its output on stderr.
fn on_terminal(command: &mut Command, rows: u16, columns: u16) -> (String, std::process::Output) {
    let size = Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let terminal = openpty(&size, None).unwrap();
    let mut screen = File::from(terminal.master);
    let reading = thread::spawn(move || {
        let mut written = Vec::new();
        // Ends with an error when the last process has closed the terminal.
        let _ = screen.read_to_end(&mut written);
        String::from_utf8(written).unwrap()
    });
    let child = command.stdout(Stdio::from(terminal.slave)).spawn();
    let output = child.unwrap().wait_with_output().unwrap();
    // The command has the other end of the terminal.
    command.stdout(Stdio::null());
    (reading.join().unwrap(), output)
}

/// The lines of the last drawing, without sequences.
fn last_drawing(written: &str) -> Vec<String> {
    let last = written.rsplit("\u{1b}[?7l").next().unwrap();
    let (lines, end) = last.split_once("\u{1b}[J\u{1b}[?7h").unwrap();
    assert_eq!(end, "", "nothing follows");
    let lines = lines.split("\u{1b}[K\r");
    let clean = |line: &str| {
        let line = line.trim_start_matches(['\r', '\n']);
        let moved = line
            .strip_prefix("\u{1b}[")
            .and_then(|it| it.split_once('A'));
        moved.map_or(line, |(_, line)| line).to_owned()
    };
    let mut lines: Vec<String> = lines.map(clean).collect();
    assert_eq!(lines.pop().as_deref(), Some(""));
    lines
}

fn watch(place: &Place, tasks: &Value) -> Command {
    let file = place.folder.file("flow.json", tasks.to_string());
    place.command(&["run", &file, "--watch", "--color", "never"])
}

#[test]
fn the_tree_is_drawn_in_place() {
    for place in Place::both() {
        let (written, output) = on_terminal(&mut watch(&place, &failing_flow()), 24, 100);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert_eq!(
            last_drawing(&written),
            [
                format!("report: 1 of 3 completed, 1 failed, 1 blocked ({})", id(1)),
                "completed    report".to_owned(),
                "failed         divide  DIVISION_BY_ZERO: cannot divide 1 by zero (next: change_input)"
                    .to_owned(),
                "blocked        total  by divide (failed)".to_owned(),
            ],
            "{written:?}"
        );
    }
}

#[test]
fn the_tree_fits_into_a_small_terminal() {
    let place = Place::local();
    let echo = |number: u32| {
        below(
            task(number, "日本語の長い名前", "demo/echo", json!({})),
            &[],
        )
    };
    let mut tasks = failing_flow();
    tasks.as_array_mut().unwrap().extend((4..40).map(echo));
    let (written, output) = on_terminal(&mut watch(&place, &tasks), 6, 22);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    for drawing in written.split("\u{1b}[?7l") {
        assert!(drawing.matches('\n').count() < 6, "{drawing:?}");
    }
    assert_eq!(
        last_drawing(&written),
        [
            "report: 37 of 39 comp…",
            "completed    report",
            "failed         divide…",
            "blocked        total …",
            "… 36 more not shown",
        ]
    );
}

#[test]
fn the_tree_counts_all_attempts() {
    let place = Place::local();
    let mut flaky = task(1, "flaky", "demo/flaky", json!({"failures": 2}));
    flaky["retry"] = json!({"max_attempts": 3, "initial_delay": 0.5});
    let (written, output) = on_terminal(&mut watch(&place, &flaky), 24, 100);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let last = last_drawing(&written);
    assert_eq!(last[1], "completed    flaky  3 attempts", "{written:?}");
}

#[test]
fn a_dumb_terminal_gets_lines() {
    let place = Place::local();
    let mut command = watch(&place, &failing_flow());
    let (written, output) = on_terminal(command.env("TERM", "dumb"), 24, 100);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(!written.contains('\u{1b}'), "{written:?}");
    assert!(written.contains("in progress report"), "{written:?}");
}
