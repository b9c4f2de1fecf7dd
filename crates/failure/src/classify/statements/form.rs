//! The form of a statement, and how it is searched in a sentence.
//! The tables of forms are in `delays`, `effects`, `demands` and `conditions`.

use std::sync::OnceLock;

use regex::{Captures, Regex};

use super::conditions::Condition;
use super::expected::{Bound, JsonType};
use super::members::InputMembers;
use super::sentences::Sentence;
use super::{Demand, Expectation, Statements, amounts};

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

    /// Adds the statements of a sentence in this form.
    pub(super) fn read(&self, sentence: &Sentence, members: &InputMembers, to: &mut Statements) {
        let is_certain = match self.reading {
            Reading::NoEffect | Reading::DeclaredNoEffect => {
                !sentence.is_conditional && !sentence.is_hedged
            }
            Reading::Delay | Reading::RoughDelay | Reading::Demand(_) => !sentence.is_conditional,
            // "timed out when reading" is a report; "if it timed out" is not.
            Reading::Condition(_) => to.condition.is_none() && !sentence.is_hypothetical,
        };
        if !is_certain || !self.keywords.iter().any(|it| sentence.lower.contains(it)) {
            return;
        }
        for captures in self.pattern.regex().captures_iter(&sentence.text) {
            match self.reading {
                Reading::Delay => {
                    let delay_ms = amounts::delay_ms(&captures["delay"]);
                    to.delay_ms = to.delay_ms.max(delay_ms);
                }
                Reading::RoughDelay => {
                    let later_ms = amounts::rough_ms(&captures["later"]);
                    to.delay_ms = to.delay_ms.or(Some(later_ms));
                }
                Reading::NoEffect | Reading::DeclaredNoEffect => to.nothing_happened = true,
                Reading::Condition(condition) => to.condition = Some(condition),
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
