//! Finds secrets that a sentence mentions: a word for a secret in one of many languages, and near
//! it a value that looks like one, before or after it, quoted or not. A value that another word
//! claims is skipped.

mod context;

use std::ops::Range;

use super::lexicon::{self, Mention, SecretKind, is_unspaced};
use super::names::listed;
use super::passwords::{
    can_be_password, can_be_user_name, has_unusual_spelling, is_letter_code, is_mixed_script,
    is_numbered, is_phrase, is_short_code, is_spaced_code, is_strong, is_year,
    looks_like_secret_name, starts_with_count,
};
use super::sentences::{Word, ends_sentence, words};
use super::shape::{SHORTEST_OPAQUE, Shape, shape_of};
use super::spans::Spans;
use context::{
    LINKS, claims, is_bare_code, is_identified_by_next_word, is_possessive, is_quoted, is_unrelated,
};

/// How many words before and after a mention are searched for its value.
const REACH: usize = 40;

/// The longest user name that is accepted in front of a password.
const USER_LIMIT: usize = 32;

/// How many items of a list are followed back to its first one.
const LIST_LIMIT: usize = 8;

/// A token of this length is not claimed by a preposition in front of it.
const LONG: usize = 36;
const PREPOSITIONS: &str = "for to by from in on at with";

/// Words that introduce a value.
const INTRODUCING_WORDS: &str = "is was tried try entered enter typed type said used gave given supplied presented accept accepted namely got received offered sent pswd \
    answer answered rejected refused verify";

/// How many words may separate a mention from a value that punctuation sets apart.
const FAR: usize = 14;

/// How many words may separate a mention from a value that nothing introduces.
const NEAR: usize = 4;

/// Collects the values that the sentences of a text mention as secrets.
pub(super) fn find(text: &str, spans: &mut Spans) {
    let mentions: Vec<Mention> = lexicon::mentions(text)
        .filter(|it| !is_unrelated(text, it))
        .collect();
    if mentions.is_empty() {
        return;
    }
    let words = words(text);
    let analysis = Analysis::of(text, &words, &mentions);
    let mut last = None;
    for (at, word) in words.iter().enumerate() {
        let is_next = last.is_some_and(|last| analysis.is_next_of_list(last, at));
        if is_next || analysis.is_secret(at) {
            spans.push(word.range.clone());
            last = Some(at);
        } else {
            analysis.find_inside(at, spans);
        }
    }
}

/// A text with its words, its sentences and the secrets they mention.
struct Analysis<'a> {
    text: &'a str,
    words: &'a [Word],
    /// For each word, the index of its sentence.
    sentence_of: Vec<usize>,
    sentences: Vec<Sentence>,
}

/// The mentions of one sentence, in order.
#[derive(Clone, Default)]
struct Sentence {
    /// The number of the line where it begins.
    line: usize,
    mentions: Vec<LocatedMention>,
    /// Whether it mentions a secret, a password or a code other than as the name of a pair.
    any: bool,
    password: bool,
    code: bool,
    /// Whether it mentions a password or a login.
    login: bool,
}

/// A mention with its position among the words.
#[derive(Clone, Copy)]
struct LocatedMention {
    /// The first word after it.
    next: usize,
    /// The first word that does not end before it.
    first: usize,
    kind: SecretKind,
    /// It is the name of a pair (`pin: 1234`): only the next word can be its value.
    is_pair: bool,
    is_quoted: bool,
    /// It is only the word "code", which errors have too.
    is_bare_code: bool,
}

