//! Tokens over a store: who they stand for, and that nothing else stands for anybody.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use panpan_failure::Failure;
use panpan_redact::Redactor;
use panpan_runtime::BoxFuture;
use panpan_runtime::ports::{Applied, Change, Clock as _, Document, Documents, Expect, StoreError};
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
        self.made(NewToken {
            principal: principal.to_owned(),
            ..NewToken::default()
        })
        .await
    }

    async fn made(&self, new: NewToken) -> (String, TokenInfo) {
        let (text, info) = self.tokens.create(new).await.unwrap();
        (text.expose().clone(), info)
    }

    async fn refusal(&self, presented: &str) -> Failure {
        let failure = self.tokens.identify(presented).await.unwrap_err();
        assert_eq!(failure.clone().redacted().message(), failure.message());
        failure
    }

    fn after(&self, seconds: i64) -> Option<Timestamp> {
        Some(self.clock.now() + SignedDuration::from_secs(seconds))
    }
}

fn set(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|&word| word.to_owned()).collect()
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
async fn a_token_stands_for_its_principal_with_what_it_was_given() {
    let bench = Bench::new();
    let (token, info) = bench
        .made(NewToken {
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
async fn two_tokens_of_one_principal_are_one_caller_and_each_ends_alone() {
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
async fn a_token_with_any_other_character_is_invalid() {
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
async fn what_is_wrong_with_an_invalid_token_is_not_told() {
    let bench = Bench::new();
    let (token, info) = bench.token_of("ann").await;
    let (gone, gone_info) = bench
        .made(NewToken {
            principal: "bob".to_owned(),
            expires_at: bench.after(1),
            ..NewToken::default()
        })
        .await;
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(reason(&bench.refusal(&gone).await), "expired");
    let secret = "0".repeat(64);
    let malformed = bench.refusal("hunter2").await;
    for presented in [
        format!("panpan_{}_{secret}", info.id),
        format!("panpan_{}_{secret}", gone_info.id),
        format!("panpan_{}_{secret}", "0".repeat(12)),
        format!("{token}0"),
        String::new(),
        "panpan_".repeat(100_000),
    ] {
        let refused = bench.refusal(&presented).await;
        assert_eq!(refused.message(), malformed.message());
        assert_eq!(refused.details(), malformed.details());
        assert_eq!(refused.recovery(), malformed.recovery());
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_is_valid_up_to_its_end_and_not_at_it() {
    let bench = Bench::new();
    let expires_at = bench.after(60);
    let new = |principal: &str| NewToken {
        principal: principal.to_owned(),
        expires_at,
        ..NewToken::default()
    };
    let (token, info) = bench.made(new("ann")).await;
    assert!(bench.tokens.any_valid().await.unwrap());
    tokio::time::advance(Duration::from_millis(59_999)).await;
    assert!(bench.tokens.identify(&token).await.is_ok());
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(reason(&bench.refusal(&token).await), "expired");
    assert_eq!(info.state(bench.clock.now()), TokenState::Expired);
    assert!(!bench.tokens.any_valid().await.unwrap());
    let late = bench.tokens.create(new("bob")).await.unwrap_err();
    assert!(matches!(late, TokensError::Expired(_)), "{late}");
}

#[tokio::test(start_paused = true)]
async fn a_principal_is_revoked_with_all_its_tokens_which_stay_listed() {
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
    let Revoked::Now(by_itself) = bench.tokens.revoke(&other).await.unwrap() else {
        panic!("a whole token names itself");
    };
    assert_eq!(by_itself[0].id, other_info.id);
    assert!(!bench.tokens.any_valid().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn more_tokens_than_a_page_are_all_listed_and_revoked() {
    let bench = Bench::new();
    for _ in 0..600 {
        bench.token_of("ann").await;
    }
    assert_eq!(bench.tokens.list().await.unwrap().len(), 600);
    let revoked = bench.tokens.revoke("ann").await.unwrap();
    assert!(matches!(revoked, Revoked::Now(all) if all.len() == 600));
}

#[tokio::test(start_paused = true)]
async fn the_secret_is_in_no_store_no_debug_form_and_no_log() {
    let bench = Bench::new();
    let new = NewToken {
        principal: "ann".to_owned(),
        ..NewToken::default()
    };
    let (text, info) = bench.tokens.create(new).await.unwrap();
    let secret = text.expose().rsplit('_').next().unwrap();
    let kept = bench.store.get("tokens", &info.id).await.unwrap().unwrap();
    let shown = format!("{text:?} {info:?} {:?}", bench.tokens);
    let logged = Redactor::new()
        .text(&format!("GET /?t={} failed", text.expose()))
        .into_owned();
    for place in [kept.body.to_string(), shown, logged] {
        assert!(!place.contains(secret), "{place}");
    }
    assert!(kept.body["hash"].as_str().unwrap().len() == 64);
    let told = serde_json::to_string(&info).unwrap();
    assert!(!told.contains("hash"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn what_a_newer_program_wrote_into_a_token_outlives_its_revocation() {
    let bench = Bench::new();
    let (_, info) = bench.token_of("ann").await;
    let mut kept = bench.store.get("tokens", &info.id).await.unwrap().unwrap();
    kept.body["note"] = json!("for the build");
    bench.put(&info.id, kept.body).await;
    bench.tokens.revoke("ann").await.unwrap();
    let kept = bench.store.get("tokens", &info.id).await.unwrap().unwrap();
    assert_eq!(kept.body["note"], "for the build");
}

#[tokio::test(start_paused = true)]
async fn names_that_will_not_do_make_no_token() {
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
async fn a_store_that_does_not_answer_proves_nobody_and_says_so() {
    let bench = Bench::new();
    let (token, info) = bench.token_of("ann").await;
    let away = Tokens::new(Arc::new(Away), bench.clock.clone());
    let failure = away.identify(&token).await.unwrap_err();
    assert_eq!(failure.code().as_str(), "ERR_STORE_UNAVAILABLE");
    assert_eq!(detail(&failure, "reason"), "unreachable");
    assert_eq!(
        reason(&away.identify("hunter2").await.unwrap_err()),
        "Invalid authentication token"
    );
    assert!(matches!(
        away.list().await,
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
            expect: Expect::Anything,
            body: Some(body),
        };
        self.store.apply(vec![change]).await.unwrap();
    }
}

/// A store that is away.
#[derive(Debug)]
struct Away;

fn away<T: Send + 'static>() -> BoxFuture<'static, Result<T, StoreError>> {
    Box::pin(std::future::ready(Err(StoreError::Unreachable)))
}

impl Documents for Away {
    fn get<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
    ) -> BoxFuture<'a, Result<Option<Document>, StoreError>> {
        away()
    }

    fn list<'a>(
        &'a self,
        _: &'a str,
        _: Option<&'a str>,
        _: usize,
    ) -> BoxFuture<'a, Result<Vec<Document>, StoreError>> {
        away()
    }

    fn apply(&self, _: Vec<Change>) -> BoxFuture<'_, Result<Applied, StoreError>> {
        away()
    }
}
