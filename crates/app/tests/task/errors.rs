//! What is wrong, where, and what to do: in files, in trees, in ids, in arguments, in stores and servers.

use panpan_testkit::{Then, refusing_url, server_in_thread, stderr, stdout};
use serde_json::json;

use crate::{Place, below, good_flow, id, task};

#[test]
fn a_file_that_cannot_be_read_is_named_with_the_reason() {
    let place = Place::local();
    for (content, message) in [
        (None, "cannot open \"flow.json\": No such file"),
        (Some(""), "\"flow.json\" is empty"),
        (
            Some("[\n  {\"name\": }]"),
            "cannot read \"flow.json\": not valid JSON: expected value (line 2, column 12)",
        ),
        (
            Some("{\"name\": \"a\", \"name\": \"b\"}"),
            "at /name: expected each member once, found a duplicate",
        ),
        (
            Some("\u{feff}[]"),
            "\"flow.json\" begins with a byte order mark, which is not JSON",
        ),
        (Some("7"), "\"flow.json\" contains a number, and no tasks"),
    ] {
        if let Some(content) = content {
            place.folder.file("flow.json", content);
        }
        let output = place.task(&["run", "flow.json"]);
        let messages = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{messages}");
        assert!(messages.contains(message), "{messages}");
        assert!(messages.contains("\nhint: "), "{messages}");
        assert!(output.stdout.is_empty());
    }
}

/// Another command would open another, empty store.
#[test]
fn a_store_that_is_lost_is_not_suggested_for_the_next_command() {
    let place = Place::local();
    let tasks = json!([task(
        1,
        "a",
        "demo/divide",
        json!({"dividend": 6, "divisor": 0})
    )]);
    let file = place.folder.file("flow.json", tasks.to_string());
    let output = place
        .folder
        .run(&["task", "run", &file, "--local", "--store", "memory:"]);
    let messages = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{messages}");
    assert!(
        messages.contains("hint: the store memory: keeps no tasks"),
        "{messages}"
    );
    assert!(!messages.contains("task retry"), "{messages}");
}

#[test]
fn a_file_has_at_most_16_mib() {
    let place = Place::local();
    let limit = 16 * 1024 * 1024;
    let text = |bytes: usize| {
        let start = "[{\"name\": 7}]";
        format!("{start}{}", " ".repeat(bytes - start.len()))
    };
    for (bytes, is_read) in [(limit, true), (limit + 1, false)] {
        place.folder.file("flow.json", text(bytes));
        let output = place.task(&["run", "flow.json"]);
        let messages = stderr(&output);
        // What is read is refused for another reason.
        let exit_code = if is_read { 1 } else { 2 };
        assert_eq!(output.status.code(), Some(exit_code), "{messages}");
        assert_eq!(messages.contains("16777216"), !is_read, "{messages}");
    }
}

#[test]
fn tasks_that_may_have_been_created_can_be_found() {
    let place = Place::local();
    let (url, requests) = server_in_thread(vec![(String::new(), Then::Closes)]);
    let tasks = json!([{"name": "root"}, {"name": "child", "parent_id": id(1)}]);
    let file = place.folder.file("flow.json", tasks.to_string());
    let output = place.folder.run(&["task", "run", &file, "--server", &url]);
    let messages = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{messages}");
    let hint = messages.split_once("\nhint: `panpan task tree ");
    let (root, rest) = hint.unwrap().1.split_once(' ').unwrap();
    let expected = format!("--server {url}` shows the tasks if they were created\n");
    assert_eq!(rest, expected);
    let requests = requests.join().unwrap();
    assert!(
        requests[0].contains(&format!("\"id\":\"{root}\"")),
        "{requests:?}"
    );
}

#[test]
fn all_problems_of_a_tree_are_listed_with_their_codes() {
    let mut orphan = task(3, "orphan", "demo/echo", json!({}));
    orphan["parent_id"] = json!(id(99));
    let tasks = json!([
        task(1, "root", "demo/ecko", json!({})),
        below(task(2, "a", "demo/echo", json!({})), &[2, 98]),
        orphan,
    ]);
    for place in Place::both() {
        let file = place.folder.file("flow.json", tasks.to_string());
        let output = place.task(&["run", &file]);
        assert_eq!(output.status.code(), Some(1));
        let failure: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        let codes = failure["details"]["violation_codes"].as_array().unwrap();
        for code in [
            "INVALID_PARENT_REFERENCE",
            "INVALID_DEPENDENCY_REFERENCE",
            "CIRCULAR_DEPENDENCY",
            "EXECUTOR_NOT_FOUND",
        ] {
            assert!(codes.contains(&json!(code)), "{code}: {failure}");
        }
        let violations = failure["panpan"]["violations"].as_array().unwrap();
        assert_eq!(violations.len(), codes.len());
        assert!(place.task(&["list", "--json"]).status.success());
        assert_eq!(place.json(&["list", "--json"])["total"], 0);
    }
}

