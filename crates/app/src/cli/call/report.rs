//! The report about a failure on a terminal: what happened, what to do, and whether to call again.

use panpan_failure::{Effect, Failure, Violation, ViolationKind};
use serde_json::Value;

use crate::cli::terminal::{Colour, Style, escape};

/// The report about a failure. The key is the one of the call.
pub(super) fn report(failure: &Failure, key: Option<&str>, colour: Colour) -> String {
    let mut lines = headline(failure, colour);
    let details = failure.details();
    // Where the violations have different codes, one of which is that of the failure.
    let codes = details.and_then(|it| it.get("violation_codes")?.as_array());
    for (position, violation) in failure.violations().iter().enumerate() {
        lines.extend(violation_lines(violation, colour));
        let code = codes.and_then(|codes| codes.get(position)?.as_str());
        lines.extend(code.map(|code| format!("    code      {}", escape(code))));
    }
    let advice = advice(failure);
    if !advice.is_empty() {
        lines.push(String::new());
        lines.push(colour.styled(Style::HEADING, "what to do"));
        lines.extend(advice.iter().map(|line| format!("  - {}", escape(line))));
    }
    lines.push(String::new());
    lines.push(labelled("retry", &retry(failure, key), colour));
    if let Some(attempts) = failure.attempts().filter(|_| failure.was_repeated()) {
        lines.push(labelled("tried", &format!("{attempts} times"), colour));
    }
    if let Some(id) = failure.id() {
        let id = colour.styled(Style::DIMMED, &id.to_string());
        lines.push(format!("{}  {id}", colour.styled(Style::HEADING, "id   ")));
    }
    lines.join("\n") + "\n"
}

/// The code with its title, then the message.
fn headline(failure: &Failure, colour: Colour) -> Vec<String> {
    let title = failure.kind().title();
    let code = colour.styled(Style::ERROR, failure.code().as_str());
    let mut lines = vec![format!("{code}: {}", escape(&title))];
    if !failure.message().eq_ignore_ascii_case(&title) {
        // Indented, so that no line of the message looks like one of the report.
        let message = failure.message().lines();
        lines.extend(message.map(|line| format!("  {}", escape(line))));
    }
    lines
}

fn violation_lines(violation: &Violation, colour: Colour) -> Vec<String> {
    let pointer = match violation.pointer.as_str() {
        "" => "the whole input",
        pointer => pointer,
    };
    let pointer = colour.styled(Style::POINTER, pointer);
    let mut lines = vec![
        String::new(),
        format!("  {pointer}: {}", escape(&violation.reason)),
    ];
    if let Some(expected) = &violation.expected {
        lines.push(format!("    expected  {}", escape(expected)));
    }
    if let Some(actual) = &violation.actual {
        lines.push(format!("    found     {}", escape(&actual.to_string())));
    }
    lines.extend(as_string(violation).map(|pair| format!("    write     {}", escape(&pair))));
    lines
}

/// How to write a string that looks like a number, which `name=7` is not.
fn as_string(violation: &Violation) -> Option<String> {
    let expects_string = violation.expected.as_deref()?.contains("string");
    let actual = violation.actual.as_ref()?;
    let is_scalar = actual.is_number() || actual.is_boolean() || actual.is_null();
    let name = violation.pointer.strip_prefix('/')?.replace('/', ".");
    let applies = expects_string && is_scalar && violation.kind == ViolationKind::Type;
    let text = argument(&Value::from(actual.to_string()));
    applies.then(|| format!("{name}={text} to send a string"))
}

/// What to do, in the order to try it.
fn advice(failure: &Failure) -> Vec<String> {
    let recovery = failure.recovery();
    let delay = recovery.retry_after_ms.filter(|delay_ms| *delay_ms > 0);
    let delay = delay.map(duration);
    let mut actions = recovery.required_actions.clone();
    let states_wait = state_delay(&mut actions, delay.as_deref());
    actions.extend(
        recovery
            .parameter_adjustments
            .iter()
            .map(|(name, value)| format!("call with {name}={}", argument(value))),
    );
    let delay = delay.filter(|_| !states_wait);
    actions.extend(waiting(delay.as_deref(), recovery.max_retries));
    actions.extend(recovery.alternatives.iter().map(|other| {
        let example = other.example.as_ref();
        let example = example.map_or_else(String::new, |example| format!(", as in {example}"));
        format!("or {}{example}", lowercase_first(&other.description))
    }));
    actions
}

