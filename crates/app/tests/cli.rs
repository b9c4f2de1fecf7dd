//! `panpan explain`, `panpan translate` and the help: the output and exit codes of the built program.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::process::Output;

use panpan_failure::catalogue;
use panpan_failure::dialect::Dialect;
use panpan_failure::read::DOCUMENT_BYTES_LIMIT;
use panpan_testkit::{run, stderr, stdout};
use serde_json::{Value, json};

fn panpan(arguments: &[&str], input: &[u8]) -> Output {
    run(&mut panpan_testkit::panpan(arguments), input)
}

fn translated(from: &Value, to: &str) -> Value {
    let output = panpan(&["translate", "--to", to], from.to_string().as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn explain_lists_every_code() {
    let output = panpan(&["explain"], b"");
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    for row in catalogue::entries() {
        assert!(text.contains(&format!("\n{} ", row.code)), "{}", row.code);
    }
}

#[test]
fn explain_lists_every_code_as_json() {
    let output = panpan(&["explain", "--json"], b"");
    let list: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(list.len(), catalogue::entries().count());
    for object in list {
        let known = catalogue::lookup(object["code"].as_str().unwrap()).unwrap();
        assert_eq!(object["category"], known.category().word());
        assert_eq!(object["retryable"], known.retryable());
    }
}

#[test]
fn explain_lists_one_category_by_name_or_letter() {
    for argument in ["RATE_LIMIT", "rate_limit", "R"] {
        let output = panpan(&["explain", "--category", argument, "--json"], b"");
        let list: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
        assert!(!list.is_empty());
        assert!(
            list.iter().all(|object| object["category"] == "RATE_LIMIT"),
            "{argument}"
        );
    }
    let output = panpan(&["explain", "--category", "SOMETIMES"], b"");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("TRANSIENT, RATE_LIMIT"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn explain_shows_the_page_and_every_dialect_of_every_code() {
    for row in catalogue::entries() {
        let output = panpan(&["explain", row.code], b"");
        assert_eq!(output.status.code(), Some(0), "{}", row.code);
        let text = stdout(&output);
        assert!(
            text.starts_with(&format!("{}: {}\n", row.code, row.title)),
            "{text}"
        );
        for part in [
            "What happened",
            "What an agent should do",
            "How each dialect writes it",
        ] {
            assert!(text.contains(part), "{} lacks {part}", row.code);
        }
        for dialect in Dialect::ALL {
            let shown = text
                .lines()
                .find_map(|line| line.strip_prefix(&format!("{dialect:<8} ")))
                .unwrap();
            let failure = dialect
                .parse(shown.as_bytes())
                .unwrap()
                .outcome
                .unwrap_err();
            assert_eq!(failure.code().as_str(), row.code, "{dialect}");
        }
    }
}

#[test]
fn explain_finds_codes_by_family_case_and_number() {
    for (name, code) in [
        ("HTTP_418", "HTTP_418"),
        ("err_timeout", "ERR_TIMEOUT"),
        ("ERR_HTTP_529", "ERR_HTTP_529"),
        ("-32001", "TASK_NOT_FOUND"),
        ("215", "ERR_HTTP_429_RATE_LIMITED"),
    ] {
        let output = panpan(&["explain", name, "--json"], b"");
        let object: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(object["code"], code);
        assert!(
            object["page"]
                .as_str()
                .unwrap()
                .starts_with("## What happened")
        );
    }
}

#[test]
fn an_unknown_code_gets_suggestions_and_exit_code_1() {
    for (name, suggested) in [
        ("ERR_TIMEOT", "ERR_TIMEOUT"),
        ("TASK_NOTFOUND", "TASK_NOT_FOUND"),
        ("429", "ERR_HTTP_429_RATE_LIMITED"),
        ("rate", "RATE_LIMIT_ERROR"),
    ] {
        let output = panpan(&["explain", name], b"");
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(output.stdout.is_empty());
        assert!(
            stderr(&output).contains(suggested),
            "{name}: {}",
            stderr(&output)
        );
    }
    let output = panpan(&["explain", &"X".repeat(100_000)], b"");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn translate_detects_the_dialect_and_loses_nothing() {
    let first = translated(
        &json!({"success": false, "error": "no such file", "code": "not_found", "category": "resource"}),
        "call",
    );
    assert_eq!(first["code"], "ARTIFACT_NOT_FOUND");
    let around = Dialect::ALL
        .iter()
        .fold(first.clone(), |document, dialect| {
            translated(&document, dialect.name())
        });
    assert_eq!(translated(&around, "call"), first);
}

#[test]
fn translate_keeps_successes_and_request_ids() {
    let response = json!({"jsonrpc": "2.0", "id": 7, "result": {"answer": 42}});
    assert_eq!(
        translated(&response, "call"),
        json!({"request_id": 7, "result": "ok", "output": {"answer": 42}})
    );
    assert_eq!(
        translated(&response, "flat"),
        json!({"success": true, "answer": 42})
    );
}

#[test]
fn translate_classifies_errors_in_no_known_dialect() {
    let github = br#"{"message": "Not Found", "status": "404"}"#;
    let output = panpan(&["translate", "--to", "call"], github);
    let call: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(call["code"], "ERR_HTTP_404_NOT_FOUND");
    let page = b"<html>502 Bad Gateway</html>";
    let output = panpan(&["translate", "--to", "call", "--status", "502"], page);
    let call: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&call["code"], &call["retryable"]),
        (&json!("ERR_HTTP_502_BAD_GATEWAY"), &json!(true))
    );
}

#[test]
fn translate_reads_third_party_errors_as_the_gateway_does() {
    let limit = r#"{"error": {"message": "Rate limit reached. Please try again in 20s.", "type": "requests", "code": "rate_limit_exceeded"}}"#;
    let page = "<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1><hr>nginx</body></html>";
    for (body, status, code, delay, message) in [
        (
            limit,
            Some("429"),
            "ERR_HTTP_429_RATE_LIMITED",
            20_000,
            "Rate limit reached. Please try again in 20s.",
        ),
        (
            limit,
            None,
            "ERR_HTTP_429_RATE_LIMITED",
            20_000,
            "Rate limit reached. Please try again in 20s.",
        ),
        (
            r#"{"message": "x", "retry_after": 12}"#,
            Some("429"),
            "ERR_HTTP_429_RATE_LIMITED",
            12_000,
            "x",
        ),
        (
            page,
            Some("502"),
            "ERR_HTTP_502_BAD_GATEWAY",
            500,
            "the upstream answered HTTP 502",
        ),
    ] {
        let status = status.map(|it| ["--status", it]);
        let arguments = status.iter().flatten().copied();
        let arguments: Vec<&str> = ["translate", "--to", "bot"]
            .into_iter()
            .chain(arguments)
            .collect();
        let output = panpan(&arguments, body.as_bytes());
        let bot: Value = serde_json::from_slice(&output.stdout).unwrap();
        let error = &bot["error"];
        assert_eq!(error["code"], code, "{error}");
        assert_eq!(error["message"], message, "{error}");
        let strategy = &error["recovery"]["retry_strategy"];
        assert_eq!(strategy["suggested_delay"], delay, "{error}");
        assert!(error["debug"]["error_id"].is_string(), "{error}");
    }
}

#[test]
fn translate_keeps_the_codes_of_dialects_whatever_the_status() {
    for (document, code) in [
        (
            json!({"success": false, "error": "no such file", "code": "not_found"}),
            "ARTIFACT_NOT_FOUND",
        ),
        (
            json!({"ok": false, "error": {"code": "OUT_OF_STOCK", "message": "none left"}}),
            "OUT_OF_STOCK",
        ),
        (
            json!({"code": "OUT_OF_STOCK", "message": "none left", "retryable": false}),
            "OUT_OF_STOCK",
        ),
        (
            json!({"error": {"code": "OUT_OF_STOCK", "message": "none left", "recovery": {"is_retryable": false}}}),
            "OUT_OF_STOCK",
        ),
    ] {
        let arguments = ["translate", "--to", "call", "--status", "409"];
        let output = panpan(&arguments, document.to_string().as_bytes());
        let call: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(call["code"], code, "{document}");
    }
}

#[test]
fn translate_needs_a_flag_to_treat_unknown_input_as_a_success() {
    let odd = br#"{"Code": "Throttled", "Text": "come back later"}"#;
    for from in ["problem", "bot"] {
        let output = panpan(&["translate", "--from", from, "--to", "outcome"], odd);
        assert_eq!(output.status.code(), Some(2), "{from}");
        let output = panpan(
            &["translate", "--from", from, "--to", "outcome", "--success"],
            odd,
        );
        assert_eq!(output.status.code(), Some(0), "{from}");
    }
    let output = panpan(&["translate", "--from", "mcp", "--to", "outcome"], odd);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn translate_removes_secrets() {
    let foreign = json!({"code": "LOGIN_FAILED", "message": "password=hunter2 was refused", "retryable": false});
    assert_eq!(
        translated(&foreign, "call")["message"],
        "password=[REDACTED] was refused"
    );
}

#[test]
fn translate_reports_invalid_input_with_its_location() {
    let too_large = vec![b' '; DOCUMENT_BYTES_LIMIT + 1];
    let too_deep = "[".repeat(200);
    for (arguments, input, message) in [
        (&["--to", "bot"][..], &b""[..], "stdin is empty"),
        (&["--to", "bot"], b" \n ", "stdin is empty"),
        (
            &["--to", "bot"],
            b"{\"a\": }",
            "not valid JSON: expected value (line 1, column 7)",
        ),
        (
            &["--to", "bot"],
            b"\xff\xfe",
            "not valid JSON: the text is not UTF-8 (line 1, column 1)",
        ),
        (
            &["--to", "bot"],
            b"[1]",
            "at the top of the document: expected an object, found a list",
        ),
        (
            &["--to", "bot"],
            b"{\"x\": 1}",
            "the document matches no dialect",
        ),
        (
            &["--to", "bot"],
            too_deep.as_bytes(),
            "nested more than 127 levels deep",
        ),
        (
            &["--to", "bot", "--from", "call"],
            b"{\"code\": 5}",
            "at /code: expected a string, found a number",
        ),
        (
            &["--to", "bot", "--from", "flat"],
            b"{}",
            "at /success: expected true or false, found nothing",
        ),
        (
            &["--to", "latin"],
            b"{}",
            "possible values: flat, bot, outcome, jsonrpc, call, problem, mcp, grpc",
        ),
        (&[], b"{}", "--to"),
    ] {
        let output = panpan(&[&["translate"], arguments].concat(), input);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(output.stdout.is_empty(), "{message}");
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
    let mut large_text = too_large;
    large_text[0] = b'"';
    let output = panpan(&["translate", "--to", "bot"], &large_text);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("the limit is 4194304"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn help_exits_with_0_and_invalid_arguments_with_2() {
    for arguments in [
        &["--help"][..],
        &["explain", "--help"],
        &["translate", "--help"],
        &["--version"],
    ] {
        assert_eq!(
            panpan(arguments, b"").status.code(),
            Some(0),
            "{arguments:?}"
        );
    }
    for arguments in [&["expalin"][..], &["explain", "--colour"], &[]] {
        let output = panpan(arguments, b"");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn a_closed_stdout_is_not_an_error() {
    let mut child = panpan_testkit::panpan(["explain", "--json"])
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(output.stderr.is_empty());
}

/// Checks that a quoted command, path or operation exists.
fn is_known(quoted: &str, operations: &str) -> Result<(), String> {
    let unknown = |what: &str| Err(format!("{what} in `{quoted}`"));
    if let Some(command) = quoted.strip_prefix("panpan ") {
        let words = command.split_whitespace();
        let words = words.take_while(|it| it.bytes().all(|byte| byte.is_ascii_lowercase()));
        let words: Vec<&str> = words.chain(["--help"]).collect();
        let output = panpan(&words, b"");
        return match output.status.success() {
            true => Ok(()),
            false => unknown("no such command"),
        };
    }
    let path = quoted
        .strip_prefix("GET ")
        .or_else(|| quoted.strip_prefix("POST "));
    let is_path = quoted.starts_with('/') && !FOREIGN_PATHS.contains(&quoted);
    if let Some(path) = path.or(is_path.then_some(quoted)) {
        let path = path.split('?').next().unwrap_or_default();
        return match PATHS.contains(&path) {
            true => Ok(()),
            false => unknown("no such path"),
        };
    }
    let is_part =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_operation = quoted.split('/').count() == 2 && quoted.split('/').all(is_part);
    let exists = quoted == "http/call" || operations.contains(&format!("\"name\": \"{quoted}\""));
    match !is_operation || exists || INVENTED.contains(&quoted) {
        true => Ok(()),
        false => unknown("no such operation"),
    }
}

/// The paths that a server serves.
const PATHS: [&str; 14] = [
    "/batch",
    "/call",
    "/contract.json",
    "/errors",
    "/healthz",
    "/mcp",
    "/metrics",
    "/openapi.json",
    "/readyz",
    "/rpc",
    "/schema",
    "/search",
    "/subscribe",
    "/ws",
];
/// Paths of other programs, and JSON pointers, that pages use as examples.
const FOREIGN_PATHS: [&str; 3] = ["/api", "/v2", "/items/0"];
/// Operations that pages invent as examples.
const INVENTED: [&str; 1] = ["files/read"];

#[test]
fn commands_paths_and_operations_in_pages_exist() {
    let output = panpan(&["export", "contract"], b"");
    let operations = stdout(&output);
    assert!(operations.contains("\"name\": \"services/list\""));
    let mut problems = Vec::new();
    let families = [catalogue::Family::ErrHttp, catalogue::Family::Http];
    let families = families.map(|family| ("a family", family.page()));
    let rows = catalogue::entries().map(|row| (row.code, row.page));
    for (code, page) in rows.chain(families) {
        for quoted in page.split('`').skip(1).step_by(2) {
            if let Err(problem) = is_known(quoted, &operations) {
                problems.push(format!("{code}: {problem}"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    // The check itself finds unknown names.
    assert!(is_known("panpan doctor", &operations).is_err());
    assert!(is_known("GET /reports/{id}", &operations).is_err());
    assert!(is_known("tasks/teleport", &operations).is_err());
}
