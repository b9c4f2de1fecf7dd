//! Tests for the agent view: one boolean, moves in order, size limits, no contradictions.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use panpan_failure::dialect::{AGENT_VIEW_BYTES_LIMIT, Dialect, Envelope, agent_view};
use panpan_failure::{
    Alternative, Effect, Failure, Kind, Redacted, Repeat, Upstream, Violation, codes,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn view(failure: &Redacted) -> Value {
    serde_json::from_str(&agent_view(failure, &|_| None)).unwrap()
}

fn of(failure: Failure) -> Value {
    view(&failure.redacted())["error"].clone()
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

#[test]
fn a_missing_article_reads_as_in_the_design() {
    let failure = Failure::new(Kind::of("HTTP_404").unwrap())
        .with_message("no article W-99")
        .with_actions(["List what exists with svc/listArticles, then ask for one of those"])
        .with_meaning("The article was deleted or never existed.")
        .with_detail("code", "ARTICLE_UNKNOWN")
        .redacted();
    let expected = r#"{"error":{"code":"HTTP_404","message":"no article W-99","retryable":false,"next":["change_input"],"actions":["List what exists with svc/listArticles, then ask for one of those"],"effect":"none","meaning":"The article was deleted or never existed.","details":{"code":"ARTICLE_UNKNOWN"}}}"#;
    assert_eq!(agent_view(&failure, &|_| None), expected);
}

#[test]
fn the_view_is_the_first_text_block_of_a_failing_tool() {
    let failure = Failure::new(codes::ERR_TIMEOUT).redacted();
    let document = Dialect::Mcp.render_failure(&failure, Envelope::default());
    assert_eq!(document["isError"], true);
    assert!(document.get("structuredContent").is_none());
    assert_eq!(
        document["content"][0]["text"],
        agent_view(&failure, &|_| None)
    );
}

#[test]
fn moves_come_in_the_order_they_should_be_tried() {
    let write = Repeat::OnlyWithoutEffect;
    for (code, effect, repeat, expected) in [
        ("HTTP_429", Effect::None, write, json!(["wait"])),
        (
            "HTTP_500",
            Effect::Unknown,
            Repeat::Allowed,
            json!(["wait", "ask_human"]),
        ),
        (
            "HTTP_500",
            Effect::Unknown,
            write,
            json!(["check_outcome", "ask_human"]),
        ),
        (
            "HTTP_503",
            Effect::Unknown,
            Repeat::Frozen,
            json!(["check_outcome"]),
        ),
        (
            "HTTP_503",
            Effect::None,
            Repeat::Frozen,
            json!(["ask_human"]),
        ),
        ("HTTP_400", Effect::None, write, json!(["change_input"])),
        ("HTTP_401", Effect::None, write, json!(["reauthenticate"])),
        (
            "HTTP_409",
            Effect::None,
            write,
            json!(["change_input", "change_state"]),
        ),
        (
            "ERR_OUTCOME_UNKNOWN",
            Effect::Unknown,
            write,
            json!(["check_outcome", "ask_human"]),
        ),
    ] {
        let failure = Failure::new(Kind::of(code).unwrap())
            .with_effect(effect)
            .with_repeat(repeat)
            .with_alternatives([]);
        assert_eq!(of(failure)["next"], expected, "{code} {effect} {repeat:?}");
    }
}

/// What the input has nothing to do with is not changed there.
#[test]
fn only_an_input_that_can_help_is_changed() {
    let address = json!({"url": "https://orders.example.com/"});
    for (code, input, expected) in [
        (codes::ERR_DNS_FAILURE, json!({"id": 7}), json!(["wait"])),
        (codes::ERR_DNS_FAILURE, json!({}), json!(["wait"])),
        (
            codes::ERR_DNS_FAILURE,
            address.clone(),
            json!(["wait", "change_input"]),
        ),
        (
            codes::ERR_BLOCKED_HOST,
            json!({"id": 7}),
            json!(["ask_human"]),
        ),
        (
            codes::ERR_BLOCKED_HOST,
            address,
            json!(["change_input", "ask_human"]),
        ),
    ] {
        let failure = Failure::new(code).with_parameters(object(input.clone()));
        assert_eq!(of(failure)["next"], expected, "{input}");
    }
    let slow = Failure::new(codes::EXECUTION_TIMEOUT).with_effect(Effect::None);
    assert_eq!(of(slow.clone())["next"], json!(["wait", "change_input"]));
    let answered = slow.with_upstream(Upstream::status(200));
    assert_eq!(of(answered)["next"], json!(["wait"]));
}

#[test]
fn a_refusal_that_names_wrong_members_is_about_the_input() {
    let refused = Failure::new(Kind::of("HTTP_428").unwrap());
    assert_eq!(of(refused.clone())["next"], json!(["ask_human"]));
    let named = refused.with_violations([Violation::missing("/If-Match")]);
    assert_eq!(of(named)["next"], json!(["change_input", "ask_human"]));
}

#[test]
fn a_long_wait_also_asks_a_person() {
    for (delay_ms, expected) in [
        (60_000, json!(["wait"])),
        (36_000_000, json!(["wait", "ask_human"])),
    ] {
        let failure = Failure::new(codes::ERR_HTTP_429_RATE_LIMITED).with_retry_after_ms(delay_ms);
        assert_eq!(of(failure)["next"], expected);
    }
}

#[test]
fn use_alternative_is_a_move_only_if_there_is_an_alternative() {
    let failure = Failure::new(codes::ERR_OUTCOME_TOO_LARGE);
    let named = failure
        .clone()
        .with_alternatives([Alternative::from("Read it with svc/get")]);
    assert_eq!(of(named)["next"], json!(["use_alternative"]));
    assert_eq!(
        of(failure.with_alternatives([]))["next"],
        json!(["ask_human"])
    );
}

#[test]
fn operations_in_actions_have_their_tool_names() {
    let failure = Failure::new(codes::ERR_TIMEOUT)
        .with_actions(["Call svc/list, then svc/get. Not a/b or GET/HEAD"])
        .redacted();
    let rename = |name: &str| name.strip_prefix("svc/").map(|rest| format!("svc__{rest}"));
    let text: Value = serde_json::from_str(&agent_view(&failure, &rename)).unwrap();
    let expected = json!(["Call svc__list, then svc__get. Not a/b or GET/HEAD"]);
    assert_eq!(text["error"]["actions"], expected);
}

/// The details of a service must not contradict the members of the view.
#[test]
fn details_do_not_repeat_members_of_the_view() {
    let failure = Failure::new(Kind::of("HTTP_400").unwrap())
        .with_message("limit may not exceed 100")
        .with_details(object(json!({
            "error": {"message": "limit may not exceed 100", "code": "LIMIT", "retryable": true},
            "retry_after": 5, "status": 400, "success": false, "isRetriable": true,
            "items": [{"retry": true}, {"name": "limit"}], "nothing": null, "max": 100,
        })));
    let expected = json!({"error": {"code": "LIMIT"}, "items": [{"name": "limit"}], "max": 100});
    assert_eq!(of(failure)["details"], expected);
}

/// Texts that only the details have are kept, whatever their member is called.
#[test]
fn details_keep_texts_that_the_view_does_not_have() {
    let failure = Failure::new(Kind::of("HTTP_400").unwrap())
        .with_message("validation failed")
        .with_details(object(json!({
            "status": "OOMKilled", "waiting_for": "dep-76", "next": "call without cursor",
            "errors": [{"path": "title", "message": "must not be blank", "status": 400}],
            "detail": "validation failed", "message": "failed", "wait": "30",
        })));
    let expected = json!({
        "status": "OOMKilled", "waiting_for": "dep-76", "next": "call without cursor",
        "errors": [{"path": "title", "message": "must not be blank"}],
    });
    assert_eq!(of(failure)["details"], expected);
}

#[test]
fn lists_and_texts_in_details_are_cut_to_what_fits() {
    let failure = Failure::new(Kind::of("HTTP_400").unwrap()).with_details(object(json!({
        "fields": (0..100).map(|it| format!("field {it} is wrong")).collect::<Vec<_>>(),
        "table": "users",
    })));
    let details = of(failure)["details"].clone();
    let fields = details["fields"].as_array().unwrap();
    assert_eq!(fields[0], "field 0 is wrong");
    let left_out = 100 - (fields.len() - 1);
    assert_eq!(fields.last().unwrap(), &json!(format!("… {left_out} more")));
    assert!(details.to_string().len() <= 800);

    let text = format!("begin {} end", "x".repeat(2000));
    let failure =
        Failure::new(Kind::of("HTTP_400").unwrap()).with_details(object(json!({"log": text})));
    let log = of(failure)["details"]["log"].as_str().unwrap().to_owned();
    assert!(
        log.starts_with("begin x") && log.ends_with("x end"),
        "{log}"
    );
}

/// The last line of a log is often the only one that says what failed.
#[test]
fn a_long_message_is_shown_with_its_end() {
    let log = format!("exit code 1\n{}error: no such type", "note\n".repeat(2000));
    let text = agent_view(
        &Failure::new(codes::TOOL_FAILED)
            .with_message(log)
            .redacted(),
        &|_| None,
    );
    assert!(text.len() > 3000 && text.len() <= AGENT_VIEW_BYTES_LIMIT);
    assert!(text.contains("exit code 1") && text.contains("error: no such type"));
}

/// A model that gets one field wrong in every item of a list needs to see a few of the violations.
#[test]
fn the_first_violations_are_shown_and_numbers_stay_numbers() {
    let shown = |count: usize, length: usize| {
        let pointer = format!("/{}", "ä".repeat(length - 1));
        let violation = Violation::value(pointer, "must be at most 100").actual(250);
        let failure = Failure::new(codes::INVALID_INPUT)
            .with_violations(std::iter::repeat_n(violation, count));
        let violations = of(failure)["violations"].as_array().unwrap().clone();
        assert_eq!(violations[0]["actual"], 250);
        let pointer = violations[0]["pointer"].as_str().unwrap();
        (
            violations.len(),
            pointer.chars().count(),
            pointer.ends_with('…'),
        )
    };
    assert_eq!(shown(8, 120), (8, 120, false));
    assert_eq!(shown(9, 121), (8, 121, true));
    assert_eq!(shown(100, 250), (8, 121, true));
}

/// An agent that reads `attempts: 4` does not start its own retries.
#[test]
fn attempts_are_shown_if_there_was_more_than_one() {
    for (attempts, shown) in [
        (0, Value::Null),
        (1, Value::Null),
        (2, json!(2)),
        (4, json!(4)),
    ] {
        let failure = Failure::new(codes::ERR_TIMEOUT).with_attempts(attempts);
        assert_eq!(of(failure)["attempts"], shown, "{attempts}");
    }
}

#[test]
fn the_view_of_a_usual_failure_is_small() {
    let failure = Failure::new(Kind::of("HTTP_429").unwrap())
        .with_message("api.example.com allows 60 requests a minute")
        .with_source("github")
        .with_operation("issues/list")
        .with_parameters(object(json!({"q": "x".repeat(5000)})))
        .with_upstream(Upstream::status(429).excerpt(&"y".repeat(5000)))
        .with_detail("limit", 60)
        .with_retry_after_ms(7000)
        .redacted();
    let text = agent_view(&failure, &|_| None);
    assert!(text.len() < 400, "{} bytes: {text}", text.len());
}

fn booleans_about_retrying(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                if name.to_lowercase().contains("retr") && !value.is_u64() {
                    found.push(value.clone());
                }
                booleans_about_retrying(value, found);
            }
        }
        Value::Array(items) => items
            .iter()
            .for_each(|it| booleans_about_retrying(it, found)),
        _ => {}
    }
}

