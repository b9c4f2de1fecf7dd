//! What goes on while tasks run: cancelling elsewhere, progress, and handlers that panic.

use std::sync::Arc;

use panpan_contract::operation::{OperationSpec, OperationType};
use panpan_failure::Failure;
use panpan_flow::WorkerSettings;
use panpan_runtime::{Context, Registration};
use serde_json::{Value, json};

use crate::support::{Fixture, calling, id, task};

/// A lease after which no test waits.
const LONG_LEASE_MS: u64 = 3_600_000;

/// How soon a worker learns of what happened to its tasks.
const LOOK_MS: u64 = 1000;

fn settings(concurrency: usize) -> WorkerSettings {
    WorkerSettings {
        concurrency,
        lease_ms: LONG_LEASE_MS,
        ..WorkerSettings::default()
    }
}

pub(crate) async fn a_task_that_was_cancelled_elsewhere_stops_soon(fixture: Fixture) {
    let other = fixture.with_the_same_ids();
    let _worker = fixture.worker_with_lease(settings(1));
    fixture
        .execute(json!([calling(1, "held", "test/hold")]))
        .await;
    fixture.wait_for_runs(1).await;
    other.ok("tasks/cancel", json!({"task_id": id(1)})).await;
    // Runs once the handler of the first one has stopped.
    fixture.execute(json!([task(2, "next")])).await;
    while fixture.status(&id(2)).await != "completed" {
        fixture.clock.advance_when_asleep(LOOK_MS).await;
        assert!(fixture.clock.elapsed_ms() < LONG_LEASE_MS / 3);
    }
}

pub(crate) async fn progress_is_written_long_before_the_lease_ends(fixture: Fixture) {
    let _worker = fixture.worker_with_lease(settings(1));
    fixture
        .execute(json!([calling(1, "half", "test/half")]))
        .await;
    fixture.wait_for_runs(1).await;
    while fixture.task(&id(1)).await["progress"] != 0.5 {
        fixture.clock.advance_when_asleep(LOOK_MS).await;
        assert!(fixture.clock.elapsed_ms() < LONG_LEASE_MS / 3);
    }
    fixture.world.go.notify_one();
    fixture.wait_for(&id(1), "completed").await;
}

pub(crate) async fn a_handler_that_panics_ends_its_task(fixture: Fixture) {
    let spec = OperationSpec::new("test/panic".parse().unwrap(), OperationType::Mutation);
    let panics = Registration::new(spec, |_: Context, _: Arc<Value>| async {
        panic!("a handler of a test panics");
        #[expect(unreachable_code, reason = "it names the type of the result")]
        Ok::<Value, Failure>(Value::Null)
    });
    fixture.offer(vec![panics], |_| true);
    let _worker = fixture.worker();
    fixture
        .execute(json!([calling(1, "panics", "test/panic")]))
        .await;
    let failed = fixture.wait_for(&id(1), "failed").await;
    assert_eq!(failed["failure"]["code"], "INTERNAL");
    assert_eq!(failed["attempts"], 1);
}
