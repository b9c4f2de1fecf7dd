//! The agent view: the short JSON that a model reads, as the first text block of a failing MCP tool.
//!
//! Most useful members first: one boolean, one list of moves, no contradictions, and nothing for programs.
//! The whole failure is in `_meta`; if that is lost, the view is read instead.

use std::borrow::Cow;
use std::num::NonZeroU32;

use panpan_catalogue::Effect;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::InError;
use crate::failure::{
    Draft, Failure, NextMove, Redacted, Violation, cut_within, invites_repeat, violation,
};
use crate::read::Members;
use crate::size;
use crate::write::{Sequence, Text, non_empty, written};

/// Largest agent view, in bytes.
pub const AGENT_VIEW_BYTES_LIMIT: usize = 4096;
/// Bytes shown of a message, and characters shown of a meaning and an action; the smaller limits apply while the
/// view is too long. The message is shortened before other members are left out.
const MESSAGE_BYTES: [usize; 4] = [3072, 2000, 1200, 800];
const SENTENCE_CHARACTERS: [usize; 4] = [400, 200, 100, 50];
/// Actions that are shown.
const ACTIONS_LIMIT: usize = 4;
/// Violations that are shown; the message states how many there are.
const VIOLATIONS_LIMIT: usize = 8;
/// Characters shown of each text of a violation.
const VIOLATION_CHARACTERS_LIMIT: usize = 120;
/// Bytes of details that are shown; lists and texts that do not fit are cut, other members are left out.
const DETAILS_BYTES_LIMIT: usize = 800;

/// A text in the details is left out rather than cut to fewer bytes.
const CUT_TEXT_BYTES_MIN: usize = 80;

/// Writes the view of a failure. `rename` returns the tool name of an operation.
pub fn agent_view(failure: &Redacted, rename: &dyn Fn(&str) -> Option<String>) -> String {
    let written = |lengths: &Lengths<'_>| {
        let shown = Shown {
            failure,
            rename,
            lengths,
        };
        let error = View(&shown);
        serde_json::to_string(&InError { error }).expect("a failure is made of JSON")
    };
    let longest = SENTENCE_CHARACTERS[0];
    let messages = MESSAGE_BYTES.map(|it| (&Part::ALL[..0], it, longest));
    let fewer_parts = (0..=Part::ALL.len()).map(|count| (&Part::ALL[..count], longest, longest));
    let shorter = SENTENCE_CHARACTERS[1..]
        .iter()
        .map(|it| (&Part::ALL[..], *it, *it));
    let mut text = String::new();
    for (left_out, message, sentence) in messages.into_iter().chain(fewer_parts).chain(shorter) {
        text = written(&Lengths {
            left_out,
            message,
            sentence,
        });
        if text.len() <= AGENT_VIEW_BYTES_LIMIT {
            break;
        }
    }
    text
}

/// The view as a JSON value, for a response with several views.
pub fn agent_value(failure: &Redacted, rename: &dyn Fn(&str) -> Option<String>) -> Value {
    serde_json::from_str(&agent_view(failure, rename)).expect("a view is JSON")
}

/// Whether an error object is a view.
pub(super) fn is_view(error: &Members) -> bool {
    let has = |name: &str, is: fn(&Value) -> bool| error.peek(name).is_some_and(is);
    has("code", Value::is_string)
        && has("retryable", Value::is_boolean)
        && has("next", Value::is_array)
}

/// Reads a failure from a view.
pub(super) fn read(mut error: Members) -> Failure {
    let mut draft = Draft {
        code: error.lenient_text("code"),
        message: error.lenient_text("message"),
        effect: error.lenient_as("effect", |word| Effect::from_word(word.as_str()?)),
        ..Draft::default()
    };
    draft.facts.retryable = error.lenient_flag("retryable");
    let parts = &mut draft.parts;
    parts.meaning = error.lenient_text("meaning");
    parts.details = error.lenient_map("details");
    parts.id = error.lenient_as("id", |id| Uuid::try_parse(id.as_str()?).ok());
    parts.attempts = error.lenient_unsigned("attempts").and_then(NonZeroU32::new);
    parts.recovery.retry_after_ms = error.lenient_unsigned("retry_after_ms");
    let sentence = |action: &Value| action.as_str().map(str::to_owned);
    let actions = error.lenient_list("actions", sentence);
    parts.recovery.required_actions = actions.unwrap_or_default();
    let violations =
        error.lenient_list("violations", |it| violation(it.clone(), String::new()).ok());
    parts.violations = violations.unwrap_or_default();
    draft.finish()
}

/// The parts that are left out of a view that is too long, least useful first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Details,
    Meaning,
    Violations,
}

