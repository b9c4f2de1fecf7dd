//! Each command, at a server and in the process.

use panpan_testkit::{run, stderr, stdout, until};
use serde_json::json;

use crate::{Place, failing_flow, good_flow, id, task};

#[test]
fn one_task_a_list_or_an_object_with_a_list_runs() {
    let one = task(1, "one", "demo/echo", json!({"text": "hello"}));
    for place in Place::both() {
        for (number, tasks) in [one.clone(), json!([one]), json!({"tasks": [one]})]
            .into_iter()
            .enumerate()
        {
            let mut tasks = tasks.to_string();
            // Ids are unique in a store.
            tasks = tasks.replace(&id(1), &id(10 + u32::try_from(number).unwrap()));
            let output = run(
                &mut place.command(&["run", "-", "--watch"]),
                tasks.as_bytes(),
            );
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
            let messages = stderr(&output);
            assert_eq!(messages, "panpan: the flow rests: 1 of 1 completed\n");
        }
    }
}

#[test]
fn a_server_runs_tasks_after_the_command_has_ended() {
    let place = Place::server();
    let file = place.folder.file("flow.json", good_flow().to_string());
    let started = place.json(&["run", &file]);
    assert_eq!(
        started,
        json!({"root_task_id": id(1), "status": "started", "reset": 0, "events_after": 0})
    );
    until("the end of the last task", || {
        place.json(&["get", &id(2)])["status"] == "completed"
    });
}

#[test]
fn without_a_server_the_command_waits_until_the_flow_rests() {
    let place = Place::local();
    let file = place.folder.file("flow.json", good_flow().to_string());
    let output = place.task(&["run", &file]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains(&id(1)), "{output:?}");
    assert_eq!(
        place.json(&["get", &id(2)])["result"],
        json!({"quotient": 2.0})
    );
    let failing = failing_flow().to_string().replace("20000000", "30000000");
    let failing = place.folder.file("failing.json", failing);
    assert_eq!(place.task(&["run", &failing]).status.code(), Some(1));
}

#[test]
fn tasks_are_listed_with_filters_and_pages() {
    for place in Place::both() {
        let nothing = place.task(&["list"]);
        assert_eq!(
            (stdout(&nothing).as_str(), nothing.status.code()),
            ("", Some(0))
        );
        assert!(stderr(&nothing).contains("there are no such tasks"));
        place.run_tasks(&failing_flow());
        let list = stdout(&place.task(&["list"]));
        let lines: Vec<&str> = list.lines().collect();
        assert_eq!(lines.len(), 4, "{list}");
        assert_eq!(lines[0], format!("{:<36}  STATUS       NAME", "ID"));
        assert_eq!(lines[1], format!("{}  completed    report", id(1)));
        assert_eq!(
            lines[2],
            format!(
                "{}  failed       divide: DIVISION_BY_ZERO: cannot divide 1 by zero (next: change_input)",
                id(2)
            )
        );
        let root = id(1);
        for (filters, ids) in [
            (&["--status", "pending"][..], &[3][..]),
            (&["--roots"], &[1]),
            (&["--root", &root, "--status", "failed"], &[2]),
            (&["--user", "ann"], &[]),
            (&["--limit", "1", "--offset", "1"], &[2]),
        ] {
            let list = place.json(&[&["list", "--json"], filters].concat());
            let listed = list["tasks"].as_array().unwrap().iter();
            let listed: Vec<&str> = listed.map(|it| it["id"].as_str().unwrap()).collect();
            let expected: Vec<String> = ids.iter().map(|number| id(*number)).collect();
            assert_eq!(listed, expected, "{filters:?}");
        }
        let page = place.task(&["list", "--limit", "2"]);
        assert_eq!(
            stderr(&page),
            "panpan: tasks 1 to 2 of 3; --offset 2 prints the next\n"
        );
        let beyond = place.task(&["list", "--offset", "7"]);
        assert_eq!(stderr(&beyond), "panpan: there are only 3 such tasks\n");
    }
}