#[test]
fn an_unknown_id_gets_near_ones_as_a_hint() {
    for place in Place::both() {
        place.run_tasks(&good_flow());
        for (unknown, code, suggested) in [
            (
                "20000000-0000-4000-8000-000000000009",
                "TASK_NOT_FOUND",
                "(divide)",
            ),
            ("20000000", "INVALID_INPUT", "(report)"),
            ("devide", "INVALID_INPUT", "(divide)"),
        ] {
            for arguments in [
                &["get"][..],
                &["tree"],
                &["tree", "--watch"],
                &["cancel"],
                &["retry"],
                &["retry", "--watch"],
                &["copy"],
                &["delete"],
            ] {
                let arguments = [arguments, &[unknown]].concat();
                let (found, messages) = place.refused(&arguments);
                assert_eq!(found, code, "{arguments:?}: {messages}");
                let hint = messages.split_once("\nhint: did you mean ");
                let hint = hint.map(|(_, hint)| hint).unwrap_or_default();
                assert!(hint.contains(suggested), "{arguments:?}: {messages}");
            }
        }
        let (_, messages) = place.refused(&["get", "zzzzzz"]);
        let hint = "\nhint: `panpan task list` prints the ids of your tasks\n";
        assert!(messages.ends_with(hint), "{messages}");
    }
}

#[test]
fn tasks_of_another_caller_are_refused() {
    let place = Place::server();
    place.run_tasks(&good_flow());
    let token = place.folder.token("ann");
    let token = place.folder.file("token", token);
    let (code, _) = place.refused(&["get", &id(1), "--token-file", &token]);
    assert_eq!(code, "TASK_NOT_OWNED");
    let list = place.json(&["list", "--json", "--token-file", &token]);
    assert_eq!(list["total"], 0);
}

#[test]
fn invalid_arguments_are_refused_before_anything_is_called() {
    let place = Place::local();
    for (arguments, message) in [
        (&["task"][..], "Usage: panpan task"),
        (&["task", "run"], "<FILE>"),
        (&["task", "get"], "<ID>"),
        (&["task", "conjure"], "unrecognized subcommand 'conjure'"),
        (&["task", "list", "--status", "done"], "in_progress"),
        (&["task", "list", "--limit", "1001"], "1..=1000"),
        (&["task", "list", "--limit", "0"], "1..=1000"),
        (&["task", "list", "--watch"], "--watch"),
        (&["task", "copy", "x", "--origin", "clone"], "archive"),
        (&["task", "list", "--store", "memory:"], "--local"),
        (
            &["task", "list", "--local", "--server", "http://x"],
            "--server",
        ),
        (
            &["task", "list", "--local", "--store", "redis://u:hunter2@h"],
            "unknown store scheme redis:",
        ),
        (
            &["task", "list", "--server", "http://u:hunter3@h"],
            "a user name or password",
        ),
    ] {
        let output = place.folder.run(arguments);
        let messages = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {messages}");
        assert!(messages.contains(message), "{arguments:?}: {messages}");
        assert!(!messages.contains("hunter3"), "{messages}");
    }
}

#[test]
fn a_store_that_cannot_be_opened_is_named() {
    let place = Place::local();
    let folder = place.folder.0.display();
    let store = format!("sqlite:{folder}");
    let output = place.task(&["list", "--store", &store]);
    let messages = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{messages}");
    assert!(messages.contains("cannot open the store"), "{messages}");
    let mut command = place.command(&["list"]);
    let output = panpan_testkit::run(command.env_remove("PANPAN_DATA"), b"");
    let messages = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{messages}");
    assert!(messages.contains("no data folder"), "{messages}");
    assert!(messages.contains("\nhint: set PANPAN_DATA"), "{messages}");
}

#[test]
fn if_no_server_listens_the_hint_says_what_to_do() {
    let place = Place::local();
    let file = place.folder.file("flow.json", good_flow().to_string());
    let url = refusing_url();
    for command in [&["list"][..], &["run", &file, "--watch"], &["tree", &id(1)]] {
        let arguments = [&["task"], command, &["--server", &url]].concat();
        let output = place.folder.run(&arguments);
        let messages = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{messages}");
        assert!(
            messages.contains("\nhint: start a server with `panpan serve`"),
            "{messages}"
        );
    }
}

#[test]
fn tasks_that_were_created_before_are_found_and_not_created_again() {
    for place in Place::both() {
        let flow = json!([task(1, "root", "demo/echo", json!({}))]);
        let file = place.folder.file("flow.json", flow.to_string());
        place.task(&["run", &file]);
        let again = place.task(&["run", &file]);
        let messages = stderr(&again);
        assert_eq!(again.status.code(), Some(1), "{messages}");
        let (id, options) = (id(1), place.options());
        for command in ["tree", "retry"] {
            let hint = format!("`panpan task {command} {id}{options}`");
            assert!(messages.contains(&hint), "{hint}: {messages}");
        }
    }
}