impl<'a> Analysis<'a> {
    fn of(text: &'a str, words: &'a [Word], mentions: &[Mention]) -> Self {
        let mut sentence_of = Vec::with_capacity(words.len());
        let (mut sentence, mut end, mut line) = (0, 0, 0);
        let mut lines = vec![0];
        for word in words {
            let start = word.range.start.max(end);
            let between = &text[end..start];
            if ends_sentence(between) {
                sentence += 1;
                line += usize::from(between.contains(['\n', '\r']));
                lines.push(line);
            }
            sentence_of.push(sentence);
            end = word.range.end;
        }
        let new = |line: usize| Sentence {
            line,
            ..Sentence::default()
        };
        let mut sentences: Vec<Sentence> = lines.into_iter().map(new).collect();
        for mention in mentions {
            let next = words.partition_point(|word| word.range.start < mention.end);
            let first = words.partition_point(|word| word.range.end <= mention.start);
            let number = sentence_of
                .get(first)
                .or(sentence_of.last())
                .copied()
                .unwrap_or_default();
            let found = LocatedMention {
                next,
                first,
                kind: mention.kind,
                is_pair: text[mention.end..]
                    .trim_start()
                    .starts_with([':', '=', '：', '＝']),
                is_quoted: is_quoted(text, mention),
                is_bare_code: is_bare_code(&text[mention.start..mention.end]),
            };
            let sentence = &mut sentences[number];
            sentence.any |= !found.is_pair;
            sentence.password |= !found.is_pair && found.kind == SecretKind::Password;
            sentence.code |= !found.is_pair && found.kind == SecretKind::Code;
            sentence.login |= matches!(found.kind, SecretKind::Generic | SecretKind::Password);
            sentence.mentions.push(found);
        }
        Self {
            text,
            words,
            sentence_of,
            sentences,
        }
    }