#[test]
fn a_message_does_not_invite_to_repeat_a_call_that_must_not_be_repeated() {
    for (message, shown) in [
        (
            "The mail failed. Please retry the request.",
            "The mail failed.",
        ),
        ("Try again! The disk is full.", "The disk is full."),
        ("Please try again later.", "Please try again later."),
        ("The retry queue is full.", "The retry queue is full."),
        (
            "Rate limit hit. Please wait 5 seconds before retrying.",
            "Rate limit hit.",
        ),
        (
            "This deletes 14 files. Retry with confirm=true to proceed.",
            "This deletes 14 files. Retry with confirm=true to proceed.",
        ),
        (
            "Title too long. Try again with at most 80 characters.",
            "Title too long. Try again with at most 80 characters.",
        ),
        (
            "Not ready. Wait until get_status returns READY.",
            "Not ready. Wait until get_status returns READY.",
        ),
        (
            "Limit reached. Try again tomorrow.",
            "Limit reached. Try again tomorrow.",
        ),
        (
            "exit code 1\nretry: command not found\nretry(3);",
            "exit code 1\nretry: command not found\nretry(3);",
        ),
        ("waiter 3.5 is away", "waiter 3.5 is away"),
    ] {
        for may_repeat in [false, true] {
            let effect = if may_repeat {
                Effect::None
            } else {
                Effect::Unknown
            };
            let failure = Failure::new(codes::ERR_HTTP_500_SERVER_ERROR)
                .with_message(message)
                .with_effect(effect)
                .with_repeat(Repeat::OnlyWithoutEffect);
            let expected = if may_repeat { message } else { shown };
            assert_eq!(
                view(&failure.redacted())["error"]["message"],
                json!(expected)
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_view_has_one_boolean_about_retrying_and_keeps_its_limits(failure in common::redacted()) {
        let text = agent_view(&failure, &|_| None);
        prop_assert!(text.len() <= AGENT_VIEW_BYTES_LIMIT, "{} bytes", text.len());
        let view = view(&failure);
        let mut found = Vec::new();
        booleans_about_retrying(&view, &mut found);
        prop_assert_eq!(found, [json!(failure.may_repeat())]);
        let next = view["error"]["next"].as_array().unwrap().clone();
        prop_assert!(!next.is_empty());
        prop_assert_eq!(next.contains(&json!("wait")), failure.may_repeat());
        let has_delay = view["error"].get("retry_after_ms").is_some();
        prop_assert!(!has_delay || failure.may_repeat());
        prop_assert_eq!(next.contains(&json!("check_outcome")), failure.must_check_outcome());
    }
}
