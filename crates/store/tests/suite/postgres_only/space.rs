//! How many recordings are kept.

use panpan_runtime::ports::Outcomes as _;
use panpan_store::{PostgresOptions, PostgresStore};

use super::new_database;
use crate::support::{START_MS, at, recording};

#[tokio::test]
async fn a_sweep_keeps_the_newest_recordings_up_to_the_limit() {
    let options = PostgresOptions {
        recordings_limit: 10,
        ..PostgresOptions::default()
    };
    let store = PostgresStore::open_with(&new_database(), options).unwrap();
    for (noted, swept) in [(10_u32, 0), (1, 1), (3000, 3000)] {
        for call in 0..noted {
            let call = u128::from(noted) * 10_000 + u128::from(call);
            store.note(recording(call, START_MS, None));
            // The queue is limited.
            if call % 500 == 0 {
                store.flush().await.unwrap();
            }
        }
        store.flush().await.unwrap();
        let found = store.sweep(at(0)).await.unwrap();
        assert_eq!(found.recordings, swept);
        assert_eq!(store.recent(usize::MAX, false).await.unwrap().len(), 10);
    }
    assert_eq!(store.dropped(), 0);
    let state = store.state();
    assert!(state.used_bytes >= state.recordings_bytes && state.recordings_bytes > 0);
    assert_eq!((state.limit_bytes, state.is_full), (None, false));
}