    fn value(&self, at: usize) -> &'a str {
        &self.text[self.words[at].range.clone()]
    }

    /// The previous word.
    fn before(&self, at: usize) -> &'a str {
        at.checked_sub(1).map_or("", |before| self.value(before))
    }

    /// Whether the word is a value that a sentence mentions as a secret.
    fn is_secret(&self, at: usize) -> bool {
        let value = self.value(at);
        let sentence_number = self.sentence_of[at];
        // A fast path: most words cannot be secrets.
        let is_plain =
            value.len() < SHORTEST_OPAQUE && value.bytes().all(|byte| byte.is_ascii_alphabetic());
        if is_plain && !self.words[at].quoted {
            return false;
        }
        if !self.words[at].quoted && self.is_in_error_chain(at) {
            return false;
        }
        let own = self.mentions_near(at);
        if own.iter().any(|it| (it.first..it.next).contains(&at)) {
            return false;
        }
        let is_nearest = |it: &&LocatedMention| {
            it.next > at
                || !own
                    .iter()
                    .any(|other| it.next < other.next && other.next <= at && other.kind != it.kind)
        };
        own.iter()
            .filter(is_nearest)
            .any(|it| self.is_value_of(at, value, it))
            || self.is_value_nearby(at, value, sentence_number)
    }

    /// Whether a word is part of an error chain (`outer: inner: cause`), or a log tag.
    fn is_in_error_chain(&self, at: usize) -> bool {
        let value = self.value(at);
        let is_marked = value.starts_with('#') || value.contains('[');
        is_marked && shape_of(value) == Shape::Password
            || self.text[self.words[at].range.end..].starts_with(": ")
                && !is_strong(value)
                && shape_of(value) != Shape::Opaque
    }

    /// Whether a word continues a list of secrets: it has the same pattern as the previous one.
    fn is_next_of_list(&self, last: usize, at: usize) -> bool {
        let is_joint = |it: usize| listed!("and or", self.value(it));
        let shape = |it: usize| {
            let class = |it: char| if it.is_alphanumeric() { 'a' } else { it };
            self.value(it).chars().map(class)
        };
        let value = self.value(at);
        (last + 1 == at || last + 2 == at && is_joint(last + 1))
            && value.bytes().any(|byte| byte.is_ascii_digit())
            && shape(last).eq(shape(at))
            && shape_of(self.value(last)) != Shape::Word
    }

    /// The mentions in the same sentence that are close enough to refer to the word.
    fn mentions_near(&self, at: usize) -> &[LocatedMention] {
        let mentions = &self.sentences[self.sentence_of[at]].mentions;
        let first = mentions.partition_point(|it| it.next + REACH < at);
        let last = mentions.partition_point(|it| it.first <= at + REACH);
        &mentions[first..last.max(first)]
    }

    /// Whether a mention in the same sentence refers to the value.
    fn is_value_of(&self, at: usize, value: &str, mention: &LocatedMention) -> bool {
        let is_behind = at >= mention.next;
        let distance = if is_behind {
            at - mention.next
        } else {
            mention.first - 1 - at
        };
        if mention.is_pair {
            return is_behind && distance == 0 && self.accepts(at, value, mention.kind, 0, true);
        }
        const SHORTEST_TYPED_CODE: usize = 6;
        let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
        if mention.is_bare_code
            && (value.len() < SHORTEST_TYPED_CODE || !is_number && !is_spaced_code(value))
        {
            return false;
        }
        if mention.is_quoted
            && (!is_behind
                || distance > 2
                || !self.words[at].quoted && !self.is_introduced_by_word(at))
        {
            return false;
        }
        let is_linked = !is_behind
            && (at + 1..mention.first)
                .take(FAR)
                .any(|it| LINKS.contains(self.value(it)) || self.value(it).contains(is_unspaced));
        let is_before = !is_behind && !is_linked;
        if is_before && self.is_weak_before(at, value, mention.kind, distance) {
            return false;
        }
        // After other words, or in a script without spaces, a user name is not a secret.
        let is_apart = distance > 1 || distance > 0 && self.before(at).contains(is_unspaced);
        let is_introduced = self.is_introduced_by_word(at) || self.is_set_apart(at);
        if is_behind
            && is_apart
            && !is_introduced
            && !self.words[at].quoted
            && can_be_user_name(value)
        {
            return false;
        }
        let distance = if is_linked {
            distance.min(1)
        } else if is_behind {
            distance
        } else {
            distance + 2
        };
        self.accepts(at, value, mention.kind, distance, false)
    }

    /// Whether a value in front of a mention, with nothing that links the two, more likely belongs
    /// to another statement: a number, or a value before a word that also has other meanings.
    fn is_weak_before(&self, at: usize, value: &str, kind: SecretKind, distance: usize) -> bool {
        let is_quoted = self.words[at].quoted;
        let is_loose =
            shape_of(value) == Shape::Digits || kind == SecretKind::Generic && !is_strong(value);
        let is_far = distance > 0
            && (shape_of(value) == Shape::Word || !is_quoted && !self.is_set_apart(at));
        (is_far || is_loose && !is_quoted) && !self.is_introduced_by_word(at)
    }

    /// Whether a value that can only be a secret belongs to a mention in the previous, same or next
    /// sentence.
    fn is_value_nearby(&self, at: usize, value: &str, sentence_number: usize) -> bool {
        let nearby =
            sentence_number.saturating_sub(1)..(sentence_number + 2).min(self.sentences.len());
        let line = self.sentences[sentence_number].line;
        let nearby = self.sentences[nearby].iter().filter(|it| it.line == line);
        let (mut any, mut password, mut code) = (false, false, false);
        for sentence in nearby {
            any |= sentence.any;
            password |= sentence.password;
            code |= sentence.code;
        }
        let is_candidate = any || is_strong(value);
        if !is_candidate || value.contains(char::is_whitespace) || self.is_claimed(at) {
            return false;
        }
        match shape_of(value) {
            Shape::Opaque => any && (self.is_introduced_by_word(at) || self.is_set_apart(at)),
            Shape::Password if is_strong(value) => true,
            Shape::Password => {
                let is_code = code && is_short_code(value);
                self.is_introduced_by_word(at) && (password || is_code)
                    || is_code && self.is_set_apart(at)
            }
            Shape::Digits => {
                let is_code = (5..=10).contains(&value.len());
                is_code && (code || password) && self.is_introduced_by_word(at)
            }
            Shape::Uuid | Shape::Word | Shape::KnownFormat => false,
        }
    }

    /// Whether a value fits the kind of secret that is mentioned at this distance.
    fn accepts(
        &self,
        at: usize,
        value: &str,
        kind: SecretKind,
        distance: usize,
        is_pair: bool,
    ) -> bool {
        let word = &self.words[at];
        let is_claimed = self.is_claimed(at);
        let is_introduced =
            self.is_introduced_by_word(at) || distance <= FAR && self.is_set_apart(at);
        let is_near = distance <= NEAR || is_introduced;
        // Other languages have other words for "is".
        let is_stated = distance <= 1 || is_introduced || is_near && !self.before(at).is_ascii();
        if !word.quoted && value.contains(['{', '}', '<', '>', '\\']) {
            return false;
        }
        if value.contains(char::is_whitespace) {
            return word.quoted
                && kind == SecretKind::Password
                && (distance <= NEAR || is_introduced)
                && is_phrase(value)
                || word.quoted
                    && kind == SecretKind::Code
                    && distance <= NEAR
                    && is_spaced_code(value);
        }
        match (shape_of(value), kind) {
            (Shape::Word | Shape::KnownFormat, SecretKind::Password)
                if distance == 0 && is_pair && has_unusual_spelling(value) =>
            {
                true
            }
            (Shape::Opaque, _) => is_near && !is_claimed,
            (Shape::Uuid, SecretKind::Token) => distance <= 2 && !is_claimed,
            (Shape::Uuid, _) => distance <= 1 && !is_claimed,
            (Shape::Password, SecretKind::Generic) => {
                (is_strong(value) || is_introduced && distance <= FAR || distance <= 1)
                    && !is_claimed
                    && !looks_like_secret_name(value, &self.text[word.range.end..])
            }
            (Shape::Password, SecretKind::Password) => {
                is_near && (!is_claimed || word.quoted && distance <= 1)
            }
            (Shape::Password, SecretKind::Code) => is_stated && !is_claimed && is_short_code(value),
            (Shape::Password, SecretKind::Token) => {
                (is_strong(value)
                    || value.len() >= 8
                        && word.quoted
                        && distance <= 1
                        && !value.contains([':', '<', '>']))
                    && !is_claimed
            }
            (Shape::KnownFormat, SecretKind::Code) => {
                (is_spaced_code(value) && distance <= NEAR || is_short_code(value) && distance <= 2)
                    && !is_claimed
            }
            (Shape::KnownFormat, SecretKind::Password) => {
                distance <= 1
                    && !is_claimed
                    && is_short_code(value)
                    && value.bytes().any(|byte| byte.is_ascii_alphabetic())
                    && !starts_with_count(value)
                    && !self.text[word.range.end..].starts_with(':')
            }
            (Shape::Digits, SecretKind::Code) => {
                (4..=10).contains(&value.len()) && is_stated && !is_claimed
            }
            (Shape::Word, SecretKind::Generic) => {
                word.quoted
                    && distance <= 2
                    && !is_claimed
                    && can_be_password(value)
                    && self.is_introduced_by_word(at)
            }
            (Shape::Digits, SecretKind::Password) if is_year(value) => distance == 0,
            (Shape::Digits, SecretKind::Password) => {
                value.len() >= 4
                    && distance <= 2
                    && !is_claimed
                    && (word.quoted || value.len() <= 8)
            }
            (Shape::Word, SecretKind::Password)
                if distance <= 1 && !is_claimed && is_letter_code(value) =>
            {
                true
            }
            (Shape::Word, SecretKind::Password) if is_numbered(value) => {
                let is_plain = !value.contains(|it: char| it.is_uppercase() || !it.is_ascii());
                let reach = if is_plain && !is_introduced { 1 } else { 3 };
                (distance <= reach || word.quoted && distance <= NEAR) && !is_claimed
            }
            (Shape::Word, SecretKind::Password) => {
                word.quoted
                    && (distance <= 2 || is_introduced)
                    && can_be_password(value)
                    && !is_claimed
                    || distance == 0 && !word.quoted && is_mixed_script(value)
            }
            (Shape::Word, SecretKind::Code) => {
                let is_code = distance <= 1 && is_letter_code(value);
                let is_numbered = is_near && (is_short_code(value) || is_spaced_code(value));
                !is_claimed && (is_code || is_numbered)
            }
            _ => false,
        }
    }

    /// Whether the previous word claims the value for something else.
    fn is_claimed(&self, at: usize) -> bool {
        is_identified_by_next_word(&self.text[self.words[at].range.end..])
            || self.is_claimed_within(at, LIST_LIMIT)
    }

    fn is_claimed_within(&self, at: usize, depth: usize) -> bool {
        let Some(before) = at
            .checked_sub(1)
            .filter(|it| self.sentence_of[*it] == self.sentence_of[at])
        else {
            return false;
        };
        if self
            .mentions_near(at)
            .iter()
            .any(|it| (it.first..it.next).contains(&before))
        {
            return false;
        }
        let between = &self.text[self.words[before].range.end..self.words[at].range.start];
        // A word that claims the first item of a list claims all of them.
        let is_listed =
            between.trim_matches(['\'', '"', ' ']) == "," || self.value(before) == "and";
        if is_listed && before > 0 && depth > 0 {
            let first = if self.value(before) == "and" {
                before - 1
            } else {
                before
            };
            return self.is_claimed_within(first, depth - 1);
        }
        let is_attribute_value = listed!("is was", self.value(before))
            && before > 0
            && listed!(
                "mode type method scheme algorithm format status state kind",
                self.value(before - 1),
            );
        if is_attribute_value {
            return true;
        }
        if self.is_label(before, between) {
            return true;
        }
        let is_set = self.value(before) == "to"
            && before > 0
            && listed!("set reset changed equal", self.value(before - 1));
        if is_set {
            return false;
        }
        let is_standalone = self.words[at].range.len() >= LONG || is_strong(self.value(at));
        let is_standalone = is_standalone && listed!(PREPOSITIONS, self.value(before));
        !is_standalone && !between.contains(['(', ',']) && claims(self.value(before))
            || is_possessive(self.text, &self.words[at])
    }

    /// Whether a word is the label of the next value: a single word before a colon.
    fn is_label(&self, at: usize, behind: &str) -> bool {
        let is_alone = at.checked_sub(1).is_none_or(|before| {
            let end = self.words[before].range.end.min(self.words[at].range.start);
            let between = &self.text[end..self.words[at].range.start];
            between.contains(['.', ',', ';', '(', '（', '、', '，', '。', '\n', '|'])
        });
        is_alone
            && behind.trim_start().starts_with([':', '：'])
            && !listed!(INTRODUCING_WORDS, self.value(at))
    }

    /// Collects the secret inside a word: `user:password`, or an opaque part of a URL.
    fn find_inside(&self, at: usize, spans: &mut Spans) {
        let range = self.words[at].range.clone();
        let value = self.value(at);
        let sentence = &self.sentences[self.sentence_of[at]];
        let is_candidate = value.contains(['/', ':']) && (sentence.any || sentence.login);
        if !is_candidate {
            return;
        }
        if value.contains("://") {
            let mut offset = range.start;
            for part in value.split_inclusive(['/', '?', '#', '&', '=']) {
                let segment = part.trim_end_matches(['/', '?', '#', '&', '=']);
                if shape_of(segment) == Shape::Opaque {
                    spans.push(offset..offset + segment.len());
                }
                offset += part.len();
            }
            return;
        }
        let mut halves = value.splitn(2, ['/', ':']);
        let (Some(name), Some(secret)) = (halves.next(), halves.next()) else {
            return;
        };
        let is_user_name =
            !name.is_empty() && name.len() <= USER_LIMIT && shape_of(name) == Shape::Word;
        let is_whole = !secret.contains(['/', ':']) && !secret.contains(char::is_whitespace);
        let is_large = secret.contains(|it: char| it.is_ascii_uppercase());
        let is_secret =
            is_whole && shape_of(secret) == Shape::Password && (is_large || is_strong(secret));
        if is_user_name && is_secret && sentence.login {
            spans.push(range.end - secret.len()..range.end);
        }
    }

    /// Whether the previous word introduces the value: "tried x", "namely x".
    fn is_introduced_by_word(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else {
            return false;
        };
        let start = self.words[at].range.start;
        let between = &self.text[self.words[before].range.end.min(start)..start];
        let is_joined = between
            .chars()
            .all(|it| it.is_whitespace() || "\"'`“„«‘(:,".contains(it))
            && !between.contains('\n');
        is_joined && listed!(INTRODUCING_WORDS, self.value(before))
    }

    /// Whether punctuation sets the value apart: "(x)", ": x", ", x,".
    fn is_set_apart(&self, at: usize) -> bool {
        let Range { start, end } = self.words[at].range;
        let head = self.text[..start].trim_end_matches(' ');
        let tail = &self.text[end..];
        let is_enclosed = head.ends_with(['(', '/', '[', '-', '—', '|'])
            && (tail.is_empty() || tail.starts_with([')', ' ', ',', '.', ']']))
            || head.ends_with(':');
        is_enclosed || head.ends_with(',') && tail.starts_with([',', '.'])
    }
}

/// Collects the quoted values of a text that belongs to the name of a secret.
pub(super) fn find_beside_name(text: &str, spans: &mut Spans) {
    const INTRODUCING_WORDS: &str =
        "is was got received value given found provided actual entered attempted supplied";
    let mut before = "";
    for word in words(text) {
        let value = &text[word.range.clone()];
        let is_secret = match shape_of(value) {
            Shape::Password | Shape::Opaque => word.quoted && !value.contains(' '),
            Shape::Digits => word.quoted && value.len() >= 4,
            Shape::Word => {
                word.quoted
                    && listed!(INTRODUCING_WORDS, before)
                    && (can_be_password(value) || is_phrase(value))
            }
            Shape::Uuid | Shape::KnownFormat => false,
        };
        if is_secret {
            spans.push(word.range.clone());
        }
        before = value;
    }
}

#[cfg(test)]
mod tests;
