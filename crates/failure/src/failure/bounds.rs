//! How large a failure can be: what goes beyond is cut or left out, so that no failure is larger than
//! [`FAILURE_BYTES_LIMIT`] in any dialect, whatever a caller sent or a service said.
//!
//! Sizes are those of JSON. Cutting to size comes after redaction: half a secret is no longer recognised as one.
//! Before it, several times as much is kept, so that looking for secrets has a bound as well and what was cut
//! then is not shown.

use serde_json::{Map, Value};

use super::{Alternative, EXCERPT_CHARACTERS_LIMIT, Parts, Recovery, Violation, ViolationKind};
use crate::size;
use panpan_redact::whole_words;

/// The largest failure in any dialect, in bytes.
pub const FAILURE_BYTES_LIMIT: usize = 64 * 1024;

const MESSAGE: usize = 2048;
const NAME: usize = 256;
const SENTENCE: usize = 512;
const POINTER: usize = 1024;
const SENTENCES: usize = 16;
const ACTUAL: usize = 4 * 1024;
const ALTERNATIVES: usize = 4 * 1024;
const ADJUSTMENTS: usize = 4 * 1024;
const VIOLATIONS: usize = 12 * 1024;
const DETAILS: usize = 16 * 1024;
const PARAMETERS: usize = 16 * 1024;
/// Details, violations and parameters together; beyond that the parameters, which the caller knows, are
/// left out.
const TOGETHER: usize = 32 * 1024;

/// What stands around a text or a violation.
const AROUND: usize = 32;

/// A text within details that are too large is cut to this.
const DETAIL_TEXT: usize = 1024;
/// A list within details that are too large is cut to so many items.
const DETAIL_ITEMS: usize = 20;
/// The member that says that details were cut.
const CUT: &str = "details_cut";

/// How much of a failure is kept, as a multiple of what can be shown.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Times(usize);

const SHOWN: Times = Times(1);
const LOOKED_AT: Times = Times(4);

impl Parts {
    /// Cuts what is too large to be looked through for secrets; long texts are cut where they are looked through.
    pub(super) fn bound_for_redaction(&mut self) {
        let Times(times) = LOOKED_AT;
        for cause in &mut self.causes {
            cut_to(&mut cause.message, times * SENTENCE, LOOKED_AT);
        }
        self.recovery.bound_to(LOOKED_AT);
        bound_violations(&mut self.violations, LOOKED_AT);
        self.bound_details(LOOKED_AT);
        let room = times * PARAMETERS;
        self.parameters = self
            .parameters
            .take()
            .filter(|it| size::object_fits(it, room));
    }

    /// Cuts what is too large.
    pub(super) fn bound(&mut self) {
        cut(&mut self.message, MESSAGE);
        for text in [&mut self.meaning].into_iter().flatten() {
            cut(text, MESSAGE);
        }
        for name in [&mut self.source, &mut self.operation]
            .into_iter()
            .flatten()
        {
            cut(name, NAME);
        }
        if let Some(upstream) = &mut self.upstream {
            for name in [&mut upstream.provider, &mut upstream.code] {
                name.iter_mut().for_each(|name| cut(name, NAME));
            }
            upstream.excerpt = upstream.excerpt.take().map(cut_excerpt);
        }
        for cause in &mut self.causes {
            cut(&mut cause.message, SENTENCE);
        }
        self.recovery.bound();
        let violations = bound_violations(&mut self.violations, SHOWN);
        let details = self.bound_details(SHOWN);
        let room = PARAMETERS.min(TOGETHER - violations - details);
        self.parameters = self
            .parameters
            .take()
            .filter(|it| size::object_fits(it, room));
    }