impl Part {
    const ALL: [Part; 3] = [Part::Details, Part::Meaning, Part::Violations];
}

/// How much of a failure is shown.
struct Lengths<'a> {
    left_out: &'a [Part],
    /// Bytes shown of the message.
    message: usize,
    /// Characters shown of another sentence.
    sentence: usize,
}

pub(super) struct Shown<'a> {
    failure: &'a Failure,
    rename: &'a dyn Fn(&str) -> Option<String>,
    lengths: &'a Lengths<'a>,
}

written! {
    pub(super) View(it: Shown<'a>) {
        "code" => Some(it.failure.code().as_str()),
        "message" => Some(cut_within(&it.message(), it.lengths.message)),
        "retryable" => Some(it.failure.may_repeat()),
        "retry_after_ms" => it.failure.recovery().retry_after_ms,
        "next" => Some(Sequence(|| it.failure.next_moves().into_iter().map(NextMove::word))),
        "actions" => non_empty(&it.actions()),
        "effect" => Some(it.failure.effect().word()),
        "violations" => it.violations().map(|all| Sequence(|| all.iter().map(ShortViolation))),
        "meaning" => it.unless_left_out(Part::Meaning, it.failure.meaning()).map(|text| cut(text, it.lengths.sentence)),
        "details" => it.details().filter(|details| !details.is_empty()),
        "attempts" => it.failure.attempts().filter(|attempts| *attempts > 1),
        "id" => it.failure.id().map(|id| Text(id.hyphenated())),
    }
}

impl Shown<'_> {
    fn unless_left_out<T>(&self, part: Part, value: Option<T>) -> Option<T> {
        value.filter(|_| !self.lengths.left_out.contains(&part))
    }

    fn violations(&self) -> Option<&[Violation]> {
        let all = self.failure.violations();
        let first = non_empty(&all[..all.len().min(VIOLATIONS_LIMIT)]);
        self.unless_left_out(Part::Violations, first)
    }

    /// The message. If the call must not be repeated, sentences that invite to repeat it are dropped, unless
    /// nothing else is left.
    fn message(&self) -> Cow<'_, str> {
        let message = self.failure.message();
        let sentences = || message.split_inclusive(['.', '!', '\n']);
        if self.failure.may_repeat() || !sentences().any(invites_repeat) {
            return Cow::Borrowed(message);
        }
        let left: String = sentences().filter(|it| !invites_repeat(it)).collect();
        match left.trim() {
            "" => Cow::Borrowed(message),
            left => Cow::Owned(left.to_owned()),
        }
    }

    /// The required actions and the alternatives.
    fn actions(&self) -> Vec<String> {
        let recovery = self.failure.recovery();
        let others = recovery.alternatives.iter().map(|it| &it.description);
        let all = recovery.required_actions.iter().chain(others);
        all.take(ACTIONS_LIMIT)
            .map(|action| self.renamed(&cut(action, self.lengths.sentence)))
            .collect()
    }

    /// An action, with the names of operations replaced by tool names.
    fn renamed(&self, action: &str) -> String {
        let name = |word: &str| {
            let bare = word.trim_end_matches(['.', ',', ';', ':']);
            let renamed = bare.contains('/').then(|| (self.rename)(bare)).flatten();
            renamed.map(|renamed| renamed + &word[bare.len()..])
        };
        let words = action.split(' ');
        let words = words.map(|word| name(word).map_or(Cow::Borrowed(word), Cow::Owned));
        words.collect::<Vec<_>>().join(" ")
    }

    /// The details that fit, without those that another member of the view covers.
    fn details(&self) -> Option<Map<String, Value>> {
        let details = self.unless_left_out(Part::Details, self.failure.details())?;
        let new = details.iter().filter_map(|(name, value)| {
            Some((name.clone(), self.without_duplicates(name, value)?))
        });
        Some(fitting_members(new.collect(), DETAILS_BYTES_LIMIT))
    }

    /// A detail without the values that another member of the view covers, at any depth.
    fn without_duplicates(&self, name: &str, value: &Value) -> Option<Value> {
        let has_violations = name == "errors" && !self.failure.violations().is_empty();
        if has_violations || is_covered_by_the_view(name, value) {
            return None;
        }
        match value {
            Value::Null => None,
            Value::String(text) => {
                let message = self.failure.message();
                let is_part = text.contains(' ') && message.contains(text.as_str());
                let repeats = text.is_empty() || text == message || is_part;
                let misleads = invites_repeat(text) && !self.failure.may_repeat();
                (!repeats && !misleads).then(|| value.clone())
            }
            Value::Object(members) => {
                let left = members.iter().filter_map(|(name, value)| {
                    Some((name.clone(), self.without_duplicates(name, value)?))
                });
                let left: Map<String, Value> = left.collect();
                (!left.is_empty()).then_some(Value::Object(left))
            }
            Value::Array(items) => {
                let left = items
                    .iter()
                    .filter_map(|it| self.without_duplicates("", it));
                let left: Vec<Value> = left.collect();
                (!left.is_empty()).then_some(Value::Array(left))
            }
            Value::Bool(_) | Value::Number(_) => Some(value.clone()),
        }
    }
}

