//! Compares two recordings of the same call.
//!
//! Codes, categories, retryability, effects, the order of the attempts, the decisions and the names
//! in the details must be equal. Messages, values in the details, retry hints, ids and times may
//! differ. Whether the recorded decisions were right is checked by the replay in the runtime.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::divergence::inside;
use super::{Decided, Divergence, RecordedOutcome, Recording, Step};
use crate::canonical_json::canonical_json;
use crate::retry::{Attempt, Decision};
use panpan_failure::Failure;
use panpan_failure::read::DOCUMENT_DEPTH_LIMIT;

/// Finds the first difference between a recorded call and another run of it.
pub fn compare(recorded: &Recording, found: &Recording) -> Option<Divergence> {
    let same = |place, of: fn(&Recording) -> Value| {
        Divergence::between(place, Some(of(recorded)), Some(of(found)))
    };
    same("operation", |it| it.operation.as_str().into())
        .or_else(|| input(&*recorded.shown_input()?, &*found.shown_input()?))
        .or_else(|| same("retry_seed", |it| it.retry_seed.into()))
        .or_else(|| steps(&recorded.steps, &found.steps))
        .or_else(|| same("steps.length", |it| it.steps.len().into()))
        .or_else(|| outcomes(&recorded.outcome, &found.outcome))
}

/// Finds the difference between two decisions about the same step: first the decision, then the
/// delay. A wait until a time is compared by its length.
pub fn compare_decisions(
    step: usize,
    recorded: Option<&Decided>,
    found: Option<&Decided>,
) -> Option<Divergence> {
    words(step, recorded, found).or_else(|| delays(step, recorded, found))
}

fn words(step: usize, recorded: Option<&Decided>, found: Option<&Decided>) -> Option<Divergence> {
    let place = format!("steps[{step}].decided.decision");
    Divergence::between(place, recorded.map(word), found.map(word))
}

fn delays(step: usize, recorded: Option<&Decided>, found: Option<&Decided>) -> Option<Divergence> {
    let place = format!("steps[{step}].decided.decision.delay_ms");
    Divergence::between(place, recorded.map(delay), found.map(delay))
}

fn word(decided: &Decided) -> Value {
    match decided.decision {
        Decision::Again { .. } => "again".into(),
        Decision::Later(_) => "later".into(),
        Decision::Answer(reason) => match json!(reason) {
            Value::String(reason) => format!("answer: {reason}").into(),
            other => other,
        },
    }
}

fn delay(decided: &Decided) -> Value {
    let at = match decided.decision {
        Decision::Again { delay_ms } => return delay_ms.into(),
        Decision::Answer(_) => return Value::Null,
        // The latest possible time; its distance depends on the time of the decision.
        Decision::Later(at) if at == Timestamp::MAX => return "for ever".into(),
        Decision::Later(at) => at,
    };
    let delay = at.duration_since(decided.at);
    match i64::try_from(delay.as_millis()) {
        Ok(delay_ms) if delay.subsec_nanos() % 1_000_000 == 0 => delay_ms.into(),
        _ => format!("{delay:#}").into(),
    }
}

fn steps(recorded: &[Step], found: &[Step]) -> Option<Divergence> {
    let mut pairs = recorded.iter().zip(found).enumerate();
    pairs.find_map(|(index, (recorded, found))| step(index, recorded, found))
}

fn step(index: usize, recorded: &Step, found: &Step) -> Option<Divergence> {
    let place = format!("steps[{index}].failed");
    let failed = (recorded.failed.as_ref(), found.failed.as_ref());
    let decided = (recorded.decided.as_ref(), found.decided.as_ref());
    let hint_ms = |step: &Step| step.failed.as_ref().and_then(|failed| failed.hint_ms);
    facts(&FIXED, &place, failed)
        .or_else(|| facts(&[EFFECT], &place, failed))
        .or_else(|| words(index, decided.0, decided.1))
        .or_else(|| {
            // Hints may differ, and the delay follows from the hint.
            let same_hint = hint_ms(recorded) == hint_ms(found);
            delays(index, decided.0, decided.1).filter(|_| same_hint)
        })
}