    /// How large the details are at most, once they were cut.
    fn bound_details(&mut self, times: Times) -> usize {
        let Some(details) = &mut self.details else {
            return 0;
        };
        let limit = times.0 * DETAILS;
        let size = size::of_object(details, limit);
        if size <= limit {
            return size;
        }
        self.defined = false;
        for value in details.values_mut() {
            shorten(value, times);
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

/// The beginning of an excerpt, as much as is shown.
pub(super) fn cut_excerpt(text: String) -> String {
    match text.char_indices().nth(EXCERPT_CHARACTERS_LIMIT) {
        Some((end, _)) => text[..end].to_owned(),
        None => text,
    }
}

impl Recovery {
    /// Cuts what is too large.
    pub(super) fn bound(&mut self) {
        self.bound_to(SHOWN);
    }

    fn bound_to(&mut self, many: Times) {
        let Times(times) = many;
        self.required_actions.truncate(SENTENCES);
        for action in &mut self.required_actions {
            cut_to(action, times * SENTENCE, many);
        }
        if !size::object_fits(&self.parameter_adjustments, times * ADJUSTMENTS) {
            self.parameter_adjustments.clear();
        }
        let mut room = times * ALTERNATIVES;
        self.alternatives.retain_mut(|it| {
            let size = it.bounded(many);
            let stays = size <= room;
            room -= if stays { size } else { 0 };
            stays
        });
    }
}

impl Alternative {
    /// How large it is, once it was cut.
    fn bounded(&mut self, times: Times) -> usize {
        let texts = [Some(&mut self.description), self.example.as_mut()];
        let texts = texts.into_iter().flatten().map(|text| {
            cut_to(text, times.0 * SENTENCE, times);
            AROUND + size::of_text(text)
        });
        texts.sum()
    }
}

/// Cuts violations and leaves out those there is no room for; tells how large they are at most.
fn bound_violations(violations: &mut Vec<Violation>, times: Times) -> usize {
    let (mut taken, mut fitting) = (0, 0);
    for violation in violations.iter_mut() {
        let size = violation.bounded(times);
        if taken + size > times.0 * VIOLATIONS {
            break;
        }
        taken += size;
        fitting += 1;
    }
    violations.truncate(fitting);
    taken
}

impl Violation {
    /// How large it is, once it was cut.
    fn bounded(&mut self, times: Times) -> usize {
        self.bound_pointer();
        let (sentence, actual) = (times.0 * SENTENCE, times.0 * ACTUAL);
        cut_to(&mut self.reason, sentence, times);
        let expected = self.expected.iter_mut();
        expected.for_each(|it| cut_to(it, sentence, times));
        self.actual = self.actual.take().filter(|it| size::fits(it, actual));
        let texts = [
            Some(&self.pointer),
            Some(&self.reason),
            self.expected.as_ref(),
        ];
        let texts = texts.into_iter().flatten().map(|it| size::of_text(it));
        let actual = self.actual.as_ref().map_or(0, |it| size::of(it, actual));
        AROUND + texts.sum::<usize>() + actual
    }

    /// Replaces a pointer that is too long by that of the nearest value around it: half a name would point
    /// nowhere. What was expected, and that something is missing, is not true of that value.
    fn bound_pointer(&mut self) {
        if size::of_text(&self.pointer) <= POINTER {
            return;
        }
        let (mut size, mut above) = (0, 0);
        for (at, character) in self.pointer.char_indices() {
            if character == '/' {
                above = at;
            }
            size += size::of_character(character);
            if size > POINTER {
                break;
            }
        }
        self.pointer.truncate(above);
        self.reason = format!(
            "deeper inside, at a pointer too long to show: {}",
            self.reason
        );
        self.kind = ViolationKind::Value;
        self.expected = None;
        self.actual = None;
    }
}

/// Cuts texts and lists within a value.
fn shorten(value: &mut Value, times: Times) {
    match value {
        Value::String(text) => cut_to(text, times.0 * DETAIL_TEXT, times),
        Value::Array(items) => {
            items.truncate(times.0 * DETAIL_ITEMS);
            items.iter_mut().for_each(|it| shorten(it, times));
        }
        Value::Object(members) => members.values_mut().for_each(|it| shorten(it, times)),
        _ => {}
    }
}

/// Cuts a text to so many bytes; one that is yet to be redacted, before a word.
fn cut_to(text: &mut String, limit: usize, times: Times) {
    let length = text.len();
    cut(text, limit);
    if times != SHOWN && text.len() < length {
        let whole = whole_words(text.trim_end_matches(ELLIPSIS)).len();
        text.truncate(whole);
        text.push(ELLIPSIS);
    }
}

/// What stands where a text was cut.
const ELLIPSIS: char = '…';

/// Cuts a text to so many bytes as it is written in JSON.
fn cut(text: &mut String, limit: usize) {
    // No character is written longer than six bytes for each of its own.
    if text.len() * 6 <= limit || size::of_text(text) <= limit {
        return;
    }
    let mut room = limit - ELLIPSIS.len_utf8();
    let end = text.char_indices().find(|(_, character)| {
        let size = size::of_character(*character);
        let is_beyond = size > room;
        room = room.saturating_sub(size);
        is_beyond
    });
    text.truncate(end.map_or(text.len(), |(end, _)| end));
    text.push(ELLIPSIS);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::dialect::{Dialect, Envelope, agent_view};
    use crate::failure::{Failure, Upstream};
    use crate::pointer::joined;
    use crate::{Redacted, codes};

    /// A failure that says everything at length.
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
    fn no_failure_is_larger_than_its_limit_in_any_dialect() {
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
    fn what_is_cut_says_so_and_what_is_small_is_whole() {
        let cut = huge(&"x".repeat(5000)).redacted();
        assert_eq!(cut.details().unwrap()[CUT], json!(true));
        assert!(cut.message().ends_with('…'));
        let violation = &cut.violations()[0];
        assert_eq!(violation.pointer, "/input");
        assert!(violation.reason.starts_with("deeper inside"));
        assert_eq!(violation.expected, None);
        assert!(cut.parameters().is_none());

        let whole = |it: &Redacted| (it.details().cloned(), it.violations().to_vec());
        let details = Map::from_iter([("text".to_owned(), json!("x".repeat(DETAILS - 100)))]);
        let small = Failure::new(codes::NOT_FOUND).with_details(details.clone());
        assert_eq!(whole(&small.redacted()), (Some(details), Vec::new()));
    }

    #[test]
    fn a_hundred_violations_of_the_usual_size_all_stay() {
        let failure = (0..100).fold(Failure::new(codes::INVALID_INPUT), |failure, number| {
            let reason = "no member of this name is known";
            let violation = Violation::value(format!("/body/member{number}"), reason);
            failure.with_violation(violation.expected("no such member"))
        });
        assert_eq!(failure.redacted().violations().len(), 100);
    }
}
