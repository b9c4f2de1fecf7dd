//! Several stores on one database.

use std::sync::Arc;

use panpan_runtime::ports::{Claimed, Completed, Completion, Count, Outcomes as _};
use panpan_store::PostgresStore;
use panpan_testkit::PostgresServer;
use tokio::task::JoinSet;

use super::{name, new_database, open};
use crate::shared::ManualClock;
use crate::support::{LEASE_MS, at, claim_request, count, keep, scope, text};

#[tokio::test]
async fn a_second_store_sees_the_leases_and_outcomes_of_the_first() {
    let (address, clock) = (new_database(), ManualClock::new());
    let (first, second) = (open(&address, &clock), open(&address, &clock));
    let Ok(Claimed::Held { lease, .. }) = first.claim(claim_request(1, 1)).await else {
        panic!("not held");
    };
    let in_flight = Ok(Claimed::InFlight {
        remaining_ms: LEASE_MS,
    });
    assert_eq!(second.claim(claim_request(1, 1)).await, in_flight);
    assert_eq!(second.claim(claim_request(1, 2)).await, Ok(Claimed::Reused));
    let completion = Completion {
        lease,
        attempts: 1,
        end: keep("done"),
        without_effect: false,
        recording: None,
    };
    first.complete(completion).await.unwrap();
    let kept = second.kept(scope(1)).await.unwrap().unwrap();
    assert_eq!(text(&kept), "done");
}

#[tokio::test]
async fn a_lease_that_was_taken_over_by_another_store_is_lost() {
    let (address, clock) = (new_database(), ManualClock::new());
    let (first, second) = (open(&address, &clock), open(&address, &clock));
    let Ok(Claimed::Held { lease: late, .. }) = first.claim(claim_request(1, 1)).await else {
        panic!("not held");
    };
    clock.advance(LEASE_MS);
    let taken = second.claim(claim_request(1, 1)).await.unwrap();
    assert!(matches!(taken, Claimed::Held { .. }));
    assert_eq!(first.extend(late, LEASE_MS).await, Ok(false));
    let completion = Completion {
        lease: late,
        attempts: 1,
        end: keep("late"),
        without_effect: false,
        recording: None,
    };
    let superseded = Completed::Superseded { kept: None };
    assert_eq!(first.complete(completion).await, Ok(superseded));
}

/// Every key is claimed by many tasks of several stores at once, in different orders.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_callers_of_several_stores_get_each_key_once() {
    const KEYS: u8 = 40;
    let (address, clock) = (new_database(), ManualClock::new());
    let stores: Vec<Arc<PostgresStore>> =
        (0..3).map(|_| Arc::new(open(&address, &clock))).collect();
    let mut tasks = JoinSet::new();
    for (number, store) in stores.iter().enumerate() {
        for caller in 0..4 {
            let store = store.clone();
            tasks.spawn(async move {
                let mut held = Vec::new();
                for step in 0..KEYS {
                    let backwards = (number + caller) % 2 == 1;
                    let key = if backwards { KEYS - 1 - step } else { step };
                    let claimed = store.claim(claim_request(key, 1)).await.unwrap();
                    if let Claimed::Held { lease, .. } = claimed {
                        held.push(lease);
                    }
                }
                held
            });
        }
    }
    let mut held = tasks.join_all().await.concat();
    held.sort_by_key(|lease| lease.scope);
    let scopes: Vec<_> = held.iter().map(|lease| lease.scope).collect();
    assert_eq!(scopes, (0..KEYS).map(scope).collect::<Vec<_>>());
}

#[tokio::test]
async fn counts_of_several_stores_add_up() {
    let (address, clock) = (new_database(), ManualClock::new());
    let stores: Vec<_> = (0..3).map(|_| open(&address, &clock)).collect();
    let hours = (0..20).map(|hour| count("a", None, hour * 3_600_000, 6));
    let counts: Vec<Count> = hours.collect();
    for store in &stores {
        store.count(counts.clone());
    }
    for store in &stores {
        store.flush().await.unwrap();
    }
    let found = stores[0].counts(at(0)).await.unwrap();
    assert_eq!(found.len(), 20);
    assert!(found.iter().all(|it| it.calls == 18));
}

#[tokio::test]
async fn leases_follow_the_clock_of_the_database() {
    let address = new_database();
    let store = PostgresStore::open(&address).unwrap();
    store.claim(claim_request(1, 1)).await.unwrap();
    let lease = "SELECT lease_until - claimed_at = 1000 AND \
        claimed_at BETWEEN extract(epoch FROM clock_timestamp()) * 1000 - 60000 \
        AND extract(epoch FROM clock_timestamp()) * 1000 FROM panpan.keys";
    assert_eq!(PostgresServer::shared().sql(&name(&address), lease), "t");
}
