//! Operations and the failures they declare: the call dialect, the operation, problem details,
//! statuses.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../../failure/tests/common/mod.rs"]
mod common;

use common::native;
use panpan_contract::operation::{Idempotency, OperationSpec};
use panpan_failure::catalogue::Objection;
use panpan_failure::dialect::{Dialect, Envelope, detect};
use panpan_failure::{
    Category, Code, ErrorDefinition, Facts, Failure, Kind, KindError, Remedies, Remedy,
    StatusPattern, catalogue, codes,
};
use serde_json::{Value, json};

fn file_not_found() -> Kind {
    let facts = Facts {
        category: Some(Category::ClientError),
        http_status: Some(404),
        ..Facts::default()
    };
    Kind::declared(Code::new("FILE_NOT_FOUND").unwrap(), facts).unwrap()
}

#[test]
fn a_call_error_has_the_documented_payload() {
    let failure = Failure::new(file_not_found())
        .with_message("file not found: /etc/nonexistent")
        .with_detail("path", "/etc/nonexistent")
        .with_detail("errno", 2);
    let expected = json!({
        "code": "FILE_NOT_FOUND",
        "message": "file not found: /etc/nonexistent",
        "retryable": false,
        "details": {"path": "/etc/nonexistent", "errno": 2},
    });
    assert_eq!(native(Dialect::Call, failure), expected);
}

#[test]
fn the_six_protocol_codes_have_their_status_and_only_timeout_is_retryable() {
    for (code, status, retryable) in [
        ("NOT_FOUND", 404, false),
        ("FORBIDDEN", 403, false),
        ("INVALID_INPUT", 422, false),
        ("INVALID_OPERATION_TYPE", 400, false),
        ("INTERNAL", 500, false),
        ("TIMEOUT", 504, true),
    ] {
        let kind = Kind::of(code).unwrap();
        assert_eq!(
            (kind.http_status(), kind.retryable()),
            (status, retryable),
            "{code}"
        );
        assert!(catalogue::is_protocol_code(code));
    }
    assert_eq!(
        Kind::of("INTERNAL").unwrap().category(),
        Category::Permanent
    );
}

fn read_file() -> Value {
    json!({
        "name": "fs/readFile",
        "namespace": "fs",
        "op_type": "query",
        "visibility": "external",
        "input_schema": {"type": "object"},
        "output_schema": {"type": "string"},
        "error_schemas": [
            {
                "code": "FILE_NOT_FOUND",
                "description": "The file does not exist",
                "schema": {"type": "object", "properties": {"path": {"type": "string"}}},
                "http_status": null,
            },
            {
                "code": "PERMISSION_DENIED",
                "description": "OS-level read permission denied",
                "schema": {"type": "object", "properties": {"path": {"type": "string"}, "errno": {"type": "integer"}}},
                "http_status": null,
            },
        ],
        "access_control": {"required_scopes": []},
        "idempotency": {"idempotent": false, "reconcilable": false, "key": "optional"},
    })
}

#[test]
fn an_operation_round_trips() {
    let spec: OperationSpec = serde_json::from_value(read_file()).unwrap();
    assert_eq!(spec.name.namespace(), "fs");
    assert_eq!(
        spec.definition("FILE_NOT_FOUND").unwrap().description,
        "The file does not exist"
    );
    assert_eq!(spec.definition("DISK_ON_FIRE"), None);
    assert_eq!(serde_json::to_value(&spec).unwrap(), read_file());
}

#[test]
fn a_namespace_that_does_not_match_the_name_is_rejected() {
    let mut document = read_file();
    document["namespace"] = json!("net");
    let error = serde_json::from_value::<OperationSpec>(document).unwrap_err();
    assert!(
        error.to_string().contains("write \"fs\" or leave it out"),
        "{error}"
    );
}

