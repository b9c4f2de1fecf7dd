//! Size limits: longer values are cut or left out, so that no failure exceeds [`FAILURE_BYTES_LIMIT`] in any
//! dialect.
//!
//! Sizes are those of the JSON. The final cut comes after redaction, because half a secret is not recognised.
//! Before redaction a multiple of each limit is kept, so that the search for secrets is bounded too.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{Alternative, EXCERPT_CHARACTERS_LIMIT, Parts, Recovery, Violation, ViolationKind};
use crate::size;
use panpan_redact::whole_words;

/// Largest failure in any dialect, in bytes.
pub const FAILURE_BYTES_LIMIT: usize = 64 * 1024;

const MESSAGE_BYTES: usize = 3072;
const MEANING_BYTES: usize = 2048;
const NAME_BYTES: usize = 256;
const SENTENCE_BYTES: usize = 512;
const POINTER_BYTES: usize = 1024;
const ACTIONS_LIMIT: usize = 16;
const ACTUAL_BYTES: usize = 4 * 1024;
const ALTERNATIVES_BYTES: usize = 4 * 1024;
const ADJUSTMENTS_BYTES: usize = 4 * 1024;
const VIOLATIONS_BYTES: usize = 12 * 1024;
const DETAILS_BYTES: usize = 16 * 1024;
const PARAMETERS_BYTES: usize = 16 * 1024;
/// Details, violations and parameters together; beyond this the parameters are left out, because the caller
/// knows them.
const TOTAL_BYTES: usize = 32 * 1024;

/// JSON around a text or a violation: quotes, member names, braces.
const OVERHEAD_BYTES: usize = 32;

/// Longest text within details that are too large.
const DETAIL_TEXT_BYTES: usize = 1024;
/// Longest list within details that are too large.
const DETAIL_ITEMS: usize = 20;
/// The member that marks details as cut.
const CUT: &str = "details_cut";

/// A multiple of the limits.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Scale(usize);

const FINAL: Scale = Scale(1);
const BEFORE_REDACTION: Scale = Scale(4);

impl Parts {
    /// Cuts values that are too large to search for secrets; the redactor itself cuts long texts.
    pub(super) fn bound_for_redaction(&mut self) {
        let scale = BEFORE_REDACTION;
        for cause in &mut self.causes {
            cut_to(&mut cause.message, SENTENCE_BYTES, scale);
        }
        self.recovery.bound_to(scale);
        bound_violations(&mut self.violations, scale);
        self.bound_details(scale);
        let room = scale.0 * PARAMETERS_BYTES;
        self.parameters = self
            .parameters
            .take()
            .filter(|it| size::object_fits(it, room));
    }

    /// Cuts values that are too large.
    pub(super) fn bound(&mut self) {
        if let Cow::Owned(cut) = cut_within(&self.message, MESSAGE_BYTES) {
            self.message = cut;
        }
        if let Some(meaning) = &mut self.meaning {
            cut(meaning, MEANING_BYTES);
        }
        let upstream = &mut self.upstream;
        for name in [
            &mut self.source,
            &mut self.operation,
            &mut upstream.provider,
            &mut upstream.code,
        ] {
            name.iter_mut().for_each(|name| cut(name, NAME_BYTES));
        }
        upstream.excerpt = upstream.excerpt.take().map(cut_excerpt);
        for cause in &mut self.causes {
            cut(&mut cause.message, SENTENCE_BYTES);
        }
        self.recovery.bound();
        let violations = bound_violations(&mut self.violations, FINAL);
        let details = self.bound_details(FINAL);
        let room = PARAMETERS_BYTES.min(TOTAL_BYTES - violations - details);
        self.parameters = self
            .parameters
            .take()
            .filter(|it| size::object_fits(it, room));
    }

    /// Cuts the details; returns an upper bound of their size.
    fn bound_details(&mut self, scale: Scale) -> usize {
        let Some(details) = &mut self.details else {
            return 0;
        };
        let limit = scale.0 * DETAILS_BYTES;
        let size = size::of_object(details, limit);
        if size <= limit {
            return size;
        }
        self.defined = false;
        for value in details.values_mut() {
            shorten(value, scale);
        }
        let mut kept = Map::from_iter([(CUT.to_owned(), Value::Bool(true))]);
        for (name, value) in std::mem::take(details) {
            kept.insert(name.clone(), value);
            if !size::object_fits(&kept, limit) {
                kept.remove(&name);
            }
        }
        *details = kept;
        limit
    }
}

/// Cuts an excerpt to its limit.
pub(super) fn cut_excerpt(text: String) -> String {
    match text.char_indices().nth(EXCERPT_CHARACTERS_LIMIT) {
        Some((end, _)) => text[..end].to_owned(),
        None => text,
    }
}

impl Recovery {
    /// Cuts values that are too large.
    pub(super) fn bound(&mut self) {
        self.bound_to(FINAL);
    }

