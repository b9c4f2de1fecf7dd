//! What is refused when tasks are created or deleted, with which code and details.

use panpan_failure::Redacted;
use serde_json::{Value, json};

use crate::support::{Fixture, below, calling, id, task};

async fn refused(fixture: &Fixture, operation: &str, input: Value) -> Redacted {
    fixture.call(operation, input).await.unwrap_err()
}

fn pointers(failure: &Redacted) -> Vec<&str> {
    failure
        .violations()
        .iter()
        .map(|it| it.pointer.as_str())
        .collect()
}

pub(crate) async fn an_id_is_used_once(fixture: Fixture) {
    fixture.ok("tasks/create", task(1, "one")).await;
    let again = refused(&fixture, "tasks/create", task(1, "two")).await;
    assert_eq!(again.code().as_str(), "TASK_TREE_VALIDATION_FAILED");
    assert_eq!(pointers(&again), ["/id"]);
    let actions = again.recovery().required_actions.join("; ");
    assert!(
        actions.contains("tasks/get") && !actions.contains("orrect id"),
        "the first request may have created it: {actions}"
    );
    let twice =
        json!({"tasks": [task(2, "two"), below(task(3, "a"), &[]), below(task(3, "b"), &[])]});
    let twice = refused(&fixture, "tasks/create", twice).await;
    assert!(
        pointers(&twice).contains(&"/tasks/2/id"),
        "{:?}",
        pointers(&twice)
    );
    assert_eq!(fixture.ok("tasks/list", json!({})).await["total"], 1);
}

pub(crate) async fn a_cycle_is_named(fixture: Fixture) {
    let tasks = json!({"tasks": [
        task(1, "root"),
        below(task(2, "a"), &[(3, true)]),
        below(task(3, "b"), &[(2, false)]),
    ]});
    let failure = refused(&fixture, "tasks/create", tasks).await;
    assert_eq!(failure.code().as_str(), "CIRCULAR_DEPENDENCY");
    assert_eq!(
        failure.details().unwrap()["cycle"],
        json!([id(2), id(3), id(2)])
    );
}

pub(crate) async fn references_between_tasks_have_to_exist(fixture: Fixture) {
    let mut orphan = task(2, "orphan");
    orphan["parent_id"] = json!(id(9));
    let mut dependent = task(2, "dependent");
    dependent["dependencies"] = json!([{"id": id(9)}]);
    let two_roots = json!({"tasks": [task(1, "one"), task(2, "two")]});
    for (input, code) in [
        (orphan, "INVALID_PARENT_REFERENCE"),
        (dependent, "INVALID_DEPENDENCY_REFERENCE"),
        (two_roots, "TASK_TREE_VALIDATION_FAILED"),
    ] {
        assert_eq!(fixture.code("tasks/create", input).await, code);
    }
    fixture.ok("tasks/create", task(9, "another flow")).await;
    let mut dependent = task(2, "dependent");
    dependent["dependencies"] = json!([{"id": id(9)}]);
    assert_eq!(
        fixture.code("tasks/create", dependent).await,
        "INVALID_DEPENDENCY_REFERENCE"
    );
}

pub(crate) async fn a_method_has_to_exist(fixture: Fixture) {
    let failure = refused(&fixture, "tasks/create", calling(1, "one", "test/rum")).await;
    assert_eq!(failure.code().as_str(), "EXECUTOR_NOT_FOUND");
    let details = failure.details().unwrap();
    assert_eq!(details["executor"], "test/rum");
    let nearest = details["nearest"].as_array().unwrap();
    assert!(nearest.contains(&json!("test/run")), "{nearest:?}");
}

