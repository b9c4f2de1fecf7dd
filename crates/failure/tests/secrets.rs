//! Tests that no secret in any field of a failure survives in any dialect, and that no innocent is changed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;
#[path = "common/corpus.rs"]
mod corpus;

use corpus::{INNOCENTS, SECRETS};
use panpan_failure::dialect::{Dialect, Envelope};
use panpan_failure::{Alternative, Cause, Failure, Marked, Upstream, Violation, codes};
use panpan_redact::{Markers, Redactor};
use serde_json::{Map, Value, json};

/// The same text in every field, in several forms.
fn planted(text: &str, also_as_a_name: bool) -> Failure {
    let forms = [
        json!(text),
        json!(format!("call failed with {text} while connecting")),
        json!(format!("https://example.com/path?first=1&x={text}")),
        json!(json!({"note": text}).to_string()),
        nested(json!(text), 100),
    ];
    let object: Map<String, Value> = forms
        .iter()
        .enumerate()
        .map(|(index, form)| (format!("form_{index}"), form.clone()))
        .collect();
    let prose = || forms[1].as_str().unwrap().to_owned();
    let mut keyed = object.clone();
    let name = if also_as_a_name { text } else { "name" };
    keyed.insert(name.to_owned(), json!(1));
    let alternative = Alternative {
        description: prose(),
        example: Some(text.to_owned()),
    };
    let violation = Violation::value(format!("/{name}"), prose())
        .expected(text)
        .actual(object.clone());
    let failure = Failure::new(codes::ERR_HTTP_503_UNAVAILABLE)
        .with_message(prose())
        .with_details(keyed)
        .with_violation(violation)
        .with_alternatives([alternative])
        .with_actions([prose(), text.to_owned()])
        .with_source(text)
        .with_operation(prose())
        .with_parameters(object.clone())
        .with_upstream(
            Upstream::status(503)
                .provider(text)
                .code(text)
                .excerpt(&prose()),
        )
        .with_cause(Cause {
            code: None,
            message: prose(),
        });
    object.into_iter().fold(failure, |failure, (name, value)| {
        failure.with_adjustment(name, value)
    })
}

fn nested(inner: Value, depth: usize) -> Value {
    (0..depth).fold(inner, |value, level| {
        if level % 2 == 0 {
            json!({"level": value})
        } else {
            json!([value])
        }
    })
}

/// Every form in which a failure is written.
fn written(failure: Failure) -> Vec<(String, String)> {
    let debug = format!("{failure:?}");
    let display = failure.to_string();
    let redacted = failure.redacted();
    let in_dialect = |dialect: Dialect| {
        let bytes = dialect.write_failure(&redacted, Envelope::default());
        (dialect.name().to_owned(), String::from_utf8(bytes).unwrap())
    };
    let canonical = serde_json::to_string(&redacted).unwrap();
    let plain = panpan_failure::plain_text(&redacted);
    let mut written: Vec<_> = Dialect::ALL.into_iter().map(in_dialect).collect();
    written.extend(
        [
            ("canonical", canonical),
            ("plain text", plain),
            ("debug", debug),
            ("display", display),
        ]
        .map(|(name, text)| (name.to_owned(), text)),
    );
    written
}

#[test]
fn no_secret_in_any_field_survives_in_any_dialect() {
    for secret in SECRETS {
        let escaped = json!(secret.hidden).to_string();
        for (form, text) in written(planted(secret.text, true)) {
            assert!(
                !text.contains(secret.hidden),
                "{} in {form}: {text}",
                secret.name
            );
            assert!(
                !text.contains(escaped.trim_matches('"')),
                "{} in {form}: {text}",
                secret.name
            );
        }
    }
}

#[test]
fn no_innocent_in_any_field_is_changed() {
    for innocent in INNOCENTS {
        let failure = planted(innocent, false);
        assert_eq!(*failure.clone().redacted(), failure, "{innocent}");
    }
}

