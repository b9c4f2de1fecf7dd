//! What a form of a statement is, and how one is looked for in a sentence.
//! The forms themselves are in `forms`.

use std::sync::OnceLock;

use regex::{Captures, Regex};

use super::conditions::Condition;
use super::expected::{Bound, JsonType};
use super::members::InputMembers;
use super::sentences::Sentence;
use super::{Demand, Expectation, Statements, amounts};

/// One way to state something.
pub(super) struct Form {
    #[cfg_attr(not(test), expect(dead_code, reason = "named by its test"))]
    pub(super) name: &'static str,
    pub(super) says: Says,
    /// Words in small letters, one of which every text in this form holds: looked for first, since
    /// most texts hold none.
    needs: &'static [&'static str],
    pattern: Pattern,
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "proof of the form, read by its test")
    )]
    pub(super) proof: Proof,
}

/// What a form reads from its groups.
#[derive(Clone, Copy)]
pub(super) enum Says {
    /// `delay` is how long to wait.
    Delay,
    /// `later` is how long to wait, roughly.
    Later,
    /// The whole call changed nothing.
    NothingHappened,
    /// Something a call may do was not done, or was undone. Said about answers of one kind, that is
    /// said of the whole operation; said in an answer, it may be about a part.
    NothingDeclared,
    /// What has happened.
    Condition(Condition),
    /// What `member` has to be.
    Demand(fn(&Captures<'_>) -> Option<Expectation>),
}

/// Texts a form reads, each with what it reads, and texts that look alike and say something else.
#[cfg_attr(not(test), expect(dead_code, reason = "read by the table's test"))]
pub(super) struct Proof {
    pub(super) samples: &'static [(&'static str, &'static str)],
    pub(super) innocents: &'static [&'static str],
}

impl Form {
    /// A form with its proof; one without a sample or an innocent does not compile.
    pub(super) const fn new(
        name: &'static str,
        says: Says,
        needs: &'static [&'static str],
        pattern: &'static str,
        samples: &'static [(&'static str, &'static str)],
        innocents: &'static [&'static str],
    ) -> Self {
        assert!(!samples.is_empty(), "a form needs a sample");
        assert!(!innocents.is_empty(), "a form needs an innocent");
        Self {
            name,
            says,
            needs,
            pattern: Pattern {
                source: pattern,
                compiled: OnceLock::new(),
            },
            proof: Proof { samples, innocents },
        }
    }

    /// Adds what a sentence states in this form.
    pub(super) fn read(&self, sentence: &Sentence, members: &InputMembers, to: &mut Statements) {
        let is_certain = match self.says {
            Says::NothingHappened | Says::NothingDeclared => {
                !sentence.is_conditional && !sentence.is_hedged
            }
            Says::Delay | Says::Later | Says::Demand(_) => !sentence.is_conditional,
            // "timed out when reading" reports; "if it timed out" does not.
            Says::Condition(_) => to.condition.is_none() && !sentence.is_supposed,
        };
        if !is_certain || !self.needs.iter().any(|it| sentence.lower.contains(it)) {
            return;
        }
        for captures in self.pattern.regex().captures_iter(&sentence.text) {
            match self.says {
                Says::Delay => {
                    let delay_ms = amounts::delay_ms(&captures["delay"]);
                    to.delay_ms = to.delay_ms.max(delay_ms);
                }
                Says::Later => {
                    let later_ms = amounts::rough_ms(&captures["later"]);
                    to.delay_ms = to.delay_ms.or(Some(later_ms));
                }
                Says::NothingHappened | Says::NothingDeclared => to.nothing_happened = true,
                Says::Condition(condition) => to.condition = Some(condition),
                Says::Demand(expectation) => {
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

/// A word without its quotes.
pub(super) fn unquoted(word: &str) -> &str {
    word.trim_matches(['`', '\'', '"', '‘', '’', '“', '”'])
}

/// A bound as written in a group; its thousands may be set apart.
pub(super) fn bound(captures: &Captures<'_>, group: &str, is_allowed: bool) -> Option<Bound> {
    let number = captures.name(group)?.as_str().replace(',', "");
    Some(Bound { number, is_allowed })
}

/// What a bound counts, if it is not the value itself.
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

/// A pattern with named parts, compiled when a text first needs it.
struct Pattern {
    source: &'static str,
    compiled: OnceLock<Regex>,
}

/// The named parts, each usable in those before it. Sentences have single blanks, so that a blank in a
/// pattern is all the whitespace there can be; classes are ASCII, which keeps the machines small.
const PARTS: &[(&str, &str)] = &[
    (
        "MEMBER",
        r"{CLAUSE}(?:the )?(?:(?:query|body|path|request|input) )?(?:(?:{NOUN}|value (?:of|for)|(?P<length>length of)) )?{NAME}(?: {NOUN})?:? ",
    ),
    // Where a clause begins: what follows is its subject or its verb.
    (
        "CLAUSE",
        r"(?P<lead>^|[,:(\[–—-] ?|{EDGE}(?:and|so|thus|therefore) )",
    ),
    // A request to the reader, not a report of what happened.
    (
        "ASKED",
        r"(?:^|[,:(\[–—-] ?|{EDGE}(?:please|can|may|should|could|must|then|and|so|you|just|simply) )",
    ),
    // The same, where nothing else is to be done first.
    (
        "INVITED",
        r"(?:^|[,:(\[–—-] ?|{EDGE}(?:please|can|may|should|could|must|you) )",
    ),
    // Amounts of time without a number.
    (
        "VAGUE",
        r"(?:a (?:moment|minute|while|bit)|an hour|(?:a few|some|a couple of|several) (?:moments|seconds|minutes|hours))",
    ),
    // Where a clause ends: what follows cannot change what it says.
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
