//! The form of a statement, and how it is searched in a sentence.
//! The tables of forms are in `delays`, `effects`, `demands` and `conditions`.

use std::sync::OnceLock;

use regex::{Captures, Regex};

use super::conditions::Condition;
use super::expected::{Bound, JsonType};
use super::members::InputMembers;
use super::sentences::Sentence;
use super::{Demand, Expectation, Statements, amounts, compared};

/// One form of a statement: a pattern, what is read from it, and its proof.
pub(super) struct Form {
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests use it"))]
    pub(super) name: &'static str,
    pub(super) reading: Reading,
    /// Keywords in lower case; every text in this form contains one. They are searched first, because most texts
    /// contain none.
    keywords: &'static [&'static str],
    pattern: Pattern,
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests use it"))]
    pub(super) proof: Proof,
}

/// What a form reads from a match.
#[derive(Clone, Copy)]
pub(super) enum Reading {
    /// The delay in the group `delay`.
    Delay,
    /// The rough delay in the group `later`.
    RoughDelay,
    /// The delay in the group `number`, in seconds or in the unit of the group `ms`.
    NumberOfSeconds,
    /// When to look again, in the group `delay` or `later`; only for calls that read.
    Poll,
    /// Something is still in progress; only for calls that read.
    Progress,
    /// The moment in the group `moment`, at which the call may be repeated.
    Moment,
    /// A time that names no certain moment.
    UncertainMoment,
    /// The whole call changed nothing.
    NoEffect,
    /// One effect of the call did not happen, or was undone. In a description this applies to the whole
    /// operation; in a response it may apply to a part, so it is not read there.
    DeclaredNoEffect,
    /// A condition.
    Condition(Condition),
    /// What the member in the group `member` has to be.
    Demand(fn(&Captures<'_>) -> Option<Expectation>),
}

/// The reading of a reported condition.
pub(super) const fn report(condition: Condition) -> Reading {
    Reading::Condition(condition)
}

/// Samples, with what is read after an arrow unless the reading fixes it, and innocents: texts that look alike and
/// mean something else.
#[cfg_attr(not(test), expect(dead_code, reason = "only tests use it"))]
pub(super) struct Proof {
    pub(super) samples: &'static [&'static str],
    pub(super) innocents: &'static [&'static str],
}

