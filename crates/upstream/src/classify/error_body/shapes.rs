//! Where services put their reasons: shapes of real services, and data that only looks like one.

use serde_json::json;

use super::*;

/// The message and the violations of a body, as `pointer: reason`.
fn read(body: &Value) -> (Option<String>, Vec<String>) {
    let body = ErrorBody::of_json(body);
    let violations = body.violations.iter();
    let violations = violations.map(|it| format!("{}: {}", it.pointer, it.reason));
    (body.message, violations.collect())
}

#[track_caller]
fn check(body: Value, message: Option<&str>, violations: &[&str]) {
    let (found, pointers) = read(&body);
    assert_eq!(found.as_deref(), message, "{body}");
    assert_eq!(pointers, violations, "{body}");
}

#[test]
fn a_message_may_be_a_list_or_an_object() {
    for (body, message, violations) in [
        (
            json!({"statusCode": 400, "message": ["email must be an email", "age must not be less than 18"], "error": "Bad Request"}),
            Some("email must be an email; age must not be less than 18"),
            &[][..],
        ),
        (
            json!({"error": {"code": "VP/112", "message": {"lang": "en", "value": "Party 17 is not maintained"}, "innererror": {"errordetails": [{"message": "Party 17 is not maintained", "propertyref": "SoldTo", "target": "SoldTo"}]}}}),
            Some("Party 17 is not maintained"),
            &["/SoldTo: Party 17 is not maintained"],
        ),
        (
            json!({"message": {"title": ["can't be blank"], "project.path": ["is taken", "is short"]}}),
            None,
            &[
                "/project/path: is taken; is short",
                "/title: can't be blank",
            ],
        ),
        (
            json!({"message": ["qty_negative"], "error": "Bad Request"}),
            Some("qty_negative"),
            &[],
        ),
        // Not lists of reasons.
        (
            json!({"message": {"id": 7, "tags": ["a"]}, "error": "Bad Request"}),
            Some("Bad Request"),
            &[],
        ),
        (
            json!({"message": [], "error": "Bad Request"}),
            Some("Bad Request"),
            &[],
        ),
    ] {
        check(body, message, violations);
    }
}

#[test]
fn the_longer_sentence_wins_and_a_code_never_does() {
    for (body, message) in [
        (
            json!({"error": {"message": "TOO_MANY_ATTEMPTS : Access has been disabled", "errors": [{"message": "TOO_MANY_ATTEMPTS", "reason": "invalid"}]}}),
            "TOO_MANY_ATTEMPTS : Access has been disabled",
        ),
        (
            json!({"error": {"message": "Quota exceeded for reads per minute", "errors": [{"message": "Quota exceeded"}]}}),
            "Quota exceeded for reads per minute",
        ),
        (
            json!({"error": "conflict", "reason": "Document update conflict."}),
            "Document update conflict.",
        ),
        (
            json!({"error": "file_exists", "reason": "the file already exists."}),
            "the file already exists.",
        ),
        (
            json!({"type": "x", "title": "Bad Request", "o:errorDetails": [{"detail": "999 is no subsidiary."}]}),
            "999 is no subsidiary.",
        ),
        (
            json!({"error": {"message": "Invalid parameter", "error_user_msg": "The app is in development mode."}}),
            "The app is in development mode.",
        ),
        (
            json!({"error": "not_found", "reason": "deleted"}),
            "not_found",
        ),
        (
            json!({"error_summary": "path/not_found/.."}),
            "path/not_found/..",
        ),
    ] {
        check(body, Some(message), &[]);
    }
}

