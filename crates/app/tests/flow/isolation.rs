//! -32004, and that nothing of the flow of another caller shows.

use panpan_testkit::{Folder, Server, http};
use serde_json::{Value, json};

use crate::{Flow, after, below, new_id, task};

/// What only the owner of the flow may read.
const PRIVATE: &str = "the private text of ann";

struct Callers {
    flow: Flow,
    /// Headers with their tokens.
    ann: String,
    bob: String,
    root: String,
    child: String,
}

/// A flow of ann, and bob, who has a token, too.
fn callers() -> Callers {
    let folder = Folder::new();
    let header = |name: &str| format!("authorization: Bearer {}\r\n", folder.token(name));
    let (ann, bob) = (header("ann"), header("bob"));
    let server = Server::start(&folder, &[]);
    let flow = Flow {
        server,
        _folder: folder,
    };
    let (root, child) = (new_id(), new_id());
    let private = || json!({"text": PRIVATE});
    let tasks = json!([
        task(&root, "demo/echo", private()),
        below(task(&child, "demo/echo", private()), &root),
    ]);
    let created = flow.rpc_with(&ann, "tasks.create", json!({"tasks": tasks}));
    assert_eq!(created["result"]["id"], root.as_str(), "{created}");
    Callers {
        flow,
        ann,
        bob,
        root,
        child,
    }
}

/// Calls about the flow: method, parameters, and whether the response to the owner has the private text.
fn calls(root: &str, child: &str) -> Vec<(&'static str, Value, bool)> {
    let of = |id: &str| json!({"task_id": id});
    let change = json!({"task_id": child, "updates": {"inputs": {}}});
    vec![
        ("tasks.get", of(child), true),
        ("tasks.tree", of(root), true),
        ("tasks.children", json!({"parent_id": root}), true),
        ("tasks.list", json!({"root_task_id": root}), true),
        ("tasks.statistics", json!({"root_task_id": root}), false),
        ("tasks.generations", of(root), false),
        ("tasks.copy", of(root), false),
        ("tasks.update", change, false),
        ("tasks.execute", of(root), false),
        ("tasks.cancel", of(child), false),
        ("tasks.delete", of(child), false),
    ]
}

#[test]
fn minus_32004_is_returned_for_the_task_of_another_caller() {
    let callers = callers();
    let Callers { flow, ann, bob, .. } = &callers;
    let before = flow.rpc_with(ann, "tasks.tree", json!({"task_id": callers.root}));
    for (method, params, _) in calls(&callers.root, &callers.child) {
        for headers in [bob.as_str(), ""] {
            let response = flow.rpc_with(headers, method, params.clone());
            let error = &response["error"];
            assert_eq!(error["code"], -32004, "{method}: {response}");
            let message = error["message"].as_str().unwrap();
            assert!(message.starts_with("Unauthorized"), "{response}");
            assert!(error["data"]["reason"].is_string(), "{response}");
            assert!(!response.to_string().contains(PRIVATE), "{response}");
            let advises_token = response.to_string().contains("bearer token");
            assert_eq!(advises_token, headers.is_empty(), "{response}");
        }
    }
    let path = format!("/tasks/{}/events", callers.root);
    let events = http::request(&flow.server.address, "GET", &path, bob, "");
    assert!(
        events.text().contains("TASK_NOT_OWNED"),
        "{}",
        events.text()
    );
    let anonymous = http::request(&flow.server.address, "GET", &path, "", "");
    assert_eq!(anonymous.status, 401);
    assert!(anonymous.header("www-authenticate").is_some());
    let streamed = json!({"task_id": callers.root, "use_streaming": true});
    let streamed = flow.rpc_with(bob, "tasks.execute", streamed);
    assert_eq!(streamed["error"]["code"], -32004);
    let after = flow.rpc_with(ann, "tasks.tree", json!({"task_id": callers.root}));
    assert_eq!(after, before, "nothing has changed");
}

/// The same calls by the owner: without the checks, the test above would see what it looks for.
#[test]
fn the_owner_reads_what_others_do_not() {
    let callers = callers();
    for (method, params, shows_text) in calls(&callers.root, &callers.child) {
        let response = callers.flow.rpc_with(&callers.ann, method, params);
        let is_refused = response["error"]["code"] == -32004;
        assert!(!is_refused, "{method}: {response}");
        let has_text = response.to_string().contains(PRIVATE);
        assert_eq!(has_text, shows_text, "{method}: {response}");
    }
}

#[test]
fn lists_and_counts_have_only_own_tasks() {
    let Callers { flow, ann, bob, .. } = callers();
    for (headers, total) in [(ann.as_str(), 2), (&bob, 0), ("", 0)] {
        for method in ["tasks.list", "tasks.statistics"] {
            let response = flow.rpc_with(headers, method, json!({}));
            assert_eq!(response["result"]["total"], total, "{method}: {response}");
        }
        let running = flow.rpc_with(headers, "tasks.running", json!({}));
        assert_eq!(running["result"]["total"], 0);
    }
}

#[test]
fn a_reference_to_the_task_of_another_caller_is_one_to_no_task() {
    let callers = callers();
    let referring = |to: &str| {
        let new = || task(&new_id(), "demo/echo", json!({}));
        let mut copy = new();
        copy["origin_type"] = json!("copy");
        copy["original_task_id"] = json!(to);
        [
            (-32010, below(new(), to)),
            (-32011, after(new(), json!([{"id": to}]))),
            (-32005, copy),
        ]
    };
    let unknown = new_id();
    let pairs = referring(&callers.root)
        .into_iter()
        .zip(referring(&unknown));
    for ((code, foreign), (_, missing)) in pairs {
        let error = |task: Value| {
            let response = callers.flow.rpc_with(&callers.bob, "tasks.create", task);
            response["error"].clone()
        };
        let (foreign, missing) = (error(foreign), error(missing));
        assert_eq!(foreign["code"], code, "{foreign}");
        let reason = |error: &Value| error["data"]["reason"].clone();
        assert_eq!(reason(&foreign), reason(&missing), "{foreign}");
        assert_eq!(foreign["code"], missing["code"], "{missing}");
    }
}

#[test]
fn a_task_cannot_be_created_in_the_name_of_another_caller() {
    let Callers { flow, bob, .. } = callers();
    let id = new_id();
    let as_user = |user: &str| {
        let mut task = task(&id, "demo/echo", json!({}));
        task["user_id"] = json!(user);
        task
    };
    let changed = json!({"task_id": id, "updates": {"user_id": "ann"}});
    let code = |response: &Value| response["error"]["code"].clone();
    for (method, params, expected) in [
        ("tasks.create", as_user("ann"), json!(-32004)),
        (
            "tasks.create",
            json!({"tasks": [as_user("ann")]}),
            json!(-32004),
        ),
        (
            "tasks.execute",
            json!({"tasks": [as_user("ann")]}),
            json!(-32004),
        ),
        ("tasks.create", as_user("bob"), Value::Null),
        ("tasks.update", changed, json!(-32004)),
    ] {
        let response = flow.rpc_with(&bob, method, params);
        assert_eq!(code(&response), expected, "{method}: {response}");
    }
}
