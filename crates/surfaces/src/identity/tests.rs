//! Tokens over a store: what they prove, and that nothing else is accepted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use panpan_failure::Failure;
use panpan_redact::Redactor;
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::{
    Applied, Change, Clock as _, Document, Documents, ExpectedState, StoreError,
};
use panpan_runtime::testing::TestClock;
use panpan_store::MemoryStore;
use serde_json::{Value, json};

use super::*;

struct Bench {
    clock: Arc<TestClock>,
    store: Arc<MemoryStore>,
    tokens: Tokens,
}

impl Bench {
    fn new() -> Self {
        let clock = Arc::new(TestClock::start());
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let tokens = Tokens::new(store.clone(), clock.clone());
        Self {
            clock,
            store,
            tokens,
        }
    }

    async fn token_of(&self, principal: &str) -> (String, TokenInfo) {
        self.create(NewToken {
            principal: principal.to_owned(),
            ..NewToken::default()
        })
        .await
    }

    async fn create(&self, new: NewToken) -> (String, TokenInfo) {
        let (text, info) = self.tokens.create(new).await.unwrap();
        (text.expose().clone(), info)
    }

    async fn refusal(&self, token: &str) -> Failure {
        let failure = self.tokens.identify(token).await.unwrap_err();
        assert_eq!(failure.clone().redacted().message(), failure.message());
        failure
    }

    fn after(&self, seconds: i64) -> Option<Timestamp> {
        Some(self.clock.now() + SignedDuration::from_secs(seconds))
    }
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn detail<'a>(failure: &'a Failure, name: &str) -> &'a Value {
    &failure.details().unwrap()[name]
}

fn reason(failure: &Failure) -> &Value {
    assert_eq!(failure.code().as_str(), "FORBIDDEN");
    assert_eq!(detail(failure, "authenticated"), false);
    detail(failure, "reason")
}

#[tokio::test(start_paused = true)]
async fn a_token_proves_its_principal_with_its_grants() {
    let bench = Bench::new();
    let (token, info) = bench
        .create(NewToken {
            principal: "ann".to_owned(),
            scopes: set(&["panpan:watch", "orders"]),
            resources: BTreeMap::from([
                ("file".to_owned(), set(&["read", "write"])),
                ("disk".to_owned(), set(&[])),
            ]),
            expires_at: None,
        })
        .await;
    let identity = bench.tokens.identify(&token).await.unwrap();
    assert_eq!(
        (identity.id.as_str(), info.principal.as_str()),
        ("ann", "ann")
    );
    assert_eq!(identity.scopes, info.scopes);
    assert_eq!(identity.resources["file"], info.resources["file"]);
    assert!(!identity.resources["disk"].is_empty());
    assert_eq!(bench.tokens.list().await.unwrap(), [info]);
}

