//! Applies overlays to imported operations, and checks the reported problems.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

use panpan_contract::binding::{HttpBinding, SuccessBodies};
use panpan_contract::contract_file::{self, ContractFile};
use panpan_contract::operation::{KeyRule, OperationSpec, Visibility};
use panpan_failure::{Category, Effect};
use panpan_openapi::{ImportOptions, Overlay, apply_overlay, import, parse};
use serde_json::{Value, json};

fn pets() -> Vec<OperationSpec> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/documents");
    let document = parse(&std::fs::read(folder.join("pets.yaml")).unwrap()).unwrap();
    import(&document, &ImportOptions::new("pets"))
        .unwrap()
        .operations
}

fn applied(overlay: &str) -> Result<Vec<OperationSpec>, Vec<(String, String)>> {
    let overlay = Overlay::read(overlay.as_bytes()).unwrap();
    let mut operations = pets();
    match apply_overlay(&mut operations, &overlay) {
        Ok(()) => Ok(operations),
        Err(problems) => {
            assert_eq!(operations, pets(), "a refused overlay changes nothing");
            Err(problems
                .into_iter()
                .map(|it| (it.pointer, it.message))
                .collect())
        }
    }
}

fn named<'a>(operations: &'a [OperationSpec], name: &str) -> &'a OperationSpec {
    operations
        .iter()
        .find(|it| it.name.as_str() == name)
        .unwrap()
}

fn rules(spec: &OperationSpec) -> Vec<(Value, String)> {
    let binding = HttpBinding::of(spec).unwrap().unwrap();
    let rules = binding.rules.iter();
    rules
        .map(|it| (serde_json::to_value(&it.fits).unwrap(), it.code.to_string()))
        .collect()
}

