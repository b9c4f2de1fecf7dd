//! The size limit of stored outcomes.

use panpan_contract::{digest, hex};
use panpan_failure::{Effect, Failure, codes};
use panpan_runtime::{Settings, json};
use serde_json::{Value, json};

use crate::support::{
    Fixture, ScriptedHandler, Step, Storage, detail, failure, mutation, outcome_json, result_of,
    settings,
};

const LIMIT: usize = 4096;

fn fixture(storage: &Storage, step: Step) -> Fixture {
    let settings = Settings {
        kept_output_bytes_limit: LIMIT,
        ..settings()
    };
    storage.fixture_with([mutation(ScriptedHandler::of([step]))], settings)
}

/// A JSON string of this many bytes, including the quotes.
fn output(bytes: usize) -> Value {
    json!("x".repeat(bytes - 2))
}

pub(crate) async fn an_output_up_to_the_limit_is_replayed_in_full(storage: Storage) {
    let fixture = fixture(&storage, Step::Return(output(LIMIT)));
    let first = fixture.call("k").await;
    let again = fixture.call("k").await;
    assert_eq!(result_of(&first).len(), LIMIT);
    assert_eq!((again.outcome, again.replayed), (first.outcome, true));
}

pub(crate) async fn an_output_beyond_the_limit_is_returned_once_and_then_described(
    storage: Storage,
) {
    let fixture = fixture(&storage, Step::Return(output(LIMIT + 1)));
    let first = fixture.call("k").await;
    assert_eq!(result_of(&first), output(LIMIT + 1).to_string());
    assert!(first.expires_at.is_some());
    let again = fixture.call("k").await;
    assert_eq!((again.replayed, again.expires_at), (true, first.expires_at));
    let described = failure(again);
    assert_eq!(described.code().as_str(), "ERR_OUTCOME_TOO_LARGE");
    assert_eq!(described.effect(), Effect::Applied);
    assert_eq!(detail(&described, "output_bytes").unwrap(), LIMIT + 1);
    let expected = hex(&digest(&output(LIMIT + 1)));
    assert_eq!(detail(&described, "output_sha256").unwrap(), &expected);
}

pub(crate) async fn a_failure_beyond_the_limit_keeps_its_code_and_reports_its_size(
    storage: Storage,
) {
    let large = Failure::new(codes::INSUFFICIENT_FUNDS)
        .with_message("no money")
        .with_detail("ledger", "x".repeat(LIMIT))
        .with_effect(Effect::None);
    let fixture = fixture(&storage, Step::Fail(large));
    let first = fixture.call("k").await;
    let bytes = outcome_json(&first).len();
    assert!(bytes > LIMIT);
    assert!(fixture.kept("k").await.unwrap().len() <= LIMIT);
    let again = fixture.call("k").await;
    let (id, described) = (failure(first).id(), failure(again));
    assert_eq!(described.code().as_str(), "INSUFFICIENT_FUNDS");
    assert_eq!((described.effect(), described.id()), (Effect::None, id));
    assert_eq!(detail(&described, "failure_bytes").unwrap(), bytes);
    assert!(detail(&described, "failure_sha256").is_some());
    assert_eq!(detail(&described, "ledger"), None);
}

pub(crate) async fn a_deeply_nested_output_is_replayed(storage: Storage) {
    let deep = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let output = deep(json::DEPTH_LIMIT);
    let fixture = fixture(&storage, Step::Return(output.clone()));
    for replayed in [false, true] {
        let answer = fixture.call("k").await;
        assert_eq!(answer.replayed, replayed);
        assert_eq!(answer.into_value().unwrap(), output);
    }
}