#[test]
fn statuses_are_exact_ranges_or_default() {
    for (value, pattern, covered, not_covered) in [
        (json!(404), StatusPattern::Exact(404), 404, 405),
        (json!("4XX"), StatusPattern::Range(4), 499, 500),
        (json!("5XX"), StatusPattern::Range(5), 500, 499),
        (json!("default"), StatusPattern::Default, 418, 0),
    ] {
        let read: StatusPattern = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(read, pattern);
        assert!(read.covers(covered));
        assert!(not_covered == 0 || !read.covers(not_covered));
        assert_eq!(serde_json::to_value(read).unwrap(), value);
    }
    for refused in [
        json!("3XX"),
        json!(70000),
        json!(-1),
        json!([]),
        json!("404"),
    ] {
        assert!(
            serde_json::from_value::<StatusPattern>(refused.clone()).is_err(),
            "{refused}"
        );
    }
}

#[test]
fn unstated_facts_come_from_the_status_or_the_catalogue() {
    for (code, status, category, retryable) in [
        ("MACHINE_GONE", Some(404), Category::ClientError, false),
        ("SLOW_DOWN", Some(429), Category::RateLimit, true),
        ("MAINTENANCE", Some(503), Category::Transient, true),
        ("TEAPOT", Some(418), Category::ClientError, false),
        ("ODD_FAILURE", None, Category::Permanent, false),
        ("ERR_TIMEOUT", None, Category::Timeout, true),
        ("HTTP_429", None, Category::RateLimit, true),
    ] {
        let mut definition = ErrorDefinition::new(Code::new(code).unwrap(), "d");
        definition.http_status = status.map(StatusPattern::Exact);
        let kind = definition.kind().unwrap();
        assert_eq!(
            (kind.category(), kind.retryable()),
            (category, retryable),
            "{code}"
        );
    }
}

#[test]
fn invalid_declarations_report_every_problem_with_a_fix() {
    let declare =
        |code: &'static str, facts| Kind::declared(Code::new(code).unwrap(), facts).unwrap_err();
    let problems = declare(
        "TIMEOUT",
        Facts {
            http_status: Some(200),
            jsonrpc_code: Some(-32000),
            ..Facts::default()
        },
    );
    assert_eq!(problems.len(), 3);
    assert_eq!(
        problems[0].to_string(),
        "TIMEOUT is reserved for the protocol; declare your own code, such as MY_TIMEOUT"
    );
    assert_eq!(
        problems[1].to_string(),
        "TIMEOUT declares HTTP status 200; a failure has a status from 400 to 599"
    );

    let facts = Facts {
        category: Some(Category::Permanent),
        retryable: Some(false),
        ..Facts::default()
    };
    let problems = declare("ERR_TIMEOUT", facts);
    assert!(
        problems
            .iter()
            .all(|problem| matches!(problem.objection, Objection::Contradiction { .. }))
    );
    assert_eq!(problems.len(), 2);
    assert_eq!(
        problems[0].to_string(),
        "the catalogue fixes category of ERR_TIMEOUT as TIMEOUT, not PERMANENT; leave it out, or choose another code"
    );

    let facts = Facts {
        category: Some(Category::Validation),
        retryable: Some(true),
        ..Facts::default()
    };
    assert!(matches!(
        declare("MY_FAILURE", facts)[..],
        [KindError {
            objection: Objection::NotRetryable(Category::Validation),
            ..
        }]
    ));
}

