//! A failure as a person reads it on a terminal: what, why, what to do, and whether to call again.

use panpan_failure::{Effect, Failure, Violation, ViolationKind};
use serde_json::Value;

use crate::cli::terminal::{Paint, Style, visible};

/// The page of a failure. The key is the one the call was made with.
pub(super) fn page(failure: &Failure, key: Option<&str>, paint: Paint) -> String {
    let mut lines = headline(failure, paint);
    for violation in failure.violations() {
        lines.extend(violated(violation, paint));
    }
    let advice = advice(failure);
    if !advice.is_empty() {
        lines.push(String::new());
        lines.push(paint.styled(Style::Heading, "what to do"));
        lines.extend(advice.iter().map(|line| format!("  - {}", visible(line))));
    }
    lines.push(String::new());
    lines.push(labelled("again", &again(failure, key), paint));
    if let Some(attempts) = failure.attempts().filter(|_| failure.was_repeated()) {
        lines.push(labelled("tried", &format!("{attempts} times"), paint));
    }
    if let Some(id) = failure.id() {
        let id = paint.styled(Style::Aside, &id.to_string());
        lines.push(format!("{}  {id}", paint.styled(Style::Heading, "id   ")));
    }
    lines.join("\n") + "\n"
}

/// The code with its few fixed words, then what was said this time.
fn headline(failure: &Failure, paint: Paint) -> Vec<String> {
    let title = failure.kind().title();
    let code = paint.styled(Style::Alarm, failure.code().as_str());
    let mut lines = vec![format!("{code}: {}", visible(&title))];
    if !failure.message().eq_ignore_ascii_case(&title) {
        // Set in, so that no line of it passes for one of ours.
        let said = failure.message().lines();
        lines.extend(said.map(|line| format!("  {}", visible(line))));
    }
    lines
}

fn violated(violation: &Violation, paint: Paint) -> Vec<String> {
    let place = match violation.pointer.as_str() {
        "" => "the whole input",
        pointer => pointer,
    };
    let place = paint.styled(Style::Place, place);
    let mut lines = vec![
        String::new(),
        format!("  {place}: {}", visible(&violation.reason)),
    ];
    if let Some(expected) = &violation.expected {
        lines.push(format!("    expected  {}", visible(expected)));
    }
    if let Some(actual) = &violation.actual {
        lines.push(format!("    found     {}", visible(&actual.to_string())));
    }
    lines.extend(as_text(violation).map(|pair| format!("    write     {}", visible(&pair))));
    lines
}

/// How a text is written that looks like a number: behind `name=`, it would be one.
fn as_text(violation: &Violation) -> Option<String> {
    let expects_text = violation.expected.as_deref()?.contains("string");
    let actual = violation.actual.as_ref()?;
    let is_plain = actual.is_number() || actual.is_boolean() || actual.is_null();
    let name = violation.pointer.strip_prefix('/')?.replace('/', ".");
    let is_fitting = expects_text && is_plain && violation.kind == ViolationKind::Type;
    let text = argument(&Value::from(actual.to_string()));
    is_fitting.then(|| format!("{name}={text} to send it as a text"))
}

/// What to do, in the order it is best tried.
fn advice(failure: &Failure) -> Vec<String> {
    let recovery = failure.recovery();
    let mut advice = recovery.required_actions.clone();
    advice.extend(
        recovery
            .parameter_adjustments
            .iter()
            .map(|(name, value)| format!("call with {name}={}", argument(value))),
    );
    // Most often the first action says how long to wait.
    let says_wait = advice.iter().any(|action| {
        let wait = action.strip_prefix("Wait ");
        wait.is_some_and(|it| it.starts_with(|it: char| it.is_ascii_digit()))
    });
    let delay_ms = recovery.retry_after_ms.filter(|_| !says_wait);
    advice.extend(waiting(delay_ms, recovery.max_retries));
    advice.extend(recovery.alternatives.iter().map(|other| {
        let example = other.example.as_ref();
        let example = example.map_or_else(String::new, |example| format!(", as in {example}"));
        format!("or {}{example}", lowered(&other.description))
    }));
    advice
}

/// A value as it is written behind `name=` in a shell.
fn argument(value: &Value) -> String {
    let written = match value {
        Value::String(text) if serde_json::from_str::<Value>(text).is_err() => text.clone(),
        value => value.to_string(),
    };
    let is_plain = |it: char| it.is_alphanumeric() || "-_./:@%+,".contains(it);
    match written.chars().all(is_plain) {
        true => written,
        false => format!("'{}'", written.replace('\'', r"'\''")),
    }
}

fn waiting(delay_ms: Option<u64>, retries: Option<u32>) -> Option<String> {
    let times = |count: u32| match count {
        1 => "once more".to_owned(),
        count => format!("at most {count} times"),
    };
    match (delay_ms.filter(|delay_ms| *delay_ms > 0), retries) {
        (Some(delay_ms), Some(retries)) => Some(format!(
            "wait {}, then call again, {}",
            duration(delay_ms),
            times(retries)
        )),
        (Some(delay_ms), None) => Some(format!("wait {}, then call again", duration(delay_ms))),
        (None, Some(retries)) => Some(format!("call again, {}", times(retries))),
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

/// With a small first letter, unless the word is a name such as HTTP.
fn lowered(sentence: &str) -> String {
    let mut characters = sentence.chars();
    let first = characters.next();
    match (first, characters.clone().next()) {
        (Some(first), Some(second)) if first.is_uppercase() && second.is_lowercase() => {
            first.to_lowercase().chain(characters).collect()
        }
        _ => sentence.to_owned(),
    }
}

/// Whether to call again, in plain words.
fn again(failure: &Failure, key: Option<&str>) -> String {
    match (failure.may_repeat(), failure.effect(), key) {
        (true, Effect::None, _) => "yes: nothing was done".to_owned(),
        (true, _, Some(key)) => format!("yes, with the same key: --key {key}"),
        (true, _, None) => "yes: repeating it does no harm".to_owned(),
        (false, Effect::None, _) => "no: the same call fails again".to_owned(),
        (false, Effect::Unknown, _) => {
            "not before you have checked: it may have taken effect".to_owned()
        }
        (false, Effect::Applied, _) => "no: it took effect".to_owned(),
    }
}

fn labelled(label: &str, text: &str, paint: Paint) -> String {
    let label = paint.styled(Style::Heading, &format!("{label:<5}"));
    format!("{label}  {}", visible(text))
}

#[cfg(test)]
mod tests;
