//! Rejected arguments in texts.

use panpan_failure::ViolationKind;

use super::*;

fn members() -> InputMembers {
    InputMembers::of_schema(&json!({"properties": {"title": {}, "limit": {}}}))
}

#[test]
fn rejected_arguments_are_input_errors_without_an_effect() {
    for (text, pointers) in [
        (
            "Input validation error: 'title' is a required property",
            vec!["/title"],
        ),
        (
            "Input validation error: '500' is not of type 'integer'",
            vec![],
        ),
        (
            "1 validation error for list_issuesArguments\nlimit\n  Input should be less than or equal to 100 [type=less_than_equal, input_value=500, input_type=int]\n    For further information visit https://errors.pydantic.dev/",
            vec!["/limit"],
        ),
        (
            "Error executing tool x: 2 validation errors for xArguments\ntitle\n  Field required [type=missing, input_value={}, input_type=dict]\nlabels.0\n  Input should be a valid string [type=string_type, input_value=7, input_type=int]",
            vec!["/title", "/labels/0"],
        ),
        (
            "1 validation error for call[create]\npriority\n  Input should be 'low' or 'high' [type=literal_error, input_value='x', input_type=str]",
            vec!["/priority"],
        ),
        (
            r#"Input validation error: Invalid arguments for tool x: [{"code": "invalid_type", "expected": "string", "received": "undefined", "path": ["title"], "message": "Required"}]"#,
            vec!["/title"],
        ),
        (
            r#"[{"code": "invalid_string", "path": ["title", 0], "message": "Invalid email"}]"#,
            vec!["/title/0"],
        ),
        (
            "Input validation error: Invalid arguments for tool x: ✖ Too big: expected number to be <=100\n  → at limit",
            vec!["/limit"],
        ),
        (
            "Invalid arguments: data/priority must be one of the allowed values (low, high)",
            vec!["/priority"],
        ),
    ] {
        let failure = in_text(text, &members()).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(failure.code().as_str(), "INVALID_INPUT_ERROR");
        assert_eq!(failure.effect(), Effect::None, "{text}");
        let found: Vec<&str> = failure
            .violations()
            .iter()
            .map(|it| it.pointer.as_str())
            .collect();
        assert_eq!(found, pointers, "{text}");
    }
}

#[test]
fn what_was_expected_is_read() {
    for (text, kind, expected) in [
        (
            "Input validation error: 'title' is a required property",
            ViolationKind::Missing,
            None,
        ),
        (
            r#"Invalid arguments for tool x: [{"code": "too_big", "maximum": 80, "path": ["title"], "message": "Too long"}]"#,
            ViolationKind::Value,
            Some("at most 80"),
        ),
        (
            r#"Invalid arguments for tool x: [{"code": "invalid_type", "expected": "string", "received": "undefined", "path": ["title"], "message": "Required"}]"#,
            ViolationKind::Missing,
            Some("string"),
        ),
    ] {
        let failure = in_text(text, &members()).unwrap();
        let violation = &failure.violations()[0];
        let found = (violation.kind, violation.expected.as_deref());
        assert_eq!(found, (kind, expected), "{text}");
    }
}

#[test]
fn other_data_that_does_not_fit_is_not_about_the_input() {
    for text in [
        "1 validation error for IssueResponse\nfields\n  Field required [type=missing]",
        "No page named 'Input validation error: x'",
        "the call had a validation error: see the log",
        r#"[{"code": 7, "path": [], "message": "a"}]"#,
        "[1]",
        "",
    ] {
        assert!(in_text(text, &members()).is_none(), "{text}");
    }
    // The response of a service.
    let other = r#"[{"code": "invalid_type", "path": ["user", "id"], "message": "Required"}]"#;
    for text in [
        other,
        "Output validation error: Invalid structured content for tool create_user: [{}]",
        "Tool create_user has an output schema but no structured content was provided",
    ] {
        let failure = in_text(text, &members()).unwrap();
        let found = (failure.code().as_str(), failure.effect());
        assert_eq!(found, ("ERR_OUTPUT_INVALID", Effect::Unknown), "{text}");
        assert!(failure.violations().is_empty(), "{text}");
    }
}