#[test]
fn a_contradictory_declaration_is_reported_with_a_fix() {
    let declare = |code: &'static str, facts| {
        let problems = Kind::declared(Code::new(code).unwrap(), facts).unwrap_err();
        problems.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let remedy = |category, remedy| Facts {
        category: Some(category),
        remedies: Some(Remedies::of(&[remedy])),
        ..Facts::default()
    };
    for (code, facts, expected) in [
        (
            "FILE_GONE",
            remedy(Category::ClientError, Remedy::Wait),
            "FILE_GONE is not retryable, so waiting cannot help; replace wait with another remedy, \
             or declare it retryable in a category such as TRANSIENT",
        ),
        (
            "DISK_BUSY",
            remedy(Category::Transient, Remedy::ChangeInput),
            "DISK_BUSY is retryable, but wait is not among its remedies; add wait, leave remedy \
             out, or declare retryable as false",
        ),
        (
            "HTTP_404",
            Facts {
                http_status: Some(500),
                ..Facts::default()
            },
            "HTTP_404 means HTTP status 404, not 500; leave the status out, or choose another \
             code",
        ),
        (
            "FILE_GONE",
            Facts {
                jsonrpc_code: Some(9404),
                ..Facts::default()
            },
            "FILE_GONE declares JSON-RPC code 9404, which belongs to HTTP_404; use 1000, or a \
             higher number that no code of the catalogue has",
        ),
    ] {
        assert_eq!(declare(code, facts), [expected], "{code}");
    }
}

#[test]
fn two_declarations_of_a_code_disagree_in_the_shared_facts() {
    let declare = |facts| Kind::declared(Code::new("DISK_BUSY").unwrap(), facts).unwrap();
    let first = declare(Facts {
        category: Some(Category::Transient),
        ..Facts::default()
    });
    let second = declare(Facts {
        http_status: Some(500),
        jsonrpc_code: Some(1507),
        ..Facts::default()
    });
    let members: Vec<_> = first
        .disagreements(&second)
        .map(|(fact, _, theirs)| (fact.member(), theirs))
        .collect();
    let expected = [
        ("category", "SERVER_ERROR"),
        ("remedy", "wait, ask_human"),
        ("jsonrpc_code", "1507"),
    ]
    .map(|(member, theirs)| (member, theirs.to_owned()));
    assert_eq!(members, expected);
    assert_eq!(first.disagreements(&first.clone()).count(), 0);
}

#[test]
fn idempotency_may_depend_on_the_input() {
    let mut rule: Idempotency = serde_json::from_value(json!({
        "key": "required",
        "by_input": {"pointer": "/method", "idempotent_values": ["GET", "HEAD", "OPTIONS"]},
    }))
    .unwrap();
    for (method, needs_key) in [
        ("GET", false),
        ("HEAD", false),
        ("POST", true),
        ("DELETE", true),
    ] {
        assert_eq!(
            rule.needs_key_for(&json!({"method": method})),
            needs_key,
            "{method}"
        );
    }
    assert!(rule.needs_key_for(&json!({})));
    let by_input = rule.by_input.as_mut().unwrap();
    by_input.idempotent_values.push(json!(null));
    assert!(!rule.needs_key_for(&json!({})));
}

#[test]
fn problem_details_have_the_standard_members() {
    let id = uuid::Uuid::parse_str("550e8400-e29b-41d4-a716-446655440000").unwrap();
    let failure = Failure::new(file_not_found())
        .with_message("no file at /srv/missing.txt")
        .with_detail("path", "/srv/missing.txt")
        .stamped(id, "2026-01-31T12:00:00Z".parse().unwrap());
    let expected = json!({
        "type": "/errors/FILE_NOT_FOUND",
        "title": "File not found",
        "status": 404,
        "detail": "no file at /srv/missing.txt",
        "instance": "urn:uuid:550e8400-e29b-41d4-a716-446655440000",
        "retryable": false,
        "details": {"path": "/srv/missing.txt"},
    });
    assert_eq!(native(Dialect::Problem, failure.clone()), expected);

    let envelope = Envelope {
        errors_base: "https://tools.example/errors/",
        ..Envelope::default()
    };
    let document = Dialect::Problem.render_failure(&failure.clone().redacted(), envelope);
    assert_eq!(
        document["type"],
        "https://tools.example/errors/FILE_NOT_FOUND"
    );
    assert_eq!(
        Dialect::Problem
            .read(document)
            .unwrap()
            .outcome
            .unwrap_err(),
        failure
    );
}

