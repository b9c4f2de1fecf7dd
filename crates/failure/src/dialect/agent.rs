//! The agent view: what a model reads of a failure, as the first text block of a failing MCP tool.
//!
//! Compact JSON, most useful first: one boolean, one list of moves, nothing that has to be reconciled
//! and nothing for another program's sake. The whole failure is in `_meta`; where that was lost on the
//! way, what the view tells is read back.

use std::borrow::Cow;
use std::num::NonZeroU32;

use panpan_catalogue::Effect;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::failure::{
    Draft, Failure, NextMove, Redacted, Text, Violation, ViolationKind, invites_repeat, violation,
};
use crate::read::Members;

/// The largest agent view, in bytes.
pub const AGENT_VIEW_BYTES_LIMIT: usize = 4096;
/// How many characters are shown of a message, a meaning and an action; fewer where even that is too long.
const SENTENCE_CHARACTERS: [usize; 4] = [400, 200, 100, 50];
/// How many actions are shown.
const ACTIONS_LIMIT: usize = 4;
/// How many violations are shown; the message says how many there are.
const VIOLATIONS_LIMIT: usize = 8;
/// How many characters are shown of a pointer and of what is said about it.
const VIOLATION_CHARACTERS_LIMIT: usize = 120;
/// How many bytes of details are shown; members that do not fit are left out.
const DETAILS_BYTES_LIMIT: usize = 320;

/// Writes the view of a failure. `rename` gives the name an operation has where the agent calls it.
pub fn agent_view(failure: &Redacted, rename: &dyn Fn(&str) -> Option<String>) -> String {
    let written = |left_out: &[Part], sentence: usize| {
        let view = View {
            failure,
            rename,
            left_out,
            sentence,
        };
        serde_json::to_string(&Wrapped(&view)).expect("a failure is made of JSON")
    };
    let longest = SENTENCE_CHARACTERS[0];
    let mut text = written(&[], longest);
    let fewer_parts = (1..=Part::ALL.len()).map(|count| (&Part::ALL[..count], longest));
    let shorter = SENTENCE_CHARACTERS[1..]
        .iter()
        .map(|it| (&Part::ALL[..], *it));
    for (left_out, sentence) in fewer_parts.chain(shorter) {
        if text.len() <= AGENT_VIEW_BYTES_LIMIT {
            break;
        }
        text = written(left_out, sentence);
    }
    text
}

/// The view as a JSON value, for an answer that holds several.
pub fn agent_value(failure: &Redacted, rename: &dyn Fn(&str) -> Option<String>) -> Value {
    serde_json::from_str(&agent_view(failure, rename)).expect("a view is JSON")
}

/// Whether the members of an error are those of a view.
pub(super) fn is_view(error: &Members) -> bool {
    let has = |name: &str, is: fn(&Value) -> bool| error.peek(name).is_some_and(is);
    has("code", Value::is_string)
        && has("retryable", Value::is_boolean)
        && has("next", Value::is_array)
}

/// Reads what a view tells.
pub(super) fn read(mut error: Members) -> Failure {
    let mut draft = Draft {
        code: error.told_text("code"),
        message: error.told_text("message"),
        meaning: error.told_text("meaning"),
        effect: error.told("effect", |word| Effect::from_word(word.as_str()?)),
        details: error.told_map("details"),
        id: error.told("id", |id| Uuid::try_parse(id.as_str()?).ok()),
        attempts: error.told("attempts", |count| {
            NonZeroU32::new(u32::try_from(count.as_u64()?).ok()?)
        }),
        ..Draft::default()
    };
    draft.facts.retryable = error.told_flag("retryable");
    draft.recovery.retry_after_ms = error.told_unsigned("retry_after_ms");
    let sentence = |action: &Value| action.as_str().map(str::to_owned);
    let actions = error.told_list("actions", sentence);
    draft.recovery.required_actions = actions.unwrap_or_default();
    let violations = error.told_list("violations", |it| violation(it.clone(), String::new()).ok());
    draft.violations = violations.unwrap_or_default();
    draft.finish()
}

/// What can be left out of a view that is too long, least useful first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Details,
    Meaning,
    Violations,
}

impl Part {
    const ALL: [Part; 3] = [Part::Details, Part::Meaning, Part::Violations];
}

struct Wrapped<'a>(&'a View<'a>);

impl Serialize for Wrapped<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("error", self.0)?;
        map.end()
    }
}

struct View<'a> {
    failure: &'a Failure,
    rename: &'a dyn Fn(&str) -> Option<String>,
    left_out: &'a [Part],
    /// How many characters are shown of a sentence.
    sentence: usize,
}

