//! A full store: recorded outcomes are still replayed, new keys are refused, and readiness and metrics report it.

use panpan_runtime::ports::{Change, Documents as _, ExpectedState};
use panpan_runtime::system::SystemClock;
use panpan_store::{SqliteOptions, SqliteStore};
use panpan_testkit::{Folder, Server, until};

/// Writes twenty documents of a megabyte into the store, or deletes them.
fn fill(folder: &Folder, with: Option<&str>) {
    let options = SqliteOptions {
        size_bytes: u64::MAX,
        ..SqliteOptions::default()
    };
    let file = folder.data().join("panpan.db");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = SqliteStore::open_with(file, std::sync::Arc::new(SystemClock), options).unwrap();
    for number in 0..20 {
        let change = Change {
            collection: "filling".to_owned(),
            id: number.to_string(),
            expect: ExpectedState::Anything,
            body: with.map(|text| text.into()),
        };
        runtime.block_on(store.apply(vec![change])).unwrap();
    }
}

fn is_ready(server: &Server) -> bool {
    server.get("/readyz").status == 200
}

#[test]
fn a_full_store_refuses_new_keys_and_recovers_without_a_restart() {
    let folder = Folder::new();
    let server = Server::run(
        folder
            .panpan(&["serve", "--listen", "127.0.0.1:0"])
            .env("PANPAN_STORE_MB", "16"),
    );
    assert_eq!(server.order("first").status, 200);
    assert!(is_ready(&server));
    fill(&folder, Some(&"x".repeat(1024 * 1024)));
    // The first call after the limit still uses the reserve.
    let mut number = 0;
    until("a store that is full", || {
        number += 1;
        let answer = server.order(&format!("filling-{number}"));
        assert!([200, 503].contains(&answer.status), "{answer:?}");
        answer.status == 503
    });
    let refused = server.order("refused");
    let failure = refused.json();
    assert_eq!(failure["code"], "ERR_STORE_UNAVAILABLE");
    assert_eq!(failure["details"]["reason"], "full");
    assert_eq!(failure["panpan"]["effect"], "none");
    assert_eq!(server.order("first").status, 200, "its outcome is replayed");
    let unkeyed = r#"{"operation": "demo/divide", "input": {"dividend": 6, "divisor": 3}}"#;
    assert_eq!(server.call("", unkeyed).status, 200);
    let readiness = server.get("/readyz");
    assert_eq!(readiness.status, 503);
    assert!(readiness.text().contains("full"), "{}", readiness.text());
    assert_eq!(server.get("/healthz").status, 200);
    assert!(
        server
            .get("/metrics")
            .text()
            .contains("\npanpan_store_full 1\n")
    );
    fill(&folder, None);
    until("room", || is_ready(&server));
    assert_eq!(server.order("refused").status, 200);
    assert!(
        server
            .get("/metrics")
            .text()
            .contains("\npanpan_store_full 0\n")
    );
}

#[test]
fn refused_anonymous_calls_are_counted_and_not_recorded() {
    let folder = Folder::new();
    let created = folder.run(&["token", "new", "ann", "--scope", "panpan:watch"]);
    let token = String::from_utf8(created.stdout).unwrap().trim().to_owned();
    let server = Server::start(&folder, &["--allow-anonymous=false"]);
    let start = std::time::Instant::now();
    for _ in 0..100 {
        let answer = server.call(
            "",
            r#"{"operation": "demo/divide", "input": {"dividend": 1}}"#,
        );
        assert_eq!(answer.status, 401, "{answer:?}");
    }
    let bearer = format!("authorization: Bearer {token}\r\n");
    let known = server.call(&bearer, r#"{"operation": "made/up", "input": {}}"#);
    assert_eq!(known.status, 404);
    let recent = r#"{"operation": "calls/recent", "input": {}}"#;
    let recorded = || server.call(&bearer, recent).json().to_string();
    until("the recording", || recorded().contains("made/up"));
    assert!(!recorded().contains("FORBIDDEN"), "{}", recorded());
    let metrics = server.get("/metrics");
    assert_eq!(metrics.status, 401);
    let lines = server.lines();
    let about = lines.iter().filter(|line| line.contains("FORBIDDEN"));
    // At most twenty lines in each started second.
    let seconds = usize::try_from(start.elapsed().as_secs()).unwrap() + 2;
    assert!(about.count() <= 20 * seconds, "{lines:?}");
}
