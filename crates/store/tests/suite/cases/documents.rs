//! Documents: versions, and batches that apply completely or not at all.

use std::thread;

use panpan_runtime::ports::{Applied, Change, Document, ExpectedState};
use serde_json::{Value, json};

use crate::support::Fixture;

fn change(id: &str, expect: ExpectedState, body: impl Into<Option<Value>>) -> Change {
    Change {
        collection: "files".to_owned(),
        id: id.to_owned(),
        expect,
        body: body.into(),
    }
}

async fn apply(fixture: &Fixture, changes: impl Into<Vec<Change>>) -> Applied {
    fixture.store.apply(changes.into()).await.unwrap()
}

/// Writes one document unconditionally.
async fn put(fixture: &Fixture, id: &str, body: Value) -> u64 {
    match apply(fixture, [change(id, ExpectedState::Anything, body)]).await {
        Applied::All(versions) => versions[0].unwrap(),
        conflict @ Applied::Conflict { .. } => panic!("{conflict:?}"),
    }
}

async fn get(fixture: &Fixture, id: &str) -> Option<Document> {
    fixture.store.get("files", id).await.unwrap()
}

async fn ids(fixture: &Fixture, after: Option<&str>, limit: usize) -> Vec<String> {
    let listed = fixture.store.list("files", after, limit).await.unwrap();
    listed.into_iter().map(|document| document.id).collect()
}

pub(crate) async fn a_document_exists_from_creation_to_deletion(fixture: Fixture) {
    assert_eq!(get(&fixture, "a").await, None);
    let version = put(&fixture, "a", json!({"text": "hello"})).await;
    let document = Document {
        id: "a".to_owned(),
        version,
        body: json!({"text": "hello"}),
    };
    assert_eq!(get(&fixture, "a").await, Some(document.clone()));
    let listed = fixture.store.list("files", None, 9).await;
    assert_eq!(listed, Ok(vec![document]));
    let deleted = apply(
        &fixture,
        [change("a", ExpectedState::Version(version), None)],
    )
    .await;
    assert_eq!(deleted, Applied::All(vec![None]));
    assert_eq!(get(&fixture, "a").await, None);
    assert_eq!(ids(&fixture, None, 9).await, [""; 0]);
}

pub(crate) async fn a_body_is_stored_unchanged(fixture: Fixture) {
    let deep = (0..300).fold(json!(1), |body, _| json!([body]));
    for (number, body) in [
        json!(null),
        json!("\u{0}\u{1f99c}'\""),
        json!([1.5, -0.1, u64::MAX, i64::MIN, 1e300]),
        json!({"z": 1, "a": {"": []}}),
        json!("x".repeat(3_000_000)),
        deep,
    ]
    .into_iter()
    .enumerate()
    {
        let id = number.to_string();
        put(&fixture, &id, body.clone()).await;
        let found = get(&fixture, &id).await.unwrap();
        assert!(found.body == body, "body {number}");
    }
}

pub(crate) async fn a_change_conflicts_unless_its_expectation_is_met(fixture: Fixture) {
    let version = put(&fixture, "there", json!(0)).await;
    let wrong = ExpectedState::Version(version + 1);
    for (id, expect, found) in [
        ("there", ExpectedState::Absent, Some(version)),
        ("there", wrong, Some(version)),
        ("there", ExpectedState::Version(u64::MAX), Some(version)),
        ("nowhere", ExpectedState::Version(version), None),
        ("nowhere", ExpectedState::Version(0), None),
    ] {
        for body in [Some(json!(1)), None] {
            let applied = apply(&fixture, [change(id, expect, body)]).await;
            assert_eq!(applied, Applied::Conflict { change: 0, found }, "{id}");
        }
    }
    for (id, expect) in [
        ("there", ExpectedState::Version(version)),
        ("there", ExpectedState::Anything),
        ("nowhere", ExpectedState::Anything),
        ("elsewhere", ExpectedState::Absent),
    ] {
        let applied = apply(&fixture, [change(id, expect, json!(1))]).await;
        assert!(matches!(applied, Applied::All(_)), "{id} {expect:?}");
    }
    for expect in [ExpectedState::Anything, ExpectedState::Absent] {
        let applied = apply(&fixture, [change("void", expect, None)]).await;
        assert_eq!(applied, Applied::All(vec![None]));
    }
}