/// Puts the delay into the actions that say to wait, so that it is printed once. Returns whether there is such an
/// action.
fn state_delay(actions: &mut [String], delay: Option<&str>) -> bool {
    let mut waits = actions.iter_mut().filter(|it| it.starts_with("Wait"));
    let Some(wait) = waits.next() else {
        return false;
    };
    let Some(delay) = delay else {
        return true;
    };
    *wait = match wait.strip_prefix("Wait").unwrap_or_default() {
        rest if rest.contains(|it: char| it.is_ascii_digit()) => return true,
        rest if rest.starts_with(" for the stated delay") => {
            format!("Wait {delay}{}", &rest[" for the stated delay".len()..])
        }
        rest if rest.starts_with(" until") => format!("Wait{rest} (at least {delay})"),
        rest => format!("Wait {delay}{rest}"),
    };
    true
}

/// A value as it is written after `name=` in a shell.
fn argument(value: &Value) -> String {
    let written = match value {
        Value::String(text) if serde_json::from_str::<Value>(text).is_err() => text.clone(),
        value => value.to_string(),
    };
    let needs_no_quotes = |it: char| it.is_alphanumeric() || "-_./:@%+,".contains(it);
    match written.chars().all(needs_no_quotes) {
        true => written,
        false => format!("'{}'", written.replace('\'', r"'\''")),
    }
}

fn waiting(delay: Option<&str>, retries: Option<u32>) -> Option<String> {
    let times = |count: u32| match count {
        1 => "once".to_owned(),
        count => format!("at most {count} times"),
    };
    match (delay, retries) {
        (Some(delay), Some(retries)) => {
            Some(format!("wait {delay}, then retry {}", times(retries)))
        }
        (Some(delay), None) => Some(format!("wait {delay}, then retry")),
        (None, Some(retries)) => Some(format!("retry {}", times(retries))),
        (None, None) => None,
    }
}

fn duration(milliseconds: u64) -> String {
    match milliseconds {
        ..1000 => format!("{milliseconds} ms"),
        1000..120_000 if milliseconds.is_multiple_of(1000) => format!("{} s", milliseconds / 1000),
        1000..120_000 => format!("{}.{} s", milliseconds / 1000, milliseconds % 1000 / 100),
        _ => format!("{} min", milliseconds.div_ceil(60_000)),
    }
}

/// With a lower-case first letter, unless the first word is an acronym such as HTTP.
fn lowercase_first(sentence: &str) -> String {
    let mut characters = sentence.chars();
    let first = characters.next();
    match (first, characters.clone().next()) {
        (Some(first), Some(second)) if first.is_uppercase() && second.is_lowercase() => {
            first.to_lowercase().chain(characters).collect()
        }
        _ => sentence.to_owned(),
    }
}

/// Whether to call again.
fn retry(failure: &Failure, key: Option<&str>) -> String {
    match (failure.may_repeat(), failure.effect(), key) {
        (true, Effect::None, _) => "yes: nothing was changed".to_owned(),
        (true, _, Some(key)) => format!("yes, with the same key: --key {key}"),
        (true, _, None) => "yes: repeating it does no harm".to_owned(),
        (false, Effect::None, _) => "no: the same call fails again".to_owned(),
        (false, Effect::Unknown, _) => {
            "check first whether the call took effect: it may have".to_owned()
        }
        (false, Effect::Applied, _) => "no: the call took effect".to_owned(),
    }
}

fn labelled(label: &str, text: &str, colour: Colour) -> String {
    let label = colour.styled(Style::HEADING, &format!("{label:<5}"));
    format!("{label}  {}", escape(text))
}

#[cfg(test)]
mod tests;