#[test]
fn a_secret_known_by_its_name_is_removed_everywhere() {
    let failure = Failure::new(codes::ERR_HTTP_401_UNAUTHORIZED)
        .with_message("login of bob with correct horse battery staple was refused")
        .with_parameters(
            json!({"user": "bob", "password": "correct horse battery staple"})
                .as_object()
                .cloned()
                .unwrap(),
        )
        .with_upstream(
            Upstream::status(401).excerpt("bad credential 'correct horse battery staple'"),
        )
        .with_cause(Cause {
            code: None,
            message: "tried correct%20horse%20battery%20staple".to_owned(),
        });
    for (form, text) in written(failure) {
        if form != "display" {
            assert!(!text.contains("battery"), "{form}: {text}");
        }
    }
}

#[test]
fn the_actual_value_at_a_sensitive_pointer_is_removed() {
    let violation = Violation::value("/login/password", "is too short: abc9Zk")
        .expected("8 characters")
        .actual("abc9Zk");
    let failure = Failure::new(codes::INVALID_INPUT)
        .with_violation(violation)
        .redacted();
    let violation = &failure.violations()[0];
    assert_eq!(violation.actual, Some(json!("[REDACTED]")));
    assert_eq!(violation.pointer, "/login/password");
    assert!(!violation.reason.contains("abc9Zk"), "{}", violation.reason);
}

#[test]
fn a_marked_value_is_removed_everywhere() {
    let schema = json!({"properties": {"note": {"x-sensitive": true}, "passcode": {"format": "password"}, "seed": {"writeOnly": true}}});
    let markers = Markers::from_schema(&schema);
    let parameters = json!({"note": "meet at the old mill", "passcode": "swordfish", "seed": 424242, "city": "Bern"});
    let failure = Failure::new(codes::TOOL_FAILED)
        .with_message("cannot deliver 'meet at the old mill' to Bern")
        .with_parameters(parameters.as_object().cloned().unwrap());
    let marked = Marked {
        parameters: Some(&markers),
        details: None,
    };
    let redacted = failure.redacted_by(Redactor::new(), marked);
    let expected = json!({"note": "[REDACTED]", "passcode": "[REDACTED]", "seed": "[REDACTED]", "city": "Bern"});
    assert_eq!(json!(redacted.parameters().unwrap()), expected);
    assert_eq!(redacted.message(), "cannot deliver '[REDACTED]' to Bern");
}

#[test]
fn secrets_are_removed_before_an_excerpt_is_cut() {
    let secret = SECRETS
        .iter()
        .find(|secret| secret.name == "openai project key")
        .unwrap();
    let body = format!("{} {}", "x".repeat(985), secret.text);
    let failure = Failure::new(codes::INTERNAL)
        .with_upstream(Upstream::status(500).excerpt(&body))
        .redacted();
    let excerpt = failure.upstream().unwrap().excerpt.as_deref().unwrap();
    assert!(excerpt.ends_with("[REDACTED]"), "{excerpt}");
}

