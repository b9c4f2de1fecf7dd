//! Properties of the response to any body.

use std::future::Future;

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::gateway::gateway;

/// A response as the specification defines it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer<'a> {
    jsonrpc: String,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<Error>,
    #[serde(borrow)]
    id: &'a RawValue,
}

#[derive(Deserialize)]
struct Error {
    #[serde(rename = "code")]
    _code: i64,
    #[serde(rename = "message")]
    _message: String,
}

fn is_answer(raw: &str) -> bool {
    let answer: Answer<'_> = serde_json::from_str(raw).unwrap();
    let is_id = answer.id.get() == "null" || !answer.id.get().starts_with(['{', '[', 't', 'f']);
    answer.jsonrpc == "2.0" && answer.result.is_some() != answer.error.is_some() && is_id
}

fn is_answered_well(body: &[u8]) -> bool {
    let Some(answer) = block_on(gateway().answer(body)) else {
        return true;
    };
    let text = std::str::from_utf8(&answer).unwrap();
    if !text.starts_with('[') {
        return is_answer(text);
    }
    let answers: Vec<&RawValue> = serde_json::from_str(text).unwrap();
    !answers.is_empty() && answers.iter().all(|answer| is_answer(answer.get()))
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().build().unwrap();
    runtime.block_on(work)
}

/// Texts that resemble requests.
fn nearly() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        Just("null".to_owned()),
        Just("\"2.0\"".to_owned()),
        Just("\"test/echo\"".to_owned()),
        Just("{\"a\":1,\"a\":2}".to_owned()),
        Just("[[]]".to_owned()),
        Just("\"\\ud800\"".to_owned()),
        "-?[0-9]{1,30}(\\.[0-9]{1,3})?([eE][0-9]{1,3})?",
        "\"[a-z./\\\\\"]{0,6}\"",
    ];
    let name = prop_oneof![
        Just("jsonrpc"),
        Just("method"),
        Just("id"),
        Just("params"),
        Just("other"),
        Just("_meta"),
    ];
    let member = (name, value).prop_map(|(name, value)| format!("\"{name}\":{value}"));
    let object = prop::collection::vec(member, 0..6).prop_map(|it| format!("{{{}}}", it.join(",")));
    let list =
        prop::collection::vec(object.clone(), 0..4).prop_map(|it| format!("[{}]", it.join(",")));
    prop_oneof![object, list]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_get_a_valid_response_or_none(body in prop::collection::vec(any::<u8>(), 0..64)) {
        prop_assert!(is_answered_well(&body));
    }

    #[test]
    fn near_requests_get_a_valid_response_or_none(body in nearly()) {
        prop_assert!(is_answered_well(body.as_bytes()), "{}", body);
    }

    #[test]
    fn any_number_is_repeated_verbatim_as_an_id(id in "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?") {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"test/echo","id":{id}}}"#);
        let answer = block_on(gateway().text(&body));
        let expected = format!(r#"{{"jsonrpc":"2.0","result":{{}},"id":{id}}}"#);
        prop_assert_eq!(answer, Some(expected));
    }
}