    fn bound_to(&mut self, scale: Scale) {
        self.required_actions.truncate(ACTIONS_LIMIT);
        for action in &mut self.required_actions {
            cut_to(action, SENTENCE_BYTES, scale);
        }
        if !size::object_fits(&self.parameter_adjustments, scale.0 * ADJUSTMENTS_BYTES) {
            self.parameter_adjustments.clear();
        }
        let mut room = scale.0 * ALTERNATIVES_BYTES;
        self.alternatives.retain_mut(|it| {
            let size = it.bound(scale);
            let stays = size <= room;
            room -= if stays { size } else { 0 };
            stays
        });
    }
}

impl Alternative {
    /// Cuts long texts; returns the size.
    fn bound(&mut self, scale: Scale) -> usize {
        let texts = [Some(&mut self.description), self.example.as_mut()];
        let texts = texts.into_iter().flatten().map(|text| {
            cut_to(text, SENTENCE_BYTES, scale);
            OVERHEAD_BYTES + size::of_text(text)
        });
        texts.sum()
    }
}

/// Cuts violations and drops those beyond the limit; returns the size of the rest.
fn bound_violations(violations: &mut Vec<Violation>, scale: Scale) -> usize {
    let (mut taken, mut fitting) = (0, 0);
    for violation in violations.iter_mut() {
        let size = violation.bound(scale);
        if taken + size > scale.0 * VIOLATIONS_BYTES {
            break;
        }
        taken += size;
        fitting += 1;
    }
    violations.truncate(fitting);
    taken
}

impl Violation {
    /// Cuts long values; returns the size.
    fn bound(&mut self, scale: Scale) -> usize {
        self.bound_pointer();
        let actual = scale.0 * ACTUAL_BYTES;
        cut_to(&mut self.reason, SENTENCE_BYTES, scale);
        let expected = self.expected.iter_mut();
        expected.for_each(|it| cut_to(it, SENTENCE_BYTES, scale));
        self.actual = self.actual.take().filter(|it| size::fits(it, actual));
        let texts = [
            Some(&self.pointer),
            Some(&self.reason),
            self.expected.as_ref(),
        ];
        let texts = texts.into_iter().flatten().map(|it| size::of_text(it));
        let actual = self.actual.as_ref().map_or(0, |it| size::of(it, actual));
        OVERHEAD_BYTES + texts.sum::<usize>() + actual
    }

    /// Replaces a pointer that is too long by the pointer of the nearest enclosing value, because a pointer
    /// that is cut in a name points nowhere. `kind`, `expected` and `actual` do not apply to that value.
    fn bound_pointer(&mut self) {
        if size::of_text(&self.pointer) <= POINTER_BYTES {
            return;
        }
        let (mut size, mut end) = (0, 0);
        for (at, character) in self.pointer.char_indices() {
            if character == '/' {
                end = at;
            }
            size += size::of_character(character);
            if size > POINTER_BYTES {
                break;
            }
        }
        self.pointer.truncate(end);
        self.reason = format!(
            "in a nested value whose pointer is too long to show: {}",
            self.reason
        );
        self.kind = ViolationKind::Value;
        self.expected = None;
        self.actual = None;
    }
}

/// Cuts texts and lists within a value.
fn shorten(value: &mut Value, scale: Scale) {
    match value {
        Value::String(text) => cut_to(text, DETAIL_TEXT_BYTES, scale),
        Value::Array(items) => {
            items.truncate(scale.0 * DETAIL_ITEMS);
            items.iter_mut().for_each(|it| shorten(it, scale));
        }
        Value::Object(members) => members.values_mut().for_each(|it| shorten(it, scale)),
        _ => {}
    }
}

/// Cuts a text to a scaled limit; before redaction between words, because half a secret is not recognised.
fn cut_to(text: &mut String, limit: usize, scale: Scale) {
    let length = text.len();
    cut(text, scale.0 * limit);
    if scale != FINAL && text.len() < length {
        let whole = whole_words(text.trim_end_matches(ELLIPSIS)).len();
        text.truncate(whole);
        text.push(ELLIPSIS);
    }
}

/// Marks the end of a text that was cut.
const ELLIPSIS: char = '…';

/// Cuts a text to `limit` bytes of JSON.
fn cut(text: &mut String, limit: usize) {
    // Escaping makes a byte at most six bytes long.
    if text.len() * 6 <= limit || size::of_text(text) <= limit {
        return;
    }
    let end = fitting(text.chars(), limit - ELLIPSIS.len_utf8());
    text.truncate(end);
    text.push(ELLIPSIS);
}