#[test]
fn a_reason_without_a_member_is_in_the_message() {
    for (body, message, violations) in [
        (
            json!({"message": "Validation Failed", "errors": [{"resource": "PullRequest", "code": "custom", "message": "A pull request already exists."}]}),
            "A pull request already exists.",
            &[][..],
        ),
        (
            json!({"message": "Validation failed.", "errors": ["start is in the past", "end is before start"]}),
            "Validation failed. start is in the past; end is before start",
            &[],
        ),
        (
            json!([{"message": "Email is invalid", "errorCode": "A", "fields": ["Email"]}, {"message": "Phone is too long", "errorCode": "B", "fields": ["Phone"]}, {"message": "and one more thing", "fields": []}]),
            "Email is invalid; and one more thing",
            &["/Email: Email is invalid", "/Phone: Phone is too long"],
        ),
        (
            json!({"errors": [{"message": "first problem", "path": ["createIssue"], "locations": []}, {"message": "second problem", "extensions": {}}]}),
            "first problem; second problem",
            &[],
        ),
        (
            json!({"errors": [{"code": 1004, "message": "DNS Validation Error", "error_chain": [{"code": 9005, "message": "Content is invalid."}]}]}),
            "DNS Validation Error; Content is invalid.",
            &[],
        ),
        // Codes, names and data are not added.
        (
            json!({"error": {"message": "Too many calls", "details": [{"code": "Limit", "message": "{\"allowed count\": 900, \"left\": 0}"}]}}),
            "Too many calls",
            &[],
        ),
        (
            json!([{"message": "A value is missing", "fields": ["First Name", "Last Name"], "params": ["John Smith"]}]),
            "A value is missing",
            &[
                "/First Name: A value is missing",
                "/Last Name: A value is missing",
            ],
        ),
        (
            json!({"message": "Invalid request", "errors": [{"code": "custom"}, 3, {}, null]}),
            "Invalid request",
            &[],
        ),
        (
            json!({"message": "Card declined", "details": {"decline_code": "insufficient_funds", "scopes": ["a", "b"]}}),
            "Card declined",
            &[],
        ),
        (
            json!({"error": {"message": "no", "details": [{"@type": "google.rpc.DebugInfo", "detail": "at a in b"}]}}),
            "no",
            &[],
        ),
    ] {
        check(body, Some(message), violations);
    }
}

#[test]
fn lists_are_found_under_the_names_of_frameworks() {
    check_violations(&[
        (
            json!({"error": {"name": "ZodError", "issues": [{"code": "too_small", "message": "too small by far", "path": ["items", 0, "qty"]}]}}),
            &["/items/0/qty: too small by far"][..],
        ),
        (
            json!({"title": "Bad Request", "invalid-params": [{"name": "age", "reason": "must be positive"}]}),
            &["/age: must be positive"],
        ),
        (
            json!({"error": "RecordInvalid", "details": {"email": [{"description": "Email: is taken", "error": "Duplicate"}]}}),
            &["/email: Email: is taken"],
        ),
        (
            json!({"items": [{}, {"sku": ["is blank"]}], "address": {"zip": ["is wrong"]}}),
            &["/address/zip: is wrong", "/items/1/sku: is blank"],
        ),
        (
            json!({"errors": {"embeds": {"0": {"title": {"_errors": [{"code": "LONG", "message": "is too long"}]}}}}}),
            &["/embeds/0/title: is too long"],
        ),
        (
            json!({"code": 422, "errors": {"json": {"qty": ["Must be more."]}}}),
            &["/json/qty: Must be more."],
        ),
        (
            json!({"code": "rest_invalid_param", "data": {"status": 400, "params": {"status": "is not one of a, b"}}}),
            &["/status: is not one of a, b"],
        ),
        (
            json!({"message": "Invalid data", "fields": {"status": "must be one of open, closed"}}),
            &["/status: must be one of open, closed"],
        ),
        (
            json!({"message": "Validation failed", "validation": {"body": {"source": "body", "keys": ["qty"], "message": "qty is too large"}}}),
            &["/qty: qty is too large"],
        ),
        (
            json!({"message": "Validation failed", "_embedded": {"errors": [{"message": "is too short", "path": "/username"}]}}),
            &["/username: is too short"],
        ),
        (
            json!({"reason": "Invalid", "details": {"name": "web", "causes": [{"reason": "FieldValueInvalid", "message": "must be positive", "field": "spec.replicas"}]}}),
            &["/spec/replicas: must be positive"],
        ),
        (
            json!({"errors": [{"instancePath": "/qty", "message": "must be small"}, {"instancePath": "", "keyword": "required", "params": {"missingProperty": "sku"}, "message": "must have sku"}]}),
            &["/qty: must be small", "/sku: must have sku"],
        ),
    ]);
}