impl Form {
    /// A form with its proof; a form without a sample or an innocent does not compile.
    pub(super) const fn new(
        name: &'static str,
        reading: Reading,
        keywords: &'static [&'static str],
        pattern: &'static str,
        samples: &'static [&'static str],
        innocents: &'static [&'static str],
    ) -> Self {
        assert!(!samples.is_empty(), "a form needs a sample");
        assert!(!innocents.is_empty(), "a form needs an innocent");
        Self {
            name,
            reading,
            keywords,
            pattern: Pattern {
                source: pattern,
                compiled: OnceLock::new(),
            },
            proof: Proof { samples, innocents },
        }
    }

    /// Whether a sentence may be read in this form.
    fn is_certain(&self, sentence: &Sentence, to: &Statements) -> bool {
        match self.reading {
            Reading::NoEffect | Reading::DeclaredNoEffect => {
                !sentence.is_conditional && !sentence.is_hedged
            }
            Reading::Delay
            | Reading::RoughDelay
            | Reading::NumberOfSeconds
            | Reading::Poll
            | Reading::Demand(_) => !sentence.is_conditional,
            // "timed out when reading" is a report; "if it timed out" is not. "until" leads to a moment.
            Reading::Moment | Reading::UncertainMoment | Reading::Progress => {
                !sentence.is_hypothetical
            }
            Reading::Condition(condition) => {
                to.condition.is_none()
                    && !sentence.is_hypothetical
                    && !compared::is_about_input(condition, &sentence.text)
            }
        }
    }

    /// Adds the statements of a sentence in this form.
    pub(super) fn read(&self, sentence: &Sentence, members: &InputMembers, to: &mut Statements) {
        let is_certain = self.is_certain(sentence, to);
        if !is_certain || !self.keywords.iter().any(|it| sentence.lower.contains(it)) {
            return;
        }
        let text = match self.reading {
            Reading::Demand(_) => &sentence.text,
            _ => &sentence.bare,
        };
        for captures in self.pattern.regex().captures_iter(text) {
            match self.reading {
                Reading::Delay => {
                    let delay_ms = amounts::delay_ms(&captures["delay"]);
                    to.delay_ms = to.delay_ms.max(delay_ms);
                }
                Reading::RoughDelay => {
                    let later_ms = amounts::rough_ms(&captures["later"]);
                    to.delay_ms = to.delay_ms.or(Some(later_ms));
                }
                Reading::NumberOfSeconds => {
                    let unit_ms = if captures.name("ms").is_some() {
                        1.0
                    } else {
                        1_000.0
                    };
                    to.delay_ms = to
                        .delay_ms
                        .max(amounts::number_ms(&captures["number"], unit_ms));
                }
                Reading::Poll => {
                    let stated = captures.name("delay");
                    let stated = stated.and_then(|it| amounts::delay_ms(it.as_str()));
                    let rough = captures.name("later");
                    let rough = rough.map(|it| amounts::rough_ms(it.as_str()));
                    to.poll_ms = to.poll_ms.max(stated.or(rough));
                }
                Reading::Progress => to.is_in_progress = true,
                Reading::Moment => to.moment = Some(captures["moment"].to_owned()),
                Reading::UncertainMoment => to.states_uncertain_moment = true,
                Reading::NoEffect | Reading::DeclaredNoEffect => to.nothing_happened = true,
                Reading::Condition(condition) => {
                    let start = captures.get(0).map_or(0, |it| it.start());
                    if !compared::is_compared(&text[..start]) {
                        to.condition = Some(condition);
                        to.nothing_happened |= condition == Condition::Declined;
                    }
                }
                Reading::Demand(expectation) => {
                    let demand = demand(&captures, members, expectation);
                    let is_new =
                        |it: &Demand| to.demands.iter().all(|known| known.pointer != it.pointer);
                    if let Some(demand) = demand.filter(is_new) {
                        to.demands.push(demand);
                    }
                }
            }
        }
    }
}