/// Tasks that create, copy or execute tasks could go on for ever.
pub(crate) async fn a_task_cannot_call_an_operation_on_tasks(fixture: Fixture) {
    for method in ["tasks/copy", "/tasks/execute", "tasks/get", "tasks/notify"] {
        let failure = refused(&fixture, "tasks/create", calling(1, "one", method)).await;
        assert_eq!(failure.code().as_str(), "INVALID_TASK_SCHEMA", "{method}");
        assert_eq!(pointers(&failure), ["/schemas/method"], "{method}");
    }
    fixture.ok("tasks/create", task(1, "one")).await;
    let update = json!({"task_id": id(1), "updates": {"schemas": {"method": "tasks/execute"}}});
    let failure = refused(&fixture, "tasks/update", update).await;
    assert_eq!(failure.code().as_str(), "INVALID_TASK_SCHEMA");
}

pub(crate) async fn a_malformed_member_is_described(fixture: Fixture) {
    let mut invalid = task(1, "one");
    invalid["priority"] = json!(5);
    let failure = refused(&fixture, "tasks/create", invalid).await;
    assert_eq!(failure.code().as_str(), "INVALID_INPUT");
    let violation = &failure.violations()[0];
    assert_eq!(violation.pointer, "/priority");
    assert_eq!(violation.expected.as_deref(), Some("0-3"));
    assert_eq!(violation.actual, Some(json!(5)));
}

pub(crate) async fn inputs_match_the_schema_of_the_task(fixture: Fixture) {
    let mut invalid = task(1, "one");
    invalid["schemas"]["input_schema"] = json!({"type": "object", "required": ["url"]});
    let failure = refused(&fixture, "tasks/create", invalid).await;
    assert_eq!(failure.code().as_str(), "INVALID_TASK_SCHEMA");
    assert!(
        pointers(&failure)[0].starts_with("/inputs"),
        "{:?}",
        pointers(&failure)
    );
}

pub(crate) async fn an_origin_has_to_be_complete_and_completed(fixture: Fixture) {
    fixture.ok("tasks/create", task(1, "original")).await;
    let with = |members: Value| {
        let mut copy = task(2, "copy");
        copy.as_object_mut()
            .unwrap()
            .extend(members.as_object().unwrap().clone());
        copy
    };
    for members in [
        json!({"origin_type": "copy"}),
        json!({"origin_type": "clone", "original_task_id": id(1)}),
        json!({"origin_type": "copy", "original_task_id": "x"}),
        json!({"origin_type": "copy", "original_task_id": id(9)}),
        json!({"original_task_id": id(1)}),
        json!({"origin_type": "link", "original_task_id": id(1)}),
        json!({"origin_type": "archive", "original_task_id": id(1)}),
        json!({"has_references": true}),
    ] {
        let code = fixture.code("tasks/create", with(members.clone())).await;
        assert_eq!(code, "INVALID_TASK_SCHEMA", "{members}");
    }
    assert_eq!(fixture.task(&id(1)).await["has_references"], false);
    let copy = with(json!({"origin_type": "copy", "original_task_id": id(1)}));
    fixture.ok("tasks/create", copy).await;
    assert_eq!(fixture.task(&id(1)).await["has_references"], true);
}

pub(crate) async fn only_a_pending_task_without_others_is_deleted(fixture: Fixture) {
    let tasks = json!({"tasks": [
        task(1, "root"),
        below(task(2, "first"), &[]),
        below(task(3, "second"), &[(2, true)]),
    ]});
    fixture.ok("tasks/create", tasks).await;
    for (number, first) in [(1, json!([id(2), id(3)])), (2, json!([id(3)]))] {
        let failure = refused(&fixture, "tasks/delete", json!({"task_id": id(number)})).await;
        assert_eq!(failure.code().as_str(), "CANNOT_DELETE_TASK");
        assert_eq!(failure.details().unwrap()["delete_first"], first);
    }
    for number in [3, 2] {
        let deleted = fixture
            .ok("tasks/delete", json!({"task_id": id(number)}))
            .await;
        assert_eq!(deleted, json!({"success": true}));
    }
    assert_eq!(
        fixture.code("tasks/get", json!({"task_id": id(2)})).await,
        "TASK_NOT_FOUND"
    );
    fixture.ok("tasks/cancel", json!({"task_id": id(1)})).await;
    let failure = refused(&fixture, "tasks/delete", json!({"task_id": id(1)})).await;
    assert_eq!(failure.code().as_str(), "CANNOT_DELETE_TASK");
    assert!(
        failure.message().contains("cancelled"),
        "{}",
        failure.message()
    );
}