/// Whether a member is about retrying, waiting, next steps, the status or the failure as a whole. The view
/// has its own members for these, and an agent must not find a second answer. Texts that say more are kept.
fn is_covered_by_the_view(name: &str, value: &Value) -> bool {
    const NAMES: [&str; 11] = [
        "success",
        "ok",
        "effect",
        "upstream_body",
        "recovery",
        "remedy",
        "remedies",
        "actions",
        "required_actions",
        "alternatives",
        "parameter_adjustments",
    ];
    const ABOUT_RETRYING: [&str; 4] = ["retr", "transient", "try_again", "backoff"];
    const NAMES_OF_TEXTS: [&str; 7] = [
        "status",
        "status_code",
        "statuscode",
        "message",
        "detail",
        "errors",
        "next",
    ];
    let name = name.to_ascii_lowercase();
    let may_say_more = NAMES_OF_TEXTS.contains(&name.as_str()) || name.contains("wait");
    NAMES.contains(&name.as_str())
        || ABOUT_RETRYING.iter().any(|part| name.contains(part))
        || (may_say_more && is_bare(value))
}

/// Whether a value says only that the call failed, with which status, or how long to wait.
fn is_bare(value: &Value) -> bool {
    const FAILED: [&str; 6] = ["error", "fail", "failed", "failure", "false", "true"];
    match value {
        Value::String(text) => {
            let text = text.trim().to_ascii_lowercase();
            text.starts_with(|it: char| it.is_ascii_digit()) || FAILED.contains(&text.as_str())
        }
        Value::Array(_) | Value::Object(_) => false,
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

/// The members that fit into `room` bytes; lists and texts that do not fit are cut.
fn fitting_members(members: Map<String, Value>, mut room: usize) -> Map<String, Value> {
    let mut shown = Map::new();
    for (name, value) in members {
        let overhead = name.len() + 4;
        let Some(value) = fitting(value, room.saturating_sub(overhead)) else {
            continue;
        };
        room = room.saturating_sub(overhead + written_length(&value));
        shown.insert(name, value);
    }
    shown
}

/// A value that fits into `room` bytes: as it is, or the beginning of a list or of a text with a mark.
fn fitting(value: Value, room: usize) -> Option<Value> {
    if written_length(&value) <= room {
        return Some(value);
    }
    match value {
        Value::String(text) if room > CUT_TEXT_BYTES_MIN => {
            Some(cut_within(&text, room - "\"\"".len()).into_owned().into())
        }
        Value::Array(items) => {
            let count = items.len();
            let mut room = room.saturating_sub("[\"… 1000 more\"]".len());
            let mut shown: Vec<Value> = Vec::new();
            for item in items {
                let length = written_length(&item) + 1;
                if length > room {
                    break;
                }
                room -= length;
                shown.push(item);
            }
            let more = format!("… {} more", count - shown.len());
            (!shown.is_empty()).then(|| {
                shown.push(more.into());
                shown.into()
            })
        }
        Value::Object(members) => {
            let shown = fitting_members(members, room.saturating_sub("{}".len()));
            (!shown.is_empty()).then_some(shown.into())
        }
        _ => None,
    }
}

fn written_length(value: &Value) -> usize {
    match value {
        Value::String(text) => size::of_text(text) + "\"\"".len(),
        other => other.to_string().len(),
    }
}

fn shortened(text: &str) -> Cow<'_, str> {
    cut(text, VIOLATION_CHARACTERS_LIMIT)
}

/// Whether the actual value of a violation is shown: a short scalar.
fn is_shown(actual: &&Value) -> bool {
    let is_scalar = !actual.is_object() && !actual.is_array();
    is_scalar && written_length(actual) <= VIOLATION_CHARACTERS_LIMIT
}

// One violation with cut texts; numbers stay numbers.
written! {
    ShortViolation(violation: Violation) {
        "pointer" => Some(shortened(&violation.pointer)),
        "kind" => violation.kind.stated_word(),
        "expected" => violation.expected.as_deref().map(shortened),
        "actual" => violation.actual.as_ref().filter(is_shown),
        "reason" => Some(shortened(&violation.reason)),
    }
}

/// Cuts a text and marks the cut.
fn cut(text: &str, characters: usize) -> Cow<'_, str> {
    match text.char_indices().nth(characters) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}