#[test]
fn a_secret_named_in_an_excerpt_is_removed_from_the_message() {
    let failure = Failure::new(codes::ERR_HTTP_401_UNAUTHORIZED)
        .with_message("login of bob with hunter2swordfish refused")
        .with_upstream(
            Upstream::status(401).excerpt(r#"{"user": "bob", "password": "hunter2swordfish"}"#),
        )
        .redacted();
    assert_eq!(failure.message(), "login of bob with [REDACTED] refused");
}

#[test]
fn learned_literals_are_removed() {
    let mut redactor = Redactor::new();
    redactor.learn_literal("plain-looking-credential");
    let failure =
        Failure::new(codes::TOOL_FAILED).with_message("sent plain-looking-credential upstream");
    let redacted = failure.redacted_by(redactor, Marked::default());
    assert_eq!(redacted.message(), "sent [REDACTED] upstream");
}

#[test]
fn a_disguised_credential_is_removed_from_every_field() {
    for written in [
        "Zk9/3hTq2L%3DmWx8Vb/N4Rj7%2BpQ",
        "Zk9~13hTq2L=mWx8Vb~1N4Rj7+pQ",
        "ZK9/3HTQ2L=MWX8VB/N4RJ7+PQ",
        "Zk9/3hTq2L=mW\nx8Vb/N4Rj7+pQ",
        "Zk9/3hTq2L=m",
        "Vb/N4Rj7+pQ",
    ] {
        let mut redactor = Redactor::new();
        redactor.learn_literal("Zk9/3hTq2L=mWx8Vb/N4Rj7+pQ");
        let failure = planted(written, true).redacted_by(redactor, Marked::default());
        let shown = serde_json::to_string(&failure).unwrap().to_lowercase();
        for part in ["zk9", "3htq2l", "x8vb", "n4rj7"] {
            assert!(!shown.contains(part), "{written}: {shown}");
        }
    }
}

#[test]
fn a_password_of_the_input_is_removed_in_base64() {
    let mut redactor = Redactor::new();
    redactor.learn_value(&json!({"user": "ann", "password": "hunter22"}), None);
    let failure = Failure::new(codes::TOOL_FAILED).with_message("sent aHVudGVyMjI= and aHVudA==");
    let redacted = failure.redacted_by(redactor, Marked::default());
    assert_eq!(redacted.message(), "sent [REDACTED] and aHVudA==");
}

#[test]
fn a_secret_in_json_inside_a_message_or_cause_is_removed_everywhere() {
    let body = r#"{"password":"hunter2swordfish"}"#;
    let cause = Cause {
        code: None,
        message: format!("posted {body} twice"),
    };
    let text = "login of bob with hunter2swordfish refused";
    let failures = [
        Failure::new(codes::TOOL_FAILED)
            .with_message(text)
            .with_cause(cause),
        Failure::new(codes::TOOL_FAILED)
            .with_message(body)
            .with_source(text),
    ];
    for failure in failures {
        let written = serde_json::to_string(&failure.redacted()).unwrap();
        assert!(!written.contains("swordfish"), "{written}");
        assert!(written.contains("login of bob with [REDACTED] refused"));
    }
}

#[test]
fn pointers_expectations_and_catalogue_texts_keep_words_that_equal_a_secret() {
    let default = Failure::new(codes::ERR_HTTP_401_UNAUTHORIZED);
    let action = default.recovery().required_actions[0].clone();
    let violation = Violation::value("/swordfish/password", "swordfish is not allowed")
        .expected("swordfish")
        .actual("swordfish");
    let parameters = json!({"password": "swordfish", "token": action, "swordfish": 1});
    let failure = default
        .clone()
        .with_parameters(parameters.as_object().cloned().unwrap())
        .with_violation(violation)
        .redacted();
    let violation = &failure.violations()[0];
    assert_eq!(violation.pointer, "/swordfish/password");
    assert_eq!(violation.expected.as_deref(), Some("swordfish"));
    assert_eq!(violation.actual, Some(json!("[REDACTED]")));
    assert_eq!(violation.reason, "[REDACTED] is not allowed");
    assert_eq!(failure.parameters().unwrap()["swordfish"], json!(1));
    assert_eq!(failure.recovery(), default.recovery());
}

#[test]
fn details_that_lost_a_secret_do_not_count_as_checked() {
    for (name, kept) in [("city", true), ("password", false)] {
        let details = json!({name: "swordfish"}).as_object().cloned().unwrap();
        let checked = Failure::new(codes::TOOL_FAILED)
            .redacted()
            .with_details_checked()
            .into_failure();
        let canonical = serde_json::to_value(checked.redacted()).unwrap();
        let mut canonical = canonical.as_object().cloned().unwrap();
        canonical.insert("details".to_owned(), json!(details));
        let failure = Failure::from_canonical(json!(canonical)).unwrap();
        assert!(failure.is_defined());
        assert_eq!(failure.redacted().is_defined(), kept, "{name}");
    }
}

#[test]
fn secrets_are_learned_from_many_violations() {
    const MANY: usize = 6000;
    let failure = (0..MANY).fold(Failure::new(codes::INVALID_INPUT), |failure, number| {
        let violation = Violation::value("/password", "is wrong").actual(format!("hunter{number}"));
        failure.with_violation(violation)
    });
    let redacted = failure.redacted();
    let hidden = json!("[REDACTED]");
    let mut actual = redacted.violations().iter().map(|found| &found.actual);
    assert!(actual.all(|actual| actual.as_ref() == Some(&hidden)));
}