#[tokio::test(start_paused = true)]
async fn tokens_of_one_principal_are_one_caller_and_are_revoked_separately() {
    let bench = Bench::new();
    let (old, old_info) = bench.token_of("ann").await;
    let (new, _) = bench.token_of("ann").await;
    let ids = [&old, &new].map(async |token| bench.tokens.identify(token).await.unwrap());
    for id in ids {
        assert_eq!(id.await.id, "ann");
    }
    bench.tokens.revoke(&old_info.id).await.unwrap();
    assert_eq!(reason(&bench.refusal(&old).await), "revoked");
    assert!(bench.tokens.identify(&new).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_token_with_one_changed_character_is_invalid() {
    let bench = Bench::new();
    let (token, _) = bench.token_of("ann").await;
    for (at, right) in token.char_indices() {
        for wrong in ('!'..='~').filter(|wrong| *wrong != right) {
            let mut flipped = token.clone();
            flipped.replace_range(at..=at, wrong.encode_utf8(&mut [0; 4]));
            let refused = bench.refusal(&flipped).await;
            assert_eq!(reason(&refused), "Invalid authentication token", "{at}");
        }
        let mut cut = token.clone();
        cut.remove(at);
        assert!(bench.tokens.identify(&cut).await.is_err(), "{at}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_refusal_of_an_invalid_token_gives_no_reason() {
    let bench = Bench::new();
    let (token, info) = bench.token_of("ann").await;
    let (expired, expired_info) = bench
        .create(NewToken {
            principal: "bob".to_owned(),
            expires_at: bench.after(1),
            ..NewToken::default()
        })
        .await;
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(reason(&bench.refusal(&expired).await), "expired");
    let secret = "0".repeat(64);
    let malformed = bench.refusal("hunter2").await;
    for token in [
        format!("panpan_{}_{secret}", info.id),
        format!("panpan_{}_{secret}", expired_info.id),
        format!("panpan_{}_{secret}", "0".repeat(12)),
        format!("{token}0"),
        String::new(),
        "panpan_".repeat(100_000),
    ] {
        let refused = bench.refusal(&token).await;
        assert_eq!(refused.message(), malformed.message());
        assert_eq!(refused.details(), malformed.details());
        assert_eq!(refused.recovery(), malformed.recovery());
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_is_valid_until_its_expiry() {
    let bench = Bench::new();
    let expires_at = bench.after(60);
    let new = |principal: &str| NewToken {
        principal: principal.to_owned(),
        expires_at,
        ..NewToken::default()
    };
    let (token, info) = bench.create(new("ann")).await;
    assert!(bench.tokens.any_valid().await.unwrap());
    tokio::time::advance(Duration::from_millis(59_999)).await;
    assert!(bench.tokens.identify(&token).await.is_ok());
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(reason(&bench.refusal(&token).await), "expired");
    assert_eq!(info.state(bench.clock.now()), TokenState::Expired);
    assert!(!bench.tokens.any_valid().await.unwrap());
    let past = bench.tokens.create(new("bob")).await.unwrap_err();
    assert!(matches!(past, TokensError::Expired(_)), "{past}");
}

#[tokio::test(start_paused = true)]
async fn revoking_a_principal_revokes_all_its_tokens_and_keeps_them_listed() {
    let bench = Bench::new();
    assert!(!bench.tokens.any_valid().await.unwrap());
    let (first, first_info) = bench.token_of("ann").await;
    let (second, _) = bench.token_of("ann").await;
    let (other, other_info) = bench.token_of("bob").await;
    let Revoked::Now(revoked) = bench.tokens.revoke("ann").await.unwrap() else {
        panic!("both were valid");
    };
    assert_eq!(revoked.len(), 2);
    assert!(
        revoked
            .iter()
            .all(|it| it.revoked_at == Some(bench.clock.now()))
    );
    for token in [&first, &second] {
        assert_eq!(reason(&bench.refusal(token).await), "revoked");
    }
    assert!(bench.tokens.identify(&other).await.is_ok());
    assert_eq!(bench.tokens.list().await.unwrap().len(), 3);
    for (name, expected) in [
        ("ann", Revoked::Before(revoked.clone())),
        ("cid", Revoked::Unknown),
        ("", Revoked::Unknown),
    ] {
        assert_eq!(bench.tokens.revoke(name).await.unwrap(), expected, "{name}");
    }
    let Revoked::Before(before) = bench.tokens.revoke(&first_info.id).await.unwrap() else {
        panic!("it was revoked with the principal");
    };
    assert_eq!(before[0].id, first_info.id);
    let Revoked::Now(by_text) = bench.tokens.revoke(&other).await.unwrap() else {
        panic!("the text of a token names it");
    };
    assert_eq!(by_text[0].id, other_info.id);
    assert!(!bench.tokens.any_valid().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn more_tokens_than_one_page_are_listed_and_revoked() {
    let bench = Bench::new();
    for _ in 0..600 {
        bench.token_of("ann").await;
    }
    assert_eq!(bench.tokens.list().await.unwrap().len(), 600);
    let revoked = bench.tokens.revoke("ann").await.unwrap();
    assert!(matches!(revoked, Revoked::Now(all) if all.len() == 600));
}

#[tokio::test(start_paused = true)]
async fn the_secret_appears_in_no_store_debug_output_or_log() {
    let bench = Bench::new();
    let new = NewToken {
        principal: "ann".to_owned(),
        ..NewToken::default()
    };
    let (text, info) = bench.tokens.create(new).await.unwrap();
    let secret = text.expose().rsplit('_').next().unwrap();
    let stored = bench.store.get("tokens", &info.id).await.unwrap().unwrap();
    let shown = format!("{text:?} {info:?} {:?}", bench.tokens);
    let logged = Redactor::new()
        .text(&format!("GET /?t={} failed", text.expose()))
        .into_owned();
    for text in [stored.body.to_string(), shown, logged] {
        assert!(!text.contains(secret), "{text}");
    }
    assert!(stored.body["hash"].as_str().unwrap().len() == 64);
    let info = serde_json::to_string(&info).unwrap();
    assert!(!info.contains("hash"), "{info}");
}

#[tokio::test(start_paused = true)]
async fn members_of_a_newer_version_survive_a_revocation() {
    let bench = Bench::new();
    let (_, info) = bench.token_of("ann").await;
    let mut stored = bench.store.get("tokens", &info.id).await.unwrap().unwrap();
    stored.body["note"] = json!("for the build");
    bench.put(&info.id, stored.body).await;
    bench.tokens.revoke("ann").await.unwrap();
    let stored = bench.store.get("tokens", &info.id).await.unwrap().unwrap();
    assert_eq!(stored.body["note"], "for the build");
}

#[tokio::test(start_paused = true)]
async fn invalid_names_create_no_token() {
    let bench = Bench::new();
    let ann = || NewToken {
        principal: "ann".to_owned(),
        ..NewToken::default()
    };
    for new in [
        NewToken::default(),
        NewToken {
            scopes: set(&["a b"]),
            ..ann()
        },
        NewToken {
            resources: BTreeMap::from([(String::new(), set(&["read"]))]),
            ..ann()
        },
        NewToken {
            resources: BTreeMap::from([("file".to_owned(), set(&["\u{7}"]))]),
            ..ann()
        },
    ] {
        let refused = bench.tokens.create(new).await.unwrap_err();
        assert!(matches!(refused, TokensError::Name(_)), "{refused}");
    }
    assert!(bench.tokens.list().await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_unavailable_store_identifies_no_caller() {
    let bench = Bench::new();
    let (token, info) = bench.token_of("ann").await;
    let tokens = Tokens::new(Arc::new(Unavailable), bench.clock.clone());
    let failure = tokens.identify(&token).await.unwrap_err();
    assert_eq!(failure.code().as_str(), "ERR_STORE_UNAVAILABLE");
    assert_eq!(detail(&failure, "reason"), "unreachable");
    assert_eq!(
        reason(&tokens.identify("hunter2").await.unwrap_err()),
        "Invalid authentication token"
    );
    assert!(matches!(
        tokens.list().await,
        Err(TokensError::Store(StoreError::Unreachable))
    ));
    bench.put(&info.id, json!({"principal": "ann"})).await;
    let failure = bench.refusal(&token).await;
    assert_eq!(detail(&failure, "reason"), "damaged");
}

impl Bench {
    async fn put(&self, id: &str, body: Value) {
        let change = Change {
            collection: "tokens".to_owned(),
            id: id.to_owned(),
            expect: ExpectedState::Anything,
            body: Some(body),
        };
        self.store.apply(vec![change]).await.unwrap();
    }
}

/// A store that is never reachable.
#[derive(Debug)]
struct Unavailable;

fn unreachable<T: Send + 'static>() -> BoxFuture<'static, Result<T, StoreError>> {
    Box::pin(std::future::ready(Err(StoreError::Unreachable)))
}

impl Documents for Unavailable {
    fn get<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
    ) -> BoxFuture<'a, Result<Option<Document>, StoreError>> {
        unreachable()
    }

    fn list<'a>(
        &'a self,
        _: &'a str,
        _: Option<&'a str>,
        _: usize,
    ) -> BoxFuture<'a, Result<Vec<Document>, StoreError>> {
        unreachable()
    }

    fn apply(&self, _: Vec<Change>) -> BoxFuture<'_, Result<Applied, StoreError>> {
        unreachable()
    }
}