pub(crate) async fn inputs_match_the_schema_of_the_operation(fixture: Fixture) {
    let with = |number: u64, inputs: Value| {
        let mut task = calling(number, "strict", "test/strict");
        task["inputs"] = inputs;
        task
    };
    let tasks = json!([
        with(1, json!({"amount": 1, "to": "ann"})),
        below(with(2, json!({"amount": "1"})), &[]),
        below(with(3, json!({"amount": {"$from": id(2)}})), &[(2, true)]),
        below(with(4, json!({"to": 7, "amount": 1})), &[]),
    ]);
    let failure = fixture.call("tasks/create", json!({"tasks": tasks})).await;
    let failure = failure.unwrap_err();
    assert_eq!(failure.code().as_str(), "INVALID_INPUT");
    let pointers = failure.violations().iter().map(|it| it.pointer.as_str());
    let mut pointers: Vec<&str> = pointers.collect();
    pointers.sort_unstable();
    // A reference is only known when the task runs.
    let expected = [
        "/tasks/1/inputs/amount",
        "/tasks/1/inputs/to",
        "/tasks/2/inputs/to",
        "/tasks/3/inputs/to",
    ];
    assert_eq!(pointers, expected);
}

/// Two processes that generate the same ids, as no real ones do.
pub(crate) async fn a_duplicate_id_fails_alone(fixture: Fixture) {
    let other = fixture.with_the_same_ids();
    let unnamed = || json!({"name": "one"});
    fixture.ok("tasks/create", unnamed()).await;
    // One transaction of the store may contain the work of many callers. The refused one is repeated with a new id.
    let named = (1..9).map(|number| fixture.ok("tasks/create", task(number, "named")));
    let named = futures_util::future::join_all(named);
    let repeated = async {
        let repeated = other.ok("tasks/create", unnamed());
        tokio::select! {
            created = repeated => created,
            () = fixture.clock.advance_forever() => Value::Null,
        }
    };
    let (created, named) = futures_util::join!(repeated, named);
    assert_eq!((&created["status"], named.len()), (&json!("pending"), 8));
}

pub(crate) async fn a_method_may_be_the_name_of_a_tool(fixture: Fixture) {
    let tasks = json!({"tasks": [
        calling(1, "root", "test__run"),
        below(calling(2, "dot", "test.run"), &[]),
    ]});
    fixture.ok("tasks/create", tasks).await;
    for number in [1, 2] {
        assert_eq!(
            fixture.task(&id(number)).await["schemas"]["method"],
            "test/run"
        );
    }
    let updates = json!({"task_id": id(2), "updates": {"schemas": {"method": "test__number"}}});
    fixture.ok("tasks/update", updates).await;
    assert_eq!(
        fixture.task(&id(2)).await["schemas"]["method"],
        "test/number"
    );
}

pub(crate) async fn all_problems_are_reported_together(fixture: Fixture) {
    let mut malformed = below(calling(2, "a", "test/rum"), &[(3, true), (9, true)]);
    malformed["priority"] = json!(7);
    let mut unread = below(task(4, "b"), &[]);
    unread["parent_id"] = json!("x");
    unread["inputs"] = json!([]);
    let tasks = json!({"tasks": [
        task(1, "root"), malformed, below(task(3, "c"), &[(2, true)]), unread,
    ]});
    let failure = refused(&fixture, "tasks/create", tasks).await;
    assert_eq!(failure.code().as_str(), "INVALID_INPUT");
    let mut pointers = pointers(&failure);
    pointers.sort_unstable();
    let expected = [
        "/tasks/1/dependencies/0/id",
        "/tasks/1/dependencies/1/id",
        "/tasks/1/priority",
        "/tasks/1/schemas/method",
        "/tasks/3/inputs",
        "/tasks/3/parent_id",
    ];
    assert_eq!(pointers, expected);
    // What follows from a problem is not another one.
    let unreadable = refused(&fixture, "tasks/create", json!({"tasks": [7]})).await;
    assert_eq!(unreadable.violations().len(), 1);
}

