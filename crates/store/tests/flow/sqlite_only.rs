//! What a file has: a size, of which tasks may fill a part.

use std::fs;
use std::sync::Arc;

use panpan_runtime::CallRequest;
use panpan_runtime::ports::{Change, Documents as _, ExpectedState, Outcomes as _};
use panpan_store::{SMALLEST_SIZE_BYTES, SqliteOptions, SqliteStore};
use serde_json::{Value, json};

use crate::shared::{Folder, ManualClock};
use crate::support::{Fixture, calling, id, task};

const FULL: &str = "ERR_STORE_UNAVAILABLE";
const LARGE: usize = 1_000_000;

/// A store with the smallest size limit, and a fixture around it.
fn small() -> (Arc<SqliteStore>, Fixture) {
    let (clock, folder) = (ManualClock::new(), Arc::new(Folder::new()));
    let options = SqliteOptions {
        size_bytes: SMALLEST_SIZE_BYTES,
        ..SqliteOptions::default()
    };
    let store = SqliteStore::open_with(folder.path("store.db"), clock.clone(), options).unwrap();
    let store = Arc::new(store);
    (store.clone(), Fixture::over(store, clock, folder))
}

fn tasks_of(length: usize, number: u64) -> Value {
    let mut task = task(number, "filler");
    task["inputs"]["text"] = json!("x".repeat(length));
    json!({ "tasks": [task] })
}

/// The code of a refused call, or none. Its time is too short to repeat it.
async fn refused(fixture: &Fixture, operation: &str, input: Value) -> Option<String> {
    let request = CallRequest {
        timeout_ms: Some(1),
        ..CallRequest::from_wire(operation, input)
    };
    let called = fixture.dispatcher.dispatch(request).await.into_value();
    let failure = called.err()?;
    Some(failure.code().as_str().to_owned())
}

/// Adds tasks, smaller and smaller, until none fits; returns how many large ones were added.
async fn fill(fixture: &Fixture) -> u64 {
    let mut added = Vec::new();
    for (first, length) in [(1000, LARGE), (2000, 10_000), (3000, 0)] {
        let mut number = first;
        loop {
            let input = tasks_of(length, number);
            match refused(fixture, "tasks/create", input).await {
                Some(code) => break assert_eq!(code, FULL),
                None => number += 1,
            }
        }
        added.push(number - first);
    }
    added[0]
}

/// Changes a document as revoking a token does.
async fn revoke(store: &SqliteStore) {
    let change = Change {
        collection: "tokens".to_owned(),
        id: "ann".to_owned(),
        expect: ExpectedState::Anything,
        body: Some(json!({"revoked": true})),
    };
    store.apply(vec![change]).await.unwrap();
}

#[tokio::test]
async fn tasks_fill_half_of_the_file_and_can_be_ended_then() {
    let (store, fixture) = small();
    let worker = fixture.worker_with(1);
    let tasks = [1, 2].map(|number| calling(number, "held", "test/hold"));
    for task in tasks {
        fixture.execute(json!([task])).await;
    }
    fixture.wait_for_runs(1).await;
    let added = fill(&fixture).await;
    assert!((4..=8).contains(&added), "{added}");
    // Nothing is added or started, and the store is not full for others.
    let other = json!({"task_id": id(1000)});
    for (operation, input) in [
        ("tasks/create", tasks_of(LARGE, 300)),
        ("tasks/copy", other.clone()),
        ("tasks/execute", other.clone()),
    ] {
        let code = refused(&fixture, operation, input).await;
        assert_eq!(code.as_deref(), Some(FULL), "{operation}");
    }
    fixture.world.go.notify_one();
    fixture.wait_for(&id(1), "completed").await;
    assert_eq!(fixture.status(&id(2)).await, "pending");
    assert!(!store.state().is_full);
    revoke(&store).await;
    let length = fs::metadata(fixture.folder.path("store.db")).unwrap().len();
    assert!(length <= SMALLEST_SIZE_BYTES, "{length}");
    // Tasks can be cancelled and deleted, and others take their place.
    let last = json!({"task_id": id(1003)});
    fixture.ok("tasks/cancel", last).await;
    for number in 1000..1003 {
        let input = json!({"task_id": id(number)});
        fixture.ok("tasks/delete", input).await;
    }
    fixture.wait_for_runs(2).await;
    fixture.ok("tasks/create", tasks_of(LARGE, 300)).await;
    drop(worker);
}

#[tokio::test]
async fn a_full_disk_leaves_the_reserve_to_the_outcomes_of_running_tasks() {
    let (store, fixture) = small();
    let _worker = fixture.worker();
    fixture
        .execute(json!([calling(1, "held", "test/hold")]))
        .await;
    fixture.wait_for_runs(1).await;
    let waiting = json!({"tasks": [task(2, "waiting")]});
    fixture.ok("tasks/create", waiting).await;
    store.limit_growth(Some(0)).await.unwrap();
    let length = || fs::metadata(fixture.folder.path("store.db")).unwrap().len();
    let before = length();
    for number in 100..110 {
        let code = refused(&fixture, "tasks/create", tasks_of(LARGE, number)).await;
        assert_eq!(code.as_deref(), Some(FULL));
    }
    fixture.world.go.notify_one();
    fixture.wait_for(&id(1), "completed").await;
    revoke(&store).await;
    fixture.ok("tasks/delete", json!({"task_id": id(2)})).await;
    store.limit_growth(None).await.unwrap();
    assert!(length() < before + 2_000_000, "{}", length());
}