#[test]
fn an_overlay_changes_matching_operations() {
    let operations = applied(
        r#"
operations:
  - match: pets/*Pet*
    title: About pets
    description: Edited by hand.
  - match: pets/*_photo
    hide: true
  - match: pets/createPet
    rename: {HTTP_409: PET_EXISTS}
    effects: {HTTP_5XX: none}
    errors:
      - {code: PET_REFUSED, description: The shop refuses., category: CLIENT_ERROR}
    idempotency: {idempotent: false, key: required}
    idempotency_header: X-Idempotency
    success_bodies: as_sent
    rules:
      - when: {status: 200, body: {pointer: /ok, equals: false}}
        code: PET_REFUSED
        effect: none
"#,
    )
    .unwrap();
    let create = named(&operations, "pets/createPet");
    assert_eq!(create.title.as_deref(), Some("About pets"));
    assert_eq!(create.description.as_deref(), Some("Edited by hand."));
    assert_eq!(create.idempotency.key, KeyRule::Required);
    assert_eq!(create.definition("HTTP_409"), None);
    let exists = create.definition("PET_EXISTS").unwrap();
    assert_eq!(exists.kind().unwrap().category(), Category::ClientError);
    assert_eq!(
        create.definition("HTTP_5XX").unwrap().effect,
        Some(Effect::None)
    );
    assert!(create.definition("PET_REFUSED").is_some());
    let binding = HttpBinding::of(create).unwrap().unwrap();
    assert_eq!(binding.idempotency_header.as_deref(), Some("X-Idempotency"));
    assert_eq!(binding.success_bodies, SuccessBodies::AsSent);
    assert_eq!(
        rules(create),
        [
            (
                json!({"status": 200, "body": {"pointer": "/ok", "equals": false}}),
                "PET_REFUSED".to_owned()
            ),
            (json!({"status": 409}), "PET_EXISTS".to_owned()),
        ]
    );
    for spec in &operations {
        let is_hidden = spec.name.as_str().ends_with("_photo");
        assert_eq!(
            spec.visibility == Visibility::Internal,
            is_hidden,
            "{}",
            spec.name
        );
    }
    let mut file = ContractFile::new("pets");
    file.operations = operations;
    file.definitions = definitions();
    assert_eq!(contract_file::check(file.to_text().as_bytes()).err(), None);
}

#[test]
fn an_overlay_sets_call_settings_and_a_later_line_wins() {
    use panpan_contract::circuit::CircuitRule;
    use panpan_contract::operation::Outputs;
    use panpan_contract::retry::RetryRule;
    let operations = applied(
        r#"
operations:
  - match: "*"
    timeout_ms: 120000
    retry: off
    patience_ms: 1000
    circuit: {row: 2}
    outputs: strict
  - match: pets/createPet
    retry: {categories: [RATE_LIMIT]}
    circuit: "off"
"#,
    )
    .unwrap();
    for spec in &operations {
        let is_create = spec.name.as_str() == "pets/createPet";
        assert_eq!(spec.timeout_ms, Some(120_000));
        assert_eq!(spec.patience_ms, Some(1000));
        assert_eq!(spec.outputs, Some(Outputs::Strict));
        assert_eq!(spec.circuit == Some(CircuitRule::Off), is_create);
        assert_eq!(spec.retry == Some(RetryRule::OFF), !is_create);
        let categories = spec.retry.and_then(|rule| rule.categories);
        assert_eq!(categories.is_some(), is_create);
    }
    let mut file = ContractFile::new("pets");
    file.operations = operations.clone();
    file.definitions = definitions();
    let text = file.to_text();
    let read = contract_file::check(text.as_bytes()).unwrap();
    assert_eq!(read.operations, operations);
    for wrong in [
        "retry: sometimes",
        "retry: {retries: 1}",
        "timeout_ms: 0",
        "circuit: {trials: 0}",
        "outputs: loose",
    ] {
        let overlay = format!("operations:\n  - match: '*'\n    {wrong}\n");
        assert!(Overlay::read(overlay.as_bytes()).is_err(), "{wrong}");
    }
}

fn definitions() -> serde_json::Map<String, Value> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/documents");
    let document = parse(&std::fs::read(folder.join("pets.yaml")).unwrap()).unwrap();
    import(&document, &ImportOptions::new("pets"))
        .unwrap()
        .definitions
}

#[test]
fn a_renamed_range_does_not_affect_narrower_statuses() {
    let renamed = |lines: &str| {
        let overlay = format!("operations: [{{match: pets/listPets, rename: {{{lines}}}}}]");
        let operations = applied(&overlay).unwrap();
        let rules = rules(named(&operations, "pets/listPets")).into_iter();
        rules
            .map(|(pattern, code)| format!("{} {code}", pattern["status"]))
            .collect::<Vec<_>>()
    };
    assert_eq!(renamed("HTTP_429: SLOW_DOWN"), ["429 SLOW_DOWN"]);
    assert_eq!(
        renamed("HTTP_4XX: ODD"),
        ["400 HTTP_400", "429 HTTP_429", "\"4XX\" ODD"]
    );
    // `default` does not include a range that the document describes.
    assert_eq!(
        renamed("HTTP_DEFAULT: ODD, HTTP_400: WRONG"),
        ["400 WRONG", "429 HTTP_429", "\"5XX\" ODD"]
    );
}

#[test]
fn a_line_without_effect_or_with_an_invalid_value_is_a_problem() {
    for (line, pointer) in [
        ("{match: pets/nothing}", "/operations/0/match"),
        (
            "{match: 'pets/*', rename: {HTTP_418: TEAPOT}}",
            "/operations/0/rename/HTTP_418",
        ),
        (
            "{match: 'pets/*', effects: {HTTP_418: none}}",
            "/operations/0/effects/HTTP_418",
        ),
        (
            "{match: pets/listPets, rename: {HTTP_429: HTTP_400}}",
            "/operations/0/rename/HTTP_429",
        ),
        (
            "{match: pets/listPets, rename: {HTTP_429: INTERNAL}}",
            "/operations/0/rename/HTTP_429",
        ),
        ("{match: pets/listPets, title: ' '}", "/operations/0/title"),
        (
            "{match: pets/listPets, idempotency: {key: required}}",
            "/operations/0/idempotency/key",
        ),
        (
            "{match: pets/listPets, idempotency_header: 'a b'}",
            "/operations/0/idempotency_header",
        ),
        (
            "{match: pets/listPets, errors: [{code: HTTP_429, description: Again.}]}",
            "/operations/0/errors/0/code",
        ),
        (
            "{match: pets/listPets, errors: [{code: NOT_FOUND, description: A code of the protocol.}]}",
            "/operations/0/errors/0",
        ),
        (
            "{match: pets/listPets, rules: [{when: {status: 200}, code: UNDECLARED}]}",
            "/operations/0/rules/0/code",
        ),
    ] {
        let problems = applied(&format!("operations: [{line}]")).unwrap_err();
        let pointers: Vec<_> = problems
            .iter()
            .map(|(pointer, _)| pointer.as_str())
            .collect();
        assert_eq!(pointers, [pointer], "{line}: {problems:?}");
    }
}

#[test]
fn all_problems_are_reported_at_once() {
    let problems =
        applied("operations: [{match: a}, {match: 'pets/*', rename: {HTTP_499: B_C}}, {match: c}]");
    let pointers: Vec<_> = problems
        .unwrap_err()
        .into_iter()
        .map(|(it, _)| it)
        .collect();
    assert_eq!(
        pointers,
        [
            "/operations/0/match",
            "/operations/1/rename/HTTP_499",
            "/operations/2/match"
        ]
    );
}

#[test]
fn an_overlay_is_read_strictly_and_written_back() {
    for (text, expected_text) in [
        ("operations: [{match: a, hidden: true}]", "hidden"),
        ("operations: [{hide: true}]", "match"),
        ("lines: []", "lines"),
        (
            "operations: [{match: a, effects: {HTTP_500: some}}]",
            "none",
        ),
        (
            "operations: [{match: a, rename: {HTTP_500: lower}}]",
            "upper-case",
        ),
    ] {
        let error = Overlay::read(text.as_bytes()).unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains(expected_text), "{cause}");
    }
    let text = "operations: [{match: a, hide: true, effects: {HTTP_500: applied}}]";
    let overlay = Overlay::read(text.as_bytes()).unwrap();
    let written = serde_json::to_value(&overlay).unwrap();
    assert_eq!(written, parse(text.as_bytes()).unwrap());
}

#[test]
fn an_overlay_can_be_written_in_toml() {
    let overlay: Overlay = toml::from_str(
        r#"
        [[operations]]
        match = "pets/createPet"
        idempotency = { idempotent = true }
        rename = { HTTP_409 = "PET_EXISTS" }
        effects = { PET_EXISTS = "none" }

        [[operations.rules]]
        when = { status = "4XX", header = { name = "X-Reason", contains = "quota" } }
        code = "ERR_RATE_LIMITED"
        "#,
    )
    .unwrap();
    let mut operations = pets();
    apply_overlay(&mut operations, &overlay).unwrap();
    let create = named(&operations, "pets/createPet");
    assert!(create.idempotency.idempotent);
    assert_eq!(
        create.definition("PET_EXISTS").unwrap().effect,
        Some(Effect::None)
    );
    let codes: Vec<_> = rules(create).into_iter().map(|(_, code)| code).collect();
    assert_eq!(codes, ["ERR_RATE_LIMITED", "PET_EXISTS"]);
}