#[test]
fn third_party_problem_details_keep_their_extensions_and_ignore_wrong_types() {
    let document = json!({
        "type": "https://example.com/probs/out-of-credit",
        "title": "You do not have enough credit.",
        "status": ["403"],
        "detail": "Your current balance is 30, but that costs 50.",
        "balance": 30,
        "accounts": ["/account/12345"],
    });
    assert_eq!(detect(&document), Ok(Dialect::Problem));
    let failure = Dialect::Problem
        .read(document)
        .unwrap()
        .outcome
        .unwrap_err();
    assert_eq!(failure.code().as_str(), "OUT_OF_CREDIT");
    assert_eq!(
        failure.upstream().unwrap().code.as_deref(),
        Some("https://example.com/probs/out-of-credit")
    );
    let details = failure.details().unwrap();
    assert_eq!(
        (&details["balance"], &details["status"]),
        (&json!(30), &json!(["403"]))
    );

    let bare = json!({"type": "about:blank", "title": "Too Many Requests", "status": 429});
    let failure = Dialect::Problem.read(bare).unwrap().outcome.unwrap_err();
    assert_eq!(failure.code().as_str(), "ERR_HTTP_429_RATE_LIMITED");
    assert!(failure.retryable());
}

#[test]
fn a_status_has_the_details_of_google_rpc() {
    let failure = Failure::new(codes::ERR_HTTP_429_RATE_LIMITED)
        .with_message("slow down")
        .with_detail("service", "api.example.com")
        .with_detail("limit", 60)
        .with_retry_after_ms(1500);
    let expected = json!({
        "code": 8,
        "message": "slow down",
        "details": [
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "ERR_HTTP_429_RATE_LIMITED",
                "domain": "panpan.dev",
                "metadata": {"retryable": "true", "service": "api.example.com"},
            },
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.500s"},
        ],
    });
    assert_eq!(native(Dialect::Grpc, failure), expected);
}

#[test]
fn statuses_of_google_apis_are_read() {
    let document = json!({"error": {
        "code": 403,
        "message": "Translation API has not been used in project 123",
        "status": "PERMISSION_DENIED",
        "details": [
            {"@type": "type.googleapis.com/google.rpc.Help", "links": []},
            {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "SERVICE_DISABLED", "domain": "googleapis.com",
             "metadata": {"service": "translate.googleapis.com"}},
        ],
    }});
    assert_eq!(detect(&document), Ok(Dialect::Grpc));
    let failure = Dialect::Grpc.read(document).unwrap().outcome.unwrap_err();
    assert_eq!(failure.code().as_str(), "SERVICE_DISABLED");
    assert_eq!(failure.category(), Category::AuthFail);
    assert_eq!(
        failure.details().unwrap()["service"],
        "translate.googleapis.com"
    );

    let bare = json!({"code": 14, "message": "try later", "details": [
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "30s"},
    ]});
    let failure = Dialect::Grpc.read(bare).unwrap().outcome.unwrap_err();
    assert_eq!(failure.code().as_str(), "ERR_HTTP_503_UNAVAILABLE");
    assert_eq!(failure.recovery().retry_after_ms, Some(30_000));
}

#[test]
fn failures_of_third_party_mcp_tools_are_read() {
    let text = |text: &str| json!({"content": [{"type": "text", "text": text}], "isError": true});
    for (document, code, message) in [
        (text("file is locked"), "TOOL_FAILED", "file is locked"),
        (
            text(r#"{"code":"RATE_LIMITED","message":"slow down","retryable":true}"#),
            "RATE_LIMITED",
            "slow down",
        ),
        (
            json!({"content": [], "structuredContent": {"success": false, "error": "no", "code": "not_owner"}, "isError": true}),
            "NOT_OWNER",
            "no",
        ),
        (
            json!({"content": [], "isError": true}),
            "TOOL_FAILED",
            "The tool reported a failure of its own",
        ),
    ] {
        let failure = Dialect::Mcp.read(document).unwrap().outcome.unwrap_err();
        assert_eq!(
            (failure.code().as_str(), failure.message()),
            (code, message)
        );
    }
}