impl Serialize for View<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let failure = self.failure;
        let shows = |part| !self.left_out.contains(&part);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("code", failure.code().as_str())?;
        let message = self.message();
        map.serialize_entry("message", &cut(&message, self.sentence))?;
        map.serialize_entry("retryable", &failure.may_repeat())?;
        if let Some(delay_ms) = failure.recovery().retry_after_ms {
            map.serialize_entry("retry_after_ms", &delay_ms)?;
        }
        let next = failure.next_moves();
        map.serialize_entry("next", &Words(&next))?;
        let actions = self.actions();
        if !actions.is_empty() {
            map.serialize_entry("actions", &actions)?;
        }
        map.serialize_entry("effect", failure.effect().word())?;
        let violations = failure.violations();
        if shows(Part::Violations) && !violations.is_empty() {
            let first = violations.iter().take(VIOLATIONS_LIMIT).map(Violated);
            map.serialize_entry("violations", &first.collect::<Vec<_>>())?;
        }
        if let Some(meaning) = failure.meaning().filter(|_| shows(Part::Meaning)) {
            map.serialize_entry("meaning", &cut(meaning, self.sentence))?;
        }
        let details = failure.details().filter(|_| shows(Part::Details));
        let details = details.map(|details| self.details(details));
        if let Some(details) = details.filter(|details| !details.is_empty()) {
            map.serialize_entry("details", &details)?;
        }
        if let Some(attempts) = failure.attempts().filter(|attempts| *attempts > 1) {
            map.serialize_entry("attempts", &attempts)?;
        }
        if let Some(id) = failure.id() {
            map.serialize_entry("id", &Text(id.hyphenated()))?;
        }
        map.end()
    }
}

impl View<'_> {
    /// What went wrong, without sentences that would have a call repeated that must not be; a message that
    /// says nothing else stays.
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

    /// What to do, and other ways to the goal.
    fn actions(&self) -> Vec<String> {
        let recovery = self.failure.recovery();
        let others = recovery.alternatives.iter().map(|it| &it.description);
        let all = recovery.required_actions.iter().chain(others);
        all.take(ACTIONS_LIMIT)
            .map(|action| self.renamed(&cut(action, self.sentence)))
            .collect()
    }

    /// An action with the operations it names under the names the agent calls them by.
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

    /// The members of the details that fit, as long as they say nothing that another member of the view
    /// says in its place.
    fn details(&self, details: &Map<String, Value>) -> Map<String, Value> {
        let mut room = DETAILS_BYTES_LIMIT;
        let mut shown = Map::new();
        for (name, value) in details {
            let Some(value) = self.not_said_elsewhere(name, value) else {
                continue;
            };
            let bytes = name.len() + 4 + written_length(&value);
            if bytes <= room {
                room -= bytes;
                shown.insert(name.clone(), value);
            }
        }
        shown
    }

    /// A detail without what is said in another member of the view, at any depth.
    fn not_said_elsewhere(&self, name: &str, value: &Value) -> Option<Value> {
        if is_said_elsewhere(name) {
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
                    Some((name.clone(), self.not_said_elsewhere(name, value)?))
                });
                let left: Map<String, Value> = left.collect();
                (!left.is_empty()).then_some(Value::Object(left))
            }
            Value::Array(items) => {
                let left = items
                    .iter()
                    .filter_map(|it| self.not_said_elsewhere("", it));
                let left: Vec<Value> = left.collect();
                (!left.is_empty()).then_some(Value::Array(left))
            }
            Value::Bool(_) | Value::Number(_) => Some(value.clone()),
        }
    }
}

/// Whether a member speaks of repeating, of waiting, of what to do, of the status or of the failure as a
/// whole: an agent must find one answer to each of these, and finds it in the view itself.
fn is_said_elsewhere(name: &str) -> bool {
    const WHOLE: [&str; 18] = [
        "success",
        "ok",
        "status",
        "status_code",
        "statuscode",
        "message",
        "detail",
        "errors",
        "effect",
        "upstream_body",
        "recovery",
        "remedy",
        "remedies",
        "next",
        "actions",
        "required_actions",
        "alternatives",
        "parameter_adjustments",
    ];
    let name = name.to_ascii_lowercase();
    let speaks_of_repeating = ["retr", "wait", "transient", "try_again", "backoff"];
    WHOLE.contains(&name.as_str()) || speaks_of_repeating.iter().any(|part| name.contains(part))
}

fn written_length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        other => other.to_string().len(),
    }
}

/// One violation, in short; a number stays a number.
#[derive(Clone, Copy)]
struct Violated<'a>(&'a Violation);

impl Serialize for Violated<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let violation = self.0;
        let cut = |text: &'_ str| cut(text, VIOLATION_CHARACTERS_LIMIT).into_owned();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("pointer", &cut(&violation.pointer))?;
        if violation.kind != ViolationKind::Value {
            map.serialize_entry("kind", violation.kind.word())?;
        }
        if let Some(expected) = &violation.expected {
            map.serialize_entry("expected", &cut(expected))?;
        }
        let shows = |actual: &&Value| {
            let is_plain = !actual.is_object() && !actual.is_array();
            is_plain && written_length(actual) <= VIOLATION_CHARACTERS_LIMIT
        };
        if let Some(actual) = violation.actual.as_ref().filter(shows) {
            map.serialize_entry("actual", actual)?;
        }
        map.serialize_entry("reason", &cut(&violation.reason))?;
        map.end()
    }
}

struct Words<'a>(&'a [NextMove]);

impl Serialize for Words<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|next| next.word()))
    }
}

/// The beginning of a text, with a sign that there is more.
fn cut(text: &str, characters: usize) -> Cow<'_, str> {
    match text.char_indices().nth(characters) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}