#[test]
fn lists_are_found_under_the_names_of_services() {
    check_violations(&[
        (
            json!({"message": "m", "errors": [{"propertyName": "Items[0].Qty", "errorMessage": "is too small", "attemptedValue": 0}]}),
            &["/Items/0/Qty: is too small"],
        ),
        (
            json!({"errors": [{"codes": ["Min"], "defaultMessage": "is too small", "field": "qty", "code": "Min"}]}),
            &["/qty: is too small"],
        ),
        (
            json!({"name": "UNPROCESSABLE", "details": [{"field": "/units/0/value", "issue": "PRECISION", "description": "has too many digits"}]}),
            &["/units/0/value: has too many digits"],
        ),
        (
            json!({"errors": {"code": "E1", "field": "amount", "message": "is too large"}}),
            &["/amount: is too large"],
        ),
        (
            json!({"erros": [{"campo": "cpf", "mensagem": "CPF inválido"}]}),
            &["/cpf: CPF inválido"],
        ),
    ]);
}

#[test]
fn an_error_that_names_its_member_is_a_violation() {
    check_violations(&[
        (
            json!({"error": {"code": "invalid", "field": "email", "message": "is not valid"}}),
            &["/email: is not valid"],
        ),
        (
            json!({"error": {"message": "Invalid integer: two", "param": "items[0][qty]", "type": "invalid_request_error"}}),
            &["/items/0/qty: Invalid integer: two"],
        ),
    ]);
}

#[test]
fn other_members_are_no_violations() {
    check_violations(&[
        (
            json!({"error": {"message": "declined", "param": "", "name": "x", "path": "/orders"}}),
            &[],
        ),
        (json!({"tags": ["a", "b"], "count": 2}), &[]),
        (json!({"details": {"scopes": ["read_all"]}}), &[]),
        (json!({"data": {"name": "a b", "id": 7}}), &[]),
        (json!({"errors": {"meta": {"request_id": "abc"}}}), &[]),
    ]);
}

#[track_caller]
fn check_violations(cases: &[(Value, &[&str])]) {
    for (body, violations) in cases {
        let (_, found) = read(body);
        assert_eq!(found, *violations, "{body}");
    }
}

#[test]
fn a_reason_in_a_wrapper_or_another_language_is_the_message() {
    for (body, message) in [
        (
            json!({"fault": {"faultstring": "Rate limit quota violation.", "detail": {"errorcode": "a.b"}}}),
            Some("Rate limit quota violation."),
        ),
        (
            json!({"Fault": {"Error": [{"Message": "Duplicate Name", "Detail": "The name exists already.", "code": "6240"}], "type": "ValidationFault"}}),
            Some("Duplicate Name; The name exists already."),
        ),
        (
            json!({"response": {"errors": [{"code": "120124", "message": "The service is not offered there."}]}}),
            Some("The service is not offered there."),
        ),
        (
            json!({"errorCode": "E1", "errorSummary": "Api validation failed: login", "errorCauses": [{"errorSummary": "login: exists already"}]}),
            Some("Api validation failed: login; login: exists already"),
        ),
        (
            json!({"Message": "A validation exception occurred", "Elements": [{"InvoiceID": "0", "ValidationErrors": [{"Message": "Code 9 is not valid."}]}]}),
            Some("A validation exception occurred; Code 9 is not valid."),
        ),
        (
            json!({"codigo": "NO", "mensaje": "No existe el cliente"}),
            Some("No existe el cliente"),
        ),
        (
            json!({"errcode": 48001, "errmsg": "api unauthorized"}),
            Some("api unauthorized"),
        ),
        (
            json!({"virhe": {"syy": "Määrä on liian suuri"}}),
            Some("Määrä on liian suuri"),
        ),
        (
            json!({"status": 404, "error": "Not Found", "path": "/a b c d"}),
            Some("Not Found"),
        ),
        (json!({"owner": "John Smith"}), None),
    ] {
        assert_eq!(read(&body).0.as_deref(), message, "{body}");
    }
}

#[test]
fn a_hostile_body_is_read_in_bounded_time() {
    let deep = |depth: usize| {
        (0..depth).fold(
            json!("a deep reason"),
            |inner, _| json!({"errors": [inner]}),
        )
    };
    assert!(read(&deep(100)).1.is_empty());
    let wide = json!({"errors": vec![json!({"errors": vec![json!({"errors": vec![json!({"code": 1}); 50]}); 50]}); 50]});
    assert!(read(&wide).1.is_empty());
    let texts = vec![json!("a b c d e f g h"); 100_000];
    let (message, _) = read(&json!({"message": texts}));
    assert_eq!(message.as_deref(), Some("a b c d e f g h"));
    let words = "x y ".repeat(250_000);
    assert!(
        read(&json!({"message": words, "error": {"message": words}}))
            .0
            .is_some()
    );
}