#[test]
fn a_tree_shows_what_is_blocked_by_what() {
    for place in Place::both() {
        place.run_tasks(&failing_flow());
        let tree = place.task(&["tree", &id(1)]);
        let expected = format!(
            "report: 1 of 3 completed, 1 failed, 1 blocked ({})\n\
             completed    report\n\
             failed         divide  DIVISION_BY_ZERO: cannot divide 1 by zero (next: change_input)\n\
             blocked        total  by divide (failed)\n",
            id(1)
        );
        assert_eq!(stdout(&tree), expected);
        let part = stdout(&place.task(&["tree", &id(3)]));
        assert!(part.starts_with("total: 0 of 1 completed"), "{part}");
        let json = place.json(&["tree", &id(1), "--json"]);
        assert_eq!(json["children"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn what_failed_runs_again_with_and_without_its_dependents() {
    for place in Place::both() {
        place.run_tasks(&failing_flow());
        for (flags, generation) in [(&[][..], 2), (&["--no-cascade"], 3)] {
            let retry = place.task(&[&["retry", &id(1), "--watch"], flags].concat());
            assert_eq!(retry.status.code(), Some(1), "{}", stderr(&retry));
            let lines = stdout(&retry);
            // Only this execution is shown.
            let failed = lines
                .lines()
                .filter(|line| line.contains(" failed divide: "));
            assert_eq!(failed.count(), 1, "{lines}");
            assert!(!lines.contains(" completed report"), "{lines}");
            assert_eq!(place.json(&["get", &id(2)])["generation"], generation);
            assert_eq!(place.json(&["get", &id(1)])["generation"], 1);
        }
    }
}

#[test]
fn dependents_that_have_ended_run_again_unless_told_otherwise() {
    for place in Place::both() {
        // The dependent only waits for the task that fails.
        let mut flow = failing_flow();
        flow[2]["dependencies"][0]["required"] = json!(false);
        let ran = place.run_tasks(&flow);
        assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
        for (flags, generation) in [(&["--no-cascade"][..], 1), (&[], 2)] {
            let retry = place.task(&[&["retry", &id(2), "--watch"], flags].concat());
            assert_eq!(retry.status.code(), Some(0), "{}", stderr(&retry));
            assert_eq!(place.json(&["get", &id(3)])["generation"], generation);
        }
    }
}

#[test]
fn a_task_is_copied_cancelled_and_deleted() {
    for place in Place::both() {
        place.run_tasks(&failing_flow());
        let copied = place.json(&["copy", &id(1), "--children"]);
        let copy = copied["copied_task_id"].as_str().unwrap();
        let tree = place.json(&["tree", copy, "--json"]);
        let children = tree["children"].as_array().unwrap();
        assert_eq!(children.len(), 2);
        let [first, last] = [0, 1].map(|it| children[it]["task"]["id"].as_str().unwrap());
        let cancelled = place.json(&["cancel", first, "--message", "not needed"]);
        assert_eq!(cancelled["status"], "cancelled");
        assert_eq!(place.json(&["get", first])["error"], "not needed");
        assert_eq!(place.json(&["delete", last]), json!({"success": true}));
        let (code, _) = place.refused(&["delete", copy]);
        assert_eq!(code, "CANNOT_DELETE_TASK");
        let link = place.json(&["copy", &id(1), "--origin", "link"]);
        assert_eq!(link["original_task_id"], id(1));
        let (code, _) = place.refused(&["copy", &id(2), "--origin", "archive"]);
        assert_eq!(code, "INVALID_TASK_SCHEMA");
    }
}

#[test]
fn a_store_that_a_server_uses_can_be_used_without_it() {
    let place = Place::server();
    place.run_tasks(&good_flow());
    let local = |arguments: &[&str]| {
        let arguments = [&["task"], arguments, &["--local"]].concat();
        place.folder.run(&arguments)
    };
    assert!(stdout(&local(&["tree", &id(1)])).starts_with("report: 2 of 2 completed"));
    let other = task(7, "other", "demo/echo", json!({}));
    let file = place.folder.file("other.json", other.to_string());
    assert_eq!(local(&["run", &file]).status.code(), Some(0));
    assert_eq!(place.json(&["get", &id(7)])["status"], "completed");
}