/// A text of at most `limit` bytes of JSON, cut in its middle: compilers, tests and tracebacks say at the end
/// what failed.
pub(crate) fn cut_within(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() * 6 <= limit || size::of_text(text) <= limit {
        return Cow::Borrowed(text);
    }
    let half = (limit - " … ".len()) / 2;
    let end = fitting(text.chars(), half);
    let start = text.len() - fitting(text.chars().rev(), half);
    Cow::Owned(format!("{} {ELLIPSIS} {}", &text[..end], &text[start..]))
}

/// How many bytes of the characters fit into `room` bytes of JSON.
fn fitting(characters: impl Iterator<Item = char>, mut room: usize) -> usize {
    let fits = |character: &char| {
        let size = size::of_character(*character);
        let fits = size <= room;
        room = room.saturating_sub(size);
        fits
    };
    characters.take_while(fits).map(char::len_utf8).sum()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::dialect::{Dialect, Envelope, agent_view};
    use crate::failure::{Failure, Upstream};
    use crate::pointer::joined;
    use crate::{Redacted, codes};

    /// A failure with long values in every field.
    fn huge(text: &str) -> Failure {
        let many = |count: usize| (0..count).map(|number| format!("{number}{text}"));
        let members = |count: usize| many(count).map(|name| (name, json!([text, {text: text}])));
        let recovery = Recovery {
            required_actions: many(30).collect(),
            alternatives: many(30).map(|it| Alternative::from(&*it)).collect(),
            parameter_adjustments: members(9).collect(),
            ..Recovery::default()
        };
        let failure = Failure::new(codes::INVALID_INPUT)
            .with_message(text)
            .with_meaning(text)
            .with_source(text)
            .with_operation(text)
            .with_details(members(9).collect::<Map<_, _>>())
            .with_parameters(members(9).collect::<Map<_, _>>())
            .with_upstream(
                Upstream::status(500)
                    .provider(text)
                    .code(text)
                    .excerpt(text),
            )
            .with_recovery(recovery);
        many(120).fold(failure, |failure, name| {
            let violation = Violation::value(joined("/input", &name), text).expected(text);
            failure.with_violation(Violation {
                actual: Some(json!(text)),
                ..violation
            })
        })
    }

    #[test]
    fn no_failure_exceeds_the_limit_in_any_dialect() {
        for text in ["a/b", "\u{1}", "word "] {
            for length in [1, 100, 1500] {
                let failure = huge(&text.repeat(length)).redacted();
                let largest =
                    |size: usize| assert!(size <= FAILURE_BYTES_LIMIT, "{text:?} {length} {size}");
                largest(serde_json::to_vec(&failure).unwrap().len());
                for dialect in Dialect::ALL {
                    let written = dialect.write_failure(&failure, Envelope::default());
                    largest(written.len());
                }
                assert!(agent_view(&failure, &|_: &str| None).len() <= 4096);
            }
        }
    }

    #[test]
    fn cut_values_are_marked_and_small_values_are_unchanged() {
        let cut = huge(&"x".repeat(5000)).redacted();
        assert_eq!(cut.details().unwrap()[CUT], json!(true));
        assert!(cut.message().contains(" … "));
        let violation = &cut.violations()[0];
        assert_eq!(violation.pointer, "/input");
        assert!(violation.reason.starts_with("in a nested value"));
        assert_eq!(violation.expected, None);
        assert!(cut.parameters().is_none());

        let unbounded = |it: &Redacted| (it.details().cloned(), it.violations().to_vec());
        let details = Map::from_iter([("text".to_owned(), json!("x".repeat(DETAILS_BYTES - 100)))]);
        let small = Failure::new(codes::NOT_FOUND).with_details(details.clone());
        assert_eq!(unbounded(&small.redacted()), (Some(details), Vec::new()));
    }

    #[test]
    fn a_long_message_keeps_its_beginning_and_its_end() {
        let log = format!(
            "exit code 1\n{}\nerror: é is missing",
            "note\n".repeat(2000)
        );
        let failure = Failure::new(codes::TOOL_FAILED)
            .with_message(log)
            .redacted();
        let message = failure.message();
        assert!(message.starts_with("exit code 1\nnote"), "{message}");
        assert!(
            message.ends_with("note\n\nerror: é is missing"),
            "{message}"
        );
        for (length, is_cut) in [(MESSAGE_BYTES, false), (MESSAGE_BYTES + 1, true)] {
            let text = "x".repeat(length);
            let cut = cut_within(&text, MESSAGE_BYTES);
            assert_eq!(cut.len() < length, is_cut);
            assert!(cut.len() <= MESSAGE_BYTES);
        }
    }

    #[test]
    fn a_hundred_violations_of_usual_size_are_kept() {
        let failure = (0..100).fold(Failure::new(codes::INVALID_INPUT), |failure, number| {
            let reason = "no member of this name is known";
            let violation = Violation::value(format!("/body/member{number}"), reason);
            failure.with_violation(violation.expected("no such member"))
        });
        assert_eq!(failure.redacted().violations().len(), 100);
    }
}