type Fact = (&'static str, fn(&Attempt) -> Value);

/// The facts that must be equal for every failure.
const FIXED: [Fact; 3] = [
    ("code", |it| it.code.as_str().into()),
    ("category", |it| it.category.word().into()),
    ("retryable", |it| it.retryable.into()),
];
/// The fact that must also be equal for every attempt, because decisions depend on it.
const EFFECT: Fact = ("effect", |it| it.effect.word().into());

fn facts(
    facts: &[Fact],
    place: &str,
    (recorded, found): (Option<&Attempt>, Option<&Attempt>),
) -> Option<Divergence> {
    facts.iter().find_map(|(name, of)| {
        Divergence::between(inside(place, name), recorded.map(of), found.map(of))
    })
}

fn outcomes(recorded: &RecordedOutcome, found: &RecordedOutcome) -> Option<Divergence> {
    use RecordedOutcome::{Failed, Succeeded};
    let summary = |outcome: &RecordedOutcome| match outcome {
        Succeeded { .. } => "success".to_owned(),
        Failed(failure) => format!("failure with {}", failure.code()),
    };
    match (recorded, found) {
        (Failed(recorded), Failed(found)) => failures(recorded, found),
        (
            Succeeded { output_digest },
            Succeeded {
                output_digest: found,
            },
        ) => Divergence::between(
            "outcome.succeeded.output_digest",
            Some(output_digest.as_str()),
            Some(found),
        ),
        _ => Divergence::between("outcome", Some(summary(recorded)), Some(summary(found))),
    }
}

fn failures(recorded: &Failure, found: &Failure) -> Option<Divergence> {
    const PLACE: &str = "outcome.failed";
    let attempts = (&Attempt::of(recorded), &Attempt::of(found));
    facts(&FIXED, PLACE, (Some(attempts.0), Some(attempts.1))).or_else(|| {
        let empty = Map::new();
        let (recorded, found) = (recorded.details(), found.details());
        let place = inside(PLACE, "details");
        names(
            &place,
            recorded.unwrap_or(&empty),
            found.unwrap_or(&empty),
            0,
        )
    })
}

/// The first name that only one of two objects has, including nested objects. Lists are values:
/// their length and items may differ.
fn names(
    place: &str,
    recorded: &Map<String, Value>,
    found: &Map<String, Value>,
    depth: usize,
) -> Option<Divergence> {
    if depth == DOCUMENT_DEPTH_LIMIT {
        return None;
    }
    all_names(recorded, found).find_map(|name| {
        let place = inside(place, name);
        match (recorded.get(name), found.get(name)) {
            (Some(Value::Object(recorded)), Some(Value::Object(found))) => {
                names(&place, recorded, found, depth + 1)
            }
            (Some(_), Some(_)) => None,
            (recorded, _) => Some(Divergence::of_presence(place, recorded.is_some())),
        }
    })
}

fn input(recorded: &Value, found: &Value) -> Option<Divergence> {
    values("input", recorded, found, 0)
}

/// The first difference between two values. Values beyond the nesting limit of documents are
/// compared whole.
fn values(place: &str, recorded: &Value, found: &Value, depth: usize) -> Option<Divergence> {
    match (recorded, found) {
        (Value::Object(recorded), Value::Object(found)) if depth < DOCUMENT_DEPTH_LIMIT => {
            all_names(recorded, found).find_map(|name| {
                let place = inside(place, name);
                match (recorded.get(name), found.get(name)) {
                    (Some(recorded), Some(found)) => values(&place, recorded, found, depth + 1),
                    (recorded, _) => Some(Divergence::of_presence(place, recorded.is_some())),
                }
            })
        }
        (Value::Array(recorded), Value::Array(found)) if depth < DOCUMENT_DEPTH_LIMIT => {
            let mut pairs = recorded.iter().zip(found).enumerate();
            let item = pairs.find_map(|(index, (recorded, found))| {
                values(&format!("{place}[{index}]"), recorded, found, depth + 1)
            });
            let lengths = (Some(recorded.len()), Some(found.len()));
            item.or_else(|| Divergence::between(inside(place, "length"), lengths.0, lengths.1))
        }
        // 1 and 1.0 are the same input, because they have the same fingerprint.
        _ if canonical_json(recorded) == canonical_json(found) => None,
        _ => Divergence::between(place, Some(recorded.clone()), Some(found.clone())),
    }
}

/// The names of both, without duplicates, in alphabetical order.
fn all_names<'a>(
    one: &'a Map<String, Value>,
    other: &'a Map<String, Value>,
) -> impl Iterator<Item = &'a String> {
    let names: BTreeSet<_> = one.keys().chain(other.keys()).collect();
    names.into_iter()
}

#[cfg(test)]
mod tests;
