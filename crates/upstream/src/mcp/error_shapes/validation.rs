//! Texts with which servers and their libraries reject the arguments of a tool, before the tool starts.

use std::sync::LazyLock;

use panpan_failure::classify::InputMembers;
use panpan_failure::{Effect, Failure, Inferred, Violation, codes};
use regex::Regex;
use serde_json::{Value, json};

use super::clauses::{clauses, position};
use crate::classify::ErrorBody;
use crate::mcp::tool_error::bounded;

/// The beginnings of clauses that say that the arguments of a tool were rejected. What follows are the problems.
const INTRODUCTIONS: &str = r"(?i:input validation error:|invalid (?:tool )?arguments(?: for tool [^\s:]+)?:|arguments validation failed:)";

/// The beginnings of clauses that say that the result of a tool was rejected, after it ran.
const OUTPUT: &str =
    r"^(?i:output validation error:|tool \S+ has an output schema but no structured content)";

/// The action for a result that was rejected.
const IT_RAN: &str = "The tool ran, only its result is malformed: do not change the input; tell the person responsible for the server";

/// The same in the words of pydantic, whose model has the name of the tool.
const PYDANTIC: &str = r"\d+ validation errors? for (?:\w+Arguments|call\[[^\]\n]+\])[ ]*\n";

/// The most problems that are read.
const PROBLEMS_LIMIT: usize = 50;

static REJECTION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&format!(
        "^(?:(?P<introduction>{INTRODUCTIONS})|(?P<pydantic>{PYDANTIC}))"
    ))
});
static REJECTED_OUTPUT: LazyLock<Regex> = LazyLock::new(|| pattern(OUTPUT));
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
    if is_rejected_output(text) {
        return Some(malformed_result(text));
    }
    if let Some(problems) = rejected(text) {
        let violations = violations(problems);
        return Some(failure(text, violations, Effect::None));
    }
    // A tool can check the response of a service with the same library, after it did something.
    let issues = zod_issues(text).filter(|_| text.trim_start().starts_with('['))?;
    let violations = of_entries(&issues);
    let is_input = |it: &Violation| members.located(&it.pointer).is_some();
    Some(
        match !violations.is_empty() && violations.iter().all(is_input) {
            true => failure(text, violations, Effect::None),
            false => malformed_result(text),
        },
    )
}

/// Whether a text says that the result of a tool does not fit its schema.
pub(crate) fn is_rejected_output(text: &str) -> bool {
    let clauses = clauses(text);
    let mut openings = clauses.iter().filter(|it| it.is_opening());
    openings.any(|it| REJECTED_OUTPUT.is_match(it.text))
}

/// The failure for a result, of the tool or of a service behind it, that was rejected.
pub(crate) fn malformed_result(text: &str) -> Failure {
    Failure::new(codes::ERR_OUTPUT_INVALID)
        .with_message(bounded(text))
        .with_effect(Effect::Unknown)
        .with_actions([IT_RAN])
        .mark_inferred(Inferred::Code)
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
        let at = position(text, clause.text) + found.get(0)?.end();
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
mod tests;