pub(crate) async fn an_id_that_was_never_stored_is_not_named(fixture: Fixture) {
    for input in [
        json!({"name": "one", "schemas": {"method": "test/rum"}}),
        json!({"tasks": [{"name": "one"}, {"name": "two"}]}),
    ] {
        let failure = refused(&fixture, "tasks/create", input).await;
        let details = failure.details().cloned().unwrap_or_default();
        assert_eq!((details.get("task_id"), details.get("roots")), (None, None));
    }
}

pub(crate) async fn options_of_the_call_are_checked_when_the_task_is_created(fixture: Fixture) {
    for (call, pointer) in [
        (json!({"timeout_ms": "x"}), "/params/call/timeout_ms"),
        (json!(7), "/params/call"),
        (json!({"patience": 1}), "/params/call/patience"),
        (
            json!({"idempotency_key": ""}),
            "/params/call/idempotency_key",
        ),
    ] {
        let mut invalid = task(1, "one");
        invalid["params"] = json!({"call": call});
        let failure = refused(&fixture, "tasks/create", invalid).await;
        assert_eq!(
            (failure.code().as_str(), pointers(&failure)),
            ("INVALID_INPUT", vec![pointer])
        );
    }
}

pub(crate) async fn members_of_a_task_are_not_beside_a_list(fixture: Fixture) {
    let input = json!({"name": "all", "tasks": [task(1, "one")]});
    let failure = refused(&fixture, "tasks/create", input).await;
    assert_eq!(
        (failure.code().as_str(), pointers(&failure)),
        ("INVALID_INPUT", vec!["/name"])
    );
    let beyond: Value = serde_json::from_str(r#"{"offset": 18446744073709551616}"#).unwrap();
    assert_eq!(fixture.code("tasks/list", beyond).await, "INVALID_INPUT");
}

pub(crate) async fn literal_inputs_are_checked_beside_references(fixture: Fixture) {
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["to"],
        "properties": {
            "to": {"type": "string"}, "amount": {"type": "integer"},
            "body": {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        },
    });
    let with = |inputs: Value| {
        let mut last = below(task(3, "last"), &[(2, true)]);
        last["inputs"] = inputs;
        last["schemas"]["input_schema"] = schema.clone();
        json!({"tasks": [task(1, "root"), below(task(2, "first"), &[]), last]})
    };
    let from = || json!({"$from": id(2)});
    for (inputs, expected) in [
        (json!({"to": from(), "amount": "7"}), vec!["amount"]),
        (json!({"amount": from()}), vec!["to"]),
        (json!({"to": from(), "other": 1}), vec!["other"]),
    ] {
        let failure = refused(&fixture, "tasks/create", with(inputs)).await;
        let expected: Vec<String> = expected
            .into_iter()
            .map(|it| format!("/tasks/2/inputs/{it}"))
            .collect();
        assert_eq!(pointers(&failure), expected);
    }
    // What a reference stands for may decide whether the values beside it are valid.
    let unclear = with(json!({"to": "ann", "body": {"c": from()}}));
    fixture.ok("tasks/create", unclear).await;
}

pub(crate) async fn a_task_that_others_used_is_kept_by_them(fixture: Fixture) {
    let tasks = json!({"tasks": [
        task(1, "root"), below(task(2, "first"), &[]), below(task(3, "second"), &[(2, false)]),
    ]});
    fixture.ok("tasks/create", tasks).await;
    fixture.ok("tasks/cancel", json!({"task_id": id(3)})).await;
    let failure = refused(&fixture, "tasks/delete", json!({"task_id": id(2)})).await;
    let details = failure.details().unwrap();
    assert_eq!(details.get("delete_first"), None);
    assert_eq!(details["kept_by"], json!([id(3)]));
}