fn demand(
    captures: &Captures<'_>,
    members: &InputMembers,
    expectation: fn(&Captures<'_>) -> Option<Expectation>,
) -> Option<Demand> {
    let pointer = members.pointer(unquoted(&captures["member"]))?;
    let lead = captures.name("lead").map_or(0, |it| it.len());
    let clause = captures[0][lead..].trim_end_matches(|it: char| " .,;:!?([".contains(it));
    Some(Demand {
        pointer: pointer.to_owned(),
        expectation: expectation(captures)?,
        clause: clause.trim().to_owned(),
    })
}

/// Strips the quotes of a word.
pub(super) fn unquoted(word: &str) -> &str {
    word.trim_matches(['`', '\'', '"', '‘', '’', '“', '”'])
}

/// The bound in a group; it may have thousands separators.
pub(super) fn bound(captures: &Captures<'_>, group: &str, is_allowed: bool) -> Option<Bound> {
    let number = captures.name(group)?.as_str().replace(',', "");
    Some(Bound { number, is_allowed })
}

/// The unit of a bound, if it does not limit the value itself.
pub(super) fn counted(captures: &Captures<'_>) -> Option<String> {
    let unit = captures
        .name("unit")
        .map(|it| it.as_str().to_ascii_lowercase());
    let length = captures.name("length").map(|_| "characters".to_owned());
    unit.map(|it| {
        if it == "chars" {
            "characters".to_owned()
        } else {
            it
        }
    })
    .or(length)
}

/// A pattern with named parts, compiled on first use.
struct Pattern {
    source: &'static str,
    compiled: OnceLock<Regex>,
}

/// The named parts; each can be used in those before it. Whitespace in sentences is a single blank. Character
/// classes are ASCII, which keeps the automata small.
const PARTS: &[(&str, &str)] = &[
    (
        "MEMBER",
        r"{CLAUSE}(?:the )?(?:(?:query|body|path|request|input) )?(?:(?:{NOUN}|value (?:of|for)|(?P<length>length of)) )?{NAME}(?: {NOUN})?:? ",
    ),
    // The start of a clause, before its subject or verb.
    (
        "CLAUSE",
        r"(?P<lead>^|[,:(\[–—-] ?|{EDGE}(?:and|so|thus|therefore) )",
    ),
    // A request to the reader, not a report.
    (
        "ASKED",
        r"(?:^|[,:(\[–—-] ?|{EDGE}(?:please|can|may|should|could|must|then|and|so|you|just|simply) )",
    ),
    // A request without another step before it.
    (
        "INVITED",
        r"(?:^|[,:(\[–—-] ?|{EDGE}(?:please|can|may|should|could|must|you) )",
    ),
    // Amounts of time without a number.
    (
        "VAGUE",
        r"(?:a (?:moment|minute|while|bit)|an hour|(?:a few|some|a couple of|several) (?:moments|seconds|minutes|hours))",
    ),
    // The end of a clause; the rest cannot change its meaning.
    ("END", r"(?:{STOP}| but (?:was|is|got|received) )"),
    ("AFTER", r"(?:{STOP}| (?:before|with|using|and|then) )"),
    // Times that a clock can compare: RFC 3339, HTTP dates, Unix times, a time of the day in UTC.
    (
        "MOMENT",
        r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]{5,18} ?(?:Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})|[a-z]{3}, [0-9]{2} [a-z]{3} [0-9]{4} [0-9:]{8} GMT|1[0-9]{9}(?:[0-9]{3})?|[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})? ?(?:UTC|GMT))",
    ),
    // Times that it cannot compare.
    (
        "SOMETIME",
        r"(?:(?:(?:on|at|by|from|after|until) )?(?:tomorrow|midnight|noon|next (?:day|week|month|year|billing)|the (?:next|1st|first|following)|(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:jan|febr)uary|march|april|may|june|july|august|(?:septem|octo|novem|decem)ber|[0-9]{1,2}(?::[0-9]{2})? ?[ap]\.?m|[0-9]{1,2}:[0-9]{2}){EDGE})",
    ),
    ("STOP", r" ?(?:$|[.;:!?)\]\(]|, |,$|[–—] |- )"),
    (
        "NOUN",
        r"(?:field|parameter|param|property|argument|member|attribute|header|value)",
    ),
    (
        "NAME",
        r#"(?P<member>[`'"‘“][A-Za-z_][{WORD}.-]*[`'"’”]|[A-Za-z_][{WORD}-]*)"#,
    ),
    (
        "NUMBER",
        r"-?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?",
    ),
    (
        "UNIT",
        r"(?: (?P<unit>characters?|chars|bytes?|items?|elements?|entries|digits?|letters?|words?)(?: long| in length)?)?",
    ),
    ("VALUE", r#"(?:`[^`]+`|'[^']+'|"[^"]+"|‘[^’]+’|“[^”]+”)"#),
    (
        "DONE",
        r"(?:written|changed|created|saved|stored|deleted|removed|modified|updated|applied|persisted|committed)",
    ),
    ("BARE", "(?:[{WORD}.-]*[{WORD}])"),
    ("WORD", "0-9A-Za-z_"),
    ("EDGE", r"(?-u:\b)"),
];

impl Pattern {
    fn regex(&self) -> &Regex {
        self.compiled.get_or_init(|| {
            let mut source = self.source.to_owned();
            for (name, part) in PARTS {
                source = source.replace(&format!("{{{name}}}"), part);
            }
            let source = source.replace("{TYPE}", &JsonType::pattern());
            let source = source.replace("{TIME}", &amounts::pattern());
            Regex::new(&format!("(?i){source}")).expect("every pattern of the table compiles")
        })
    }
}
