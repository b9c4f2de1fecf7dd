//! Texts with which servers and their libraries reject the arguments of a tool, before the tool starts.

use std::sync::LazyLock;

use panpan_failure::classify::InputMembers;
use panpan_failure::{Effect, Failure, Inferred, Violation, codes};
use regex::Regex;
use serde_json::{Value, json};

use super::clauses::clauses;
use crate::classify::ErrorBody;
use crate::mcp::tool_error::bounded;

/// The beginnings of clauses that say that the arguments of a tool were rejected. What follows are the problems.
const INTRODUCTIONS: &str = r"(?i:input validation error:|invalid (?:tool )?arguments(?: for tool [^\s:]+)?:|arguments validation failed:)";

/// The same in the words of pydantic, whose model has the name of the tool.
const PYDANTIC: &str = r"\d+ validation errors? for (?:\w+Arguments|call\[[^\]\n]+\])[ ]*\n";

/// The most problems that are read.
const PROBLEMS_LIMIT: usize = 50;

static REJECTION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&format!(
        "^(?:(?P<introduction>{INTRODUCTIONS})|(?P<pydantic>{PYDANTIC}))"
    ))
});
static REQUIRED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^'(?P<member>[^']+)' (?P<reason>is a required property)"));
static AJV: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^data/?(?P<path>\S*) (?P<reason>must .+)$"));
static PRETTY_ZOD: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"✖ (?P<reason>[^\n]+)(?:\n\s*→ at (?P<path>\S+))?"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a fixed pattern compiles")
}

/// The failure for arguments that were rejected.
pub(super) fn in_text(text: &str, members: &InputMembers) -> Option<Failure> {
    if let Some(problems) = rejected(text) {
        let violations = violations(problems);
        return Some(failure(text, violations, Effect::None));
    }
    // A tool can check the response of a service with the same library, after it did something.
    let issues = zod_issues(text).filter(|_| text.trim_start().starts_with('['))?;
    let violations = of_entries(&issues);
    let is_input = |it: &Violation| members.located(&it.pointer).is_some();
    let effect = match !violations.is_empty() && violations.iter().all(is_input) {
        true => Effect::None,
        false => Effect::Unknown,
    };
    Some(failure(text, violations, effect))
}

/// The problems with arguments in a text: issues of zod, or lines in the words of a library.
pub(crate) fn violations(problems: &str) -> Vec<Violation> {
    if let Some(issues) = zod_issues(problems) {
        return of_entries(&issues);
    }
    let entries = [required, ajv, pretty_zod, pydantic].map(|read| read(problems));
    let stated = entries.into_iter().find(|it| !it.is_empty());
    of_entries(&stated.unwrap_or_default())
}

fn failure(text: &str, violations: Vec<Violation>, effect: Effect) -> Failure {
    Failure::new(codes::INVALID_INPUT_ERROR)
        .with_message(bounded(text))
        .with_violations(violations)
        .with_effect(effect)
        .mark_inferred(Inferred::Code)
}

/// The problems behind the words that say that arguments were rejected.
fn rejected(text: &str) -> Option<&str> {
    let clauses = clauses(text);
    let mut openings = clauses.iter().filter(|it| it.is_opening());
    openings.find_map(|clause| {
        let found = REJECTION.captures(clause.text)?;
        // The clauses end at a limit; the problems do not.
        let at = text.find(clause.text)? + found.get(0)?.end();
        let problems = text[at..].trim_start();
        let nested = REJECTION.find(problems).map_or(0, |it| it.end());
        Some(problems[nested..].trim_start_matches(' '))
    })
}

/// Entries as `ErrorBody` reads them.
fn of_entries(entries: &[Value]) -> Vec<Violation> {
    ErrorBody::of_json(&json!({"errors": entries})).violations
}

/// The first JSON array of a text, if it is a list of zod's issues.
fn zod_issues(text: &str) -> Option<Vec<Value>> {
    let array = &text[text.find('[')?..];
    let mut values = serde_json::Deserializer::from_str(array).into_iter::<Vec<Value>>();
    let issues = values.next()?.ok()?;
    let is_issue =
        |it: &Value| it["code"].is_string() && it["path"].is_array() && it["message"].is_string();
    if issues.is_empty() || !issues.iter().all(is_issue) {
        return None;
    }
    let entries = issues.iter().take(PROBLEMS_LIMIT).map(of_zod);
    Some(entries.collect())
}

fn of_zod(issue: &Value) -> Value {
    let received = issue["received"].as_str();
    let is_missing = received == Some("undefined") || issue["message"] == "Required";
    let mut entry = json!({"loc": issue["path"], "msg": issue["message"]});
    for name in ["expected", "options", "maximum", "minimum"] {
        if let Some(value) = issue.get(name) {
            entry[name] = value.clone();
        }
    }
    if is_missing {
        entry["type"] = "missing".into();
    } else if let Some(received) = received {
        entry["actual"] = received.into();
    }
    entry
}

fn required(problems: &str) -> Vec<Value> {
    let found = REQUIRED.captures(problems).into_iter();
    let entry =
        found.map(|it| json!({"loc": [&it["member"]], "msg": &it["reason"], "type": "missing"}));
    entry.collect()
}

fn ajv(problems: &str) -> Vec<Value> {
    let found = problems
        .split(", data")
        .enumerate()
        .filter_map(|(at, problem)| {
            let problem = match at {
                0 => problem.to_owned(),
                _ => format!("data{problem}"),
            };
            let found = AJV.captures(problem.trim())?;
            let path: Vec<&str> = found["path"]
                .split('/')
                .filter(|it| !it.is_empty())
                .collect();
            (!path.is_empty()).then(|| json!({"loc": path, "msg": &found["reason"]}))
        });
    found.take(PROBLEMS_LIMIT).collect()
}

fn pretty_zod(problems: &str) -> Vec<Value> {
    let found = PRETTY_ZOD.captures_iter(problems).filter_map(|it| {
        let path: Vec<&str> = it.name("path")?.as_str().split('.').collect();
        Some(json!({"loc": path, "msg": &it["reason"]}))
    });
    found.take(PROBLEMS_LIMIT).collect()
}

/// The lines of pydantic: the path of a member, and behind an indentation what is wrong with it.
fn pydantic(problems: &str) -> Vec<Value> {
    let mut entries = Vec::new();
    let mut path = "";
    for line in problems.lines() {
        let Some(problem) = line.strip_prefix("  ") else {
            path = line.trim();
            continue;
        };
        let Some((reason, facts)) = problem.split_once(" [type=") else {
            continue;
        };
        let steps: Vec<&str> = path.split('.').filter(|it| !it.is_empty()).collect();
        let kind = facts.split([',', ']']).next().unwrap_or_default();
        entries.push(json!({"loc": steps, "msg": reason, "type": kind}));
    }
    entries.truncate(PROBLEMS_LIMIT);
    entries
}

#[cfg(test)]
mod tests {
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
        let failure = in_text(other, &members()).unwrap();
        assert_eq!(failure.effect(), Effect::Unknown);
    }
}