pub(crate) async fn a_conflict_changes_nothing_and_names_the_change(fixture: Fixture) {
    let kept = put(&fixture, "kept", json!(0)).await;
    let doomed = put(&fixture, "doomed", json!(0)).await;
    let applied = apply(
        &fixture,
        [
            change("new", ExpectedState::Absent, json!(1)),
            change("kept", ExpectedState::Version(kept), json!(1)),
            change("doomed", ExpectedState::Version(doomed), None),
            change("kept", ExpectedState::Absent, json!(2)),
            change("never", ExpectedState::Absent, json!(3)),
        ],
    )
    .await;
    let Applied::Conflict { change, found } = applied else {
        panic!("no conflict: {applied:?}");
    };
    assert_eq!(change, 3);
    assert!(found > Some(kept));
    assert_eq!(ids(&fixture, None, 9).await, ["doomed", "kept"]);
    for (id, version) in [("kept", kept), ("doomed", doomed)] {
        let document = get(&fixture, id).await.unwrap();
        assert_eq!((document.version, document.body), (version, json!(0)));
    }
}

pub(crate) async fn a_change_sees_earlier_changes_of_its_batch(fixture: Fixture) {
    let applied = apply(
        &fixture,
        [
            change("a", ExpectedState::Absent, json!(1)),
            change("a", ExpectedState::Anything, json!(2)),
            change("a", ExpectedState::Anything, None),
            change("a", ExpectedState::Absent, json!(3)),
        ],
    )
    .await;
    let Applied::All(versions) = applied else {
        panic!("a conflict: {applied:?}");
    };
    let found = get(&fixture, "a").await.unwrap();
    assert_eq!((Some(found.version), found.body), (versions[3], json!(3)));
    assert!(versions[0] < versions[1] && versions[1] < versions[3]);
    assert_eq!(versions[2], None);
}

pub(crate) async fn versions_rise_and_are_never_reused(fixture: Fixture) {
    let mut last = 0;
    for round in 0..5 {
        for id in ["a", "b"] {
            let version = put(&fixture, id, json!(round)).await;
            assert!(version > last);
            last = version;
        }
        apply(&fixture, [change("b", ExpectedState::Anything, None)]).await;
        apply(&fixture, [change("a", ExpectedState::Anything, None)]).await;
    }
}

pub(crate) async fn an_empty_batch_changes_nothing(fixture: Fixture) {
    assert_eq!(apply(&fixture, []).await, Applied::All(vec![]));
}

pub(crate) async fn a_collection_is_listed_in_byte_order_of_ids(fixture: Fixture) {
    let ordered = [
        "",
        "A",
        "B",
        "a",
        "a\0",
        "a ",
        "aa",
        "b",
        "\u{e9}",
        "\u{1f99c}",
    ];
    for id in ordered.iter().rev() {
        put(&fixture, id, json!(*id)).await;
    }
    assert_eq!(ids(&fixture, None, 99).await, ordered);
}

pub(crate) async fn a_list_continues_after_an_id(fixture: Fixture) {
    for id in ["a", "b", "c"] {
        put(&fixture, id, json!(id)).await;
    }
    for (after, limit, expected) in [
        (None, 0, &[][..]),
        (None, 2, &["a", "b"]),
        (None, usize::MAX, &["a", "b", "c"]),
        (Some("b"), 2, &["c"]),
        (Some("aa"), 1, &["b"]),
        (Some(""), 1, &["a"]),
        (Some("c"), 9, &[]),
    ] {
        assert_eq!(ids(&fixture, after, limit).await, expected);
    }
}

pub(crate) async fn collections_are_independent(fixture: Fixture) {
    put(&fixture, "a", json!("of files")).await;
    let elsewhere = Change {
        collection: "notes".to_owned(),
        ..change("a", ExpectedState::Absent, json!("of notes"))
    };
    apply(&fixture, [elsewhere]).await;
    apply(&fixture, [change("a", ExpectedState::Anything, None)]).await;
    let left = fixture.store.get("notes", "a").await.unwrap().unwrap();
    assert_eq!(left.body, json!("of notes"));
    assert_eq!(fixture.store.list("nowhere", None, 9).await, Ok(vec![]));
}

/// Each thread changes the version that it read; exactly one succeeds.
pub(crate) async fn only_one_of_many_threads_changes_a_version(fixture: Fixture) {
    for _ in 0..10 {
        let version = put(&fixture, "a", json!(0)).await;
        let changed = thread::scope(|threads| {
            let changes: Vec<_> = (0..8)
                .map(|_| threads.spawn(|| change_on_this_thread(&fixture, version)))
                .collect();
            let changed = changes.into_iter().map(|one| one.join().unwrap());
            changed.filter(|&changed| changed).count()
        });
        assert_eq!(changed, 1);
    }
}

fn change_on_this_thread(fixture: &Fixture, version: u64) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.unwrap();
    let change = change("a", ExpectedState::Version(version), json!(1));
    let applied = runtime.block_on(fixture.store.apply(vec![change]));
    matches!(applied, Ok(Applied::All(_)))
}
