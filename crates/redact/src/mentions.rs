//! Finds secrets that a sentence names: a word for a secret in one of many languages, and near it a value that
//! looks like one. Before, behind, quoted or not; a value that another word claims is that word's.

use std::ops::Range;

use super::lexicon::{self, Mention, Sort, is_unspaced};
use super::looks::{Look, SHORTEST_OPAQUE, look};
use super::names::{WordSet, listed};
use super::sentences::{Word, ends_sentence, is_in_address, words};
use super::spans::Spans;
use super::typed::{
    is_called_so, is_counted, is_free, is_letter_code, is_mixed_script, is_numbered, is_odd,
    is_phrase, is_short_code, is_spaced_code, is_strong, is_user, is_year,
};
use super::words::INNOCENT_BEFORE_TOKEN;

/// How many words before and behind it a mention may call.
const REACH: usize = 40;

/// The longest name of a user that stands before a password.
const USER_LIMIT: usize = 32;

/// A list is followed to its start over so many items.
const LIST_LIMIT: usize = 8;

/// A token of this length is its own, whatever small word stands before it.
const LONG: usize = 36;
const PREPOSITIONS: &str = "for to by from in on at with";

/// Words that say that what follows was given.
const GIVEN: &str = "is was tried try entered enter typed type said used gave given supplied presented accept accepted namely got received offered sent pswd \
    answer answered rejected refused verify";

/// How many words may stand between a mention and a value that is set apart.
const FAR: usize = 14;

/// How many words may stand between a mention and a value that nothing introduces.
const NEAR: usize = 4;

/// Collects the values that the sentences of a text name as secrets.
pub(super) fn find(text: &str, spans: &mut Spans) {
    let mentions: Vec<Mention> = lexicon::mentions(text)
        .filter(|it| !is_about_something_else(text, it))
        .collect();
    if mentions.is_empty() {
        return;
    }
    let words = words(text);
    let scene = Scene::of(text, &words, &mentions);
    let mut last = None;
    for (at, word) in words.iter().enumerate() {
        let is_next = last.is_some_and(|last| scene.is_next_of_list(last, at));
        if is_next || scene.is_secret(at) {
            spans.push(word.range.clone());
            last = Some(at);
        } else {
            scene.find_inside(at, spans);
        }
    }
}

/// A text with its words and what they call.
struct Scene<'a> {
    text: &'a str,
    words: &'a [Word],
    /// For each word, the number of its sentence.
    sentences: Vec<usize>,
    /// For each sentence, what it calls: where, and what sort of secret.
    called: Vec<Sentence>,
}

/// What one sentence calls, in order.
#[derive(Clone, Default)]
struct Sentence {
    /// The number of the line it begins in.
    line: usize,
    called: Vec<Called>,
    /// Whether it calls anything but by a colon, and whether a password or a code is among it.
    any: bool,
    password: bool,
    code: bool,
    /// Whether it speaks of logging in.
    soft: bool,
}

/// A mention by the words around it.
#[derive(Clone, Copy)]
struct Called {
    /// The first word behind it.
    next: usize,
    /// The first word that is not before it.
    first: usize,
    sort: Sort,
    /// A colon behind it says that the value follows, and nothing else.
    is_pair: bool,
    is_quoted: bool,
    /// It is nothing but "code", which errors have too.
    is_bare_code: bool,
}

impl<'a> Scene<'a> {
    fn of(text: &'a str, words: &'a [Word], mentions: &[Mention]) -> Self {
        let mut sentences = Vec::with_capacity(words.len());
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
            sentences.push(sentence);
            end = word.range.end;
        }
        let new = |line: usize| Sentence {
            line,
            ..Sentence::default()
        };
        let mut called: Vec<Sentence> = lines.into_iter().map(new).collect();
        for mention in mentions {
            let next = words.partition_point(|word| word.range.start < mention.end);
            let first = words.partition_point(|word| word.range.end <= mention.start);
            let home = sentences
                .get(first)
                .or(sentences.last())
                .copied()
                .unwrap_or_default();
            let found = Called {
                next,
                first,
                sort: mention.sort,
                is_pair: text[mention.end..]
                    .trim_start()
                    .starts_with([':', '=', '：', '＝']),
                is_quoted: is_quoted(text, mention),
                is_bare_code: is_bare_code(&text[mention.start..mention.end]),
            };
            let sentence = &mut called[home];
            sentence.any |= !found.is_pair;
            sentence.password |= !found.is_pair && found.sort == Sort::Password;
            sentence.code |= !found.is_pair && found.sort == Sort::Code;
            sentence.soft |= matches!(found.sort, Sort::Soft | Sort::Password);
            sentence.called.push(found);
        }
        Self {
            text,
            words,
            sentences,
            called,
        }
    }

    fn value(&self, at: usize) -> &'a str {
        &self.text[self.words[at].range.clone()]
    }

    /// The word before.
    fn before(&self, at: usize) -> &'a str {
        at.checked_sub(1).map_or("", |before| self.value(before))
    }

    /// Whether the word is a value that a sentence calls a secret.
    fn is_secret(&self, at: usize) -> bool {
        let value = self.value(at);
        let home = self.sentences[at];
        // Most words are no candidates, whatever they stand beside.
        let is_plain =
            value.len() < SHORTEST_OPAQUE && value.bytes().all(|byte| byte.is_ascii_alphabetic());
        if is_plain && !self.words[at].quoted {
            return false;
        }
        if !self.words[at].quoted && self.is_of_chain(at) {
            return false;
        }
        let own = self.around(at);
        if own.iter().any(|it| (it.first..it.next).contains(&at)) {
            return false;
        }
        let is_nearest = |it: &&Called| {
            it.next > at
                || !own
                    .iter()
                    .any(|other| it.next < other.next && other.next <= at && other.sort != it.sort)
        };
        own.iter()
            .filter(is_nearest)
            .any(|it| self.is_called(at, value, it))
            || self.is_called_nearby(at, value, home)
    }

    /// Whether a word is a link of a chain of errors, which ends with a colon, or the mark of a log.
    fn is_of_chain(&self, at: usize) -> bool {
        let value = self.value(at);
        let is_marked = value.starts_with('#') || value.contains('[');
        is_marked && look(value) == Look::Password
            || self.text[self.words[at].range.end..].starts_with(": ")
                && !is_strong(value)
                && look(value) != Look::Opaque
    }

    /// Whether a word continues a list of secrets: it is written as the one before it.
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
            && look(self.value(last)) != Look::Word
    }

    /// The mentions of the same sentence that are near enough to call the word.
    fn around(&self, at: usize) -> &[Called] {
        let called = &self.called[self.sentences[at]].called;
        let first = called.partition_point(|it| it.next + REACH < at);
        let last = called.partition_point(|it| it.first <= at + REACH);
        &called[first..last.max(first)]
    }

    /// Whether a mention in the same sentence calls it.
    fn is_called(&self, at: usize, value: &str, called: &Called) -> bool {
        let is_behind = at >= called.next;
        let distance = if is_behind {
            at - called.next
        } else {
            called.first - 1 - at
        };
        if called.is_pair {
            return is_behind && distance == 0 && self.accepts(at, value, called.sort, 0, true);
        }
        const SHORTEST_OF_PERSON: usize = 6;
        let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
        if called.is_bare_code
            && (value.len() < SHORTEST_OF_PERSON || !is_number && !is_spaced_code(value))
        {
            return false;
        }
        if called.is_quoted
            && (!is_behind || distance > 2 || !self.words[at].quoted && !self.is_given(at))
        {
            return false;
        }
        let is_linked = !is_behind
            && (at + 1..called.first)
                .take(FAR)
                .any(|it| LINKS.contains(self.value(it)) || self.value(it).contains(is_unspaced));
        let is_before = !is_behind && !is_linked;
        if is_before && self.is_weak_before(at, value, called.sort, distance) {
            return false;
        }
        // Behind other words, or in a script where one cannot tell, a name is a name.
        let is_apart = distance > 1 || distance > 0 && self.before(at).contains(is_unspaced);
        let is_introduced = self.is_given(at) || self.is_set_apart(at);
        if is_behind && is_apart && !is_introduced && !self.words[at].quoted && is_user(value) {
            return false;
        }
        let distance = if is_linked {
            distance.min(1)
        } else if is_behind {
            distance
        } else {
            distance + 2
        };
        self.accepts(at, value, called.sort, distance, false)
    }

    /// Whether a value in front of the word for a secret, with nothing that links the two, is of another sentence
    /// more often than not: a number, or what stands before the name of something that also has other meanings.
    fn is_weak_before(&self, at: usize, value: &str, sort: Sort, distance: usize) -> bool {
        let is_quoted = self.words[at].quoted;
        let is_loose = look(value) == Look::Digits || sort == Sort::Soft && !is_strong(value);
        let is_far =
            distance > 0 && (look(value) == Look::Word || !is_quoted && !self.is_set_apart(at));
        (is_far || is_loose && !is_quoted) && !self.is_given(at)
    }

    /// Whether a value that looks like nothing else is called so in a sentence before or behind.
    fn is_called_nearby(&self, at: usize, value: &str, home: usize) -> bool {
        let around = home.saturating_sub(1)..(home + 2).min(self.called.len());
        let line = self.called[home].line;
        let around = self.called[around].iter().filter(|it| it.line == line);
        let (mut any, mut password, mut code) = (false, false, false);
        for sentence in around {
            any |= sentence.any;
            password |= sentence.password;
            code |= sentence.code;
        }
        let is_worth = any || is_strong(value);
        if !is_worth || value.contains(char::is_whitespace) || self.is_claimed(at) {
            return false;
        }
        match look(value) {
            Look::Opaque => any && (self.is_given(at) || self.is_set_apart(at)),
            Look::Password if is_strong(value) => true,
            Look::Password => {
                let is_code = code && is_short_code(value);
                self.is_given(at) && (password || is_code) || is_code && self.is_set_apart(at)
            }
            Look::Digits => {
                let is_code = (5..=10).contains(&value.len());
                is_code && (code || password) && self.is_given(at)
            }
            Look::Uuid | Look::Word | Look::Thing => false,
        }
    }

    /// Whether a value is one that is called so, as far from the word that calls it.
    fn accepts(&self, at: usize, value: &str, sort: Sort, distance: usize, is_pair: bool) -> bool {
        let word = &self.words[at];
        let is_claimed = self.is_claimed(at);
        let is_introduced = self.is_given(at) || distance <= FAR && self.is_set_apart(at);
        let is_near = distance <= NEAR || is_introduced;
        // Other scripts have other words for "is".
        let is_told = distance <= 1 || is_introduced || is_near && !self.before(at).is_ascii();
        if !word.quoted && value.contains(['{', '}', '<', '>', '\\']) {
            return false;
        }
        if value.contains(char::is_whitespace) {
            return word.quoted
                && sort == Sort::Password
                && (distance <= NEAR || is_introduced)
                && is_phrase(value)
                || word.quoted && sort == Sort::Code && distance <= NEAR && is_spaced_code(value);
        }
        match (look(value), sort) {
            (Look::Word | Look::Thing, Sort::Password)
                if distance == 0 && is_pair && is_odd(value) =>
            {
                true
            }
            (Look::Opaque, _) => is_near && !is_claimed,
            (Look::Uuid, Sort::Token) => distance <= 2 && !is_claimed,
            (Look::Uuid, _) => distance <= 1 && !is_claimed,
            (Look::Password, Sort::Soft) => {
                (is_strong(value) || is_introduced && distance <= FAR || distance <= 1)
                    && !is_claimed
                    && !is_called_so(value, &self.text[word.range.end..])
            }
            (Look::Password, Sort::Password) => {
                is_near && (!is_claimed || word.quoted && distance <= 1)
            }
            (Look::Password, Sort::Code) => is_told && !is_claimed && is_short_code(value),
            (Look::Password, Sort::Token) => {
                (is_strong(value)
                    || value.len() >= 8
                        && word.quoted
                        && distance <= 1
                        && !value.contains([':', '<', '>']))
                    && !is_claimed
            }
            (Look::Thing, Sort::Code) => {
                (is_spaced_code(value) && distance <= NEAR || is_short_code(value) && distance <= 2)
                    && !is_claimed
            }
            (Look::Thing, Sort::Password) => {
                distance <= 1
                    && !is_claimed
                    && is_short_code(value)
                    && value.bytes().any(|byte| byte.is_ascii_alphabetic())
                    && !is_counted(value)
                    && !self.text[word.range.end..].starts_with(':')
            }
            (Look::Digits, Sort::Code) => (4..=10).contains(&value.len()) && is_told && !is_claimed,
            (Look::Word, Sort::Soft) => {
                word.quoted && distance <= 2 && !is_claimed && is_free(value) && self.is_given(at)
            }
            (Look::Digits, Sort::Password) if is_year(value) => distance == 0,
            (Look::Digits, Sort::Password) => {
                value.len() >= 4
                    && distance <= 2
                    && !is_claimed
                    && (word.quoted || value.len() <= 8)
            }
            (Look::Word, Sort::Password)
                if distance <= 1 && !is_claimed && is_letter_code(value) =>
            {
                true
            }
            (Look::Word, Sort::Password) if is_numbered(value) => {
                let is_plain = !value.contains(|it: char| it.is_uppercase() || !it.is_ascii());
                let reach = if is_plain && !is_introduced { 1 } else { 3 };
                (distance <= reach || word.quoted && distance <= NEAR) && !is_claimed
            }
            (Look::Word, Sort::Password) => {
                word.quoted && (distance <= 2 || is_introduced) && is_free(value) && !is_claimed
                    || distance == 0 && !word.quoted && is_mixed_script(value)
            }
            (Look::Word, Sort::Code) => {
                let is_code = distance <= 1 && is_letter_code(value);
                let is_numbered = is_near && (is_short_code(value) || is_spaced_code(value));
                !is_claimed && (is_code || is_numbered)
            }
            _ => false,
        }
    }

    /// Whether the word before claims it for something else.
    fn is_claimed(&self, at: usize) -> bool {
        is_known_by_what_follows(&self.text[self.words[at].range.end..])
            || self.is_claimed_within(at, LIST_LIMIT)
    }

    fn is_claimed_within(&self, at: usize, depth: usize) -> bool {
        let Some(before) = at
            .checked_sub(1)
            .filter(|it| self.sentences[*it] == self.sentences[at])
        else {
            return false;
        };
        if self
            .around(at)
            .iter()
            .any(|it| (it.first..it.next).contains(&before))
        {
            return false;
        }
        let between = &self.text[self.words[before].range.end..self.words[at].range.start];
        // What is claimed for the first of a list is claimed for all.
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
        let is_told = listed!("is was", self.value(before))
            && before > 0
            && listed!(
                "mode type method scheme algorithm format status state kind",
                self.value(before - 1),
            );
        if is_told {
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
        let is_own = self.words[at].range.len() >= LONG || is_strong(self.value(at));
        let is_own = is_own && listed!(PREPOSITIONS, self.value(before));
        !is_own && !between.contains(['(', ',']) && claims(self.value(before))
            || is_possessive(self.text, &self.words[at])
    }

    /// Whether a word is what the value behind it is called: one word, alone before a colon.
    fn is_label(&self, at: usize, behind: &str) -> bool {
        let is_alone = at.checked_sub(1).is_none_or(|before| {
            let end = self.words[before].range.end.min(self.words[at].range.start);
            let between = &self.text[end..self.words[at].range.start];
            between.contains(['.', ',', ';', '(', '（', '、', '，', '。', '\n', '|'])
        });
        is_alone && behind.trim_start().starts_with([':', '：']) && !listed!(GIVEN, self.value(at))
    }

    /// Collects what a word holds that is a name with its secret, or an address with one in it.
    fn find_inside(&self, at: usize, spans: &mut Spans) {
        let range = self.words[at].range.clone();
        let value = self.value(at);
        let home = &self.called[self.sentences[at]];
        let is_worth = value.contains(['/', ':']) && (home.any || home.soft);
        if !is_worth {
            return;
        }
        if value.contains("://") {
            let mut offset = range.start;
            for part in value.split_inclusive(['/', '?', '#', '&', '=']) {
                let segment = part.trim_end_matches(['/', '?', '#', '&', '=']);
                if look(segment) == Look::Opaque {
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
        let is_user = !name.is_empty() && name.len() <= USER_LIMIT && look(name) == Look::Word;
        let is_whole = !secret.contains(['/', ':']) && !secret.contains(char::is_whitespace);
        let is_large = secret.contains(|it: char| it.is_ascii_uppercase());
        let is_secret =
            is_whole && look(secret) == Look::Password && (is_large || is_strong(secret));
        if is_user && is_secret && home.soft {
            spans.push(range.end - secret.len()..range.end);
        }
    }

    /// Whether the word before says that something was given: "tried x", "namely x".
    fn is_given(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else {
            return false;
        };
        let start = self.words[at].range.start;
        let between = &self.text[self.words[before].range.end.min(start)..start];
        let is_joined = between
            .chars()
            .all(|it| it.is_whitespace() || "\"'`“„«‘(:,".contains(it))
            && !between.contains('\n');
        is_joined && listed!(GIVEN, self.value(before))
    }

    /// Whether marks set it apart from its sentence: "(x)", ": x", ", x,".
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

/// Collects what a text quotes that stands beside the name of a secret: all of it is about that one.
pub(super) fn find_beside_name(text: &str, spans: &mut Spans) {
    const GIVEN: &str =
        "is was got received value given found provided actual entered attempted supplied";
    let mut before = "";
    for word in words(text) {
        let value = &text[word.range.clone()];
        let is_secret = match look(value) {
            Look::Password | Look::Opaque => word.quoted && !value.contains(' '),
            Look::Digits => word.quoted && value.len() >= 4,
            Look::Word => {
                word.quoted && listed!(GIVEN, before) && (is_free(value) || is_phrase(value))
            }
            Look::Uuid | Look::Thing => false,
        };
        if is_secret {
            spans.push(word.range.clone());
        }
        before = value;
    }
}

/// Whether the word is a name between quotes.
fn is_quoted(text: &str, mention: &Mention) -> bool {
    let is_quote = |it: char| "\"'`[]".contains(it);
    text[..mention.start].ends_with(is_quote) && text[mention.end..].starts_with(is_quote)
}

/// Whether what follows a word says what it is: the id of a mail, that of a public key, or the name of a machine,
/// behind which logs write a program with its process.
fn is_known_by_what_follows(behind: &str) -> bool {
    if behind.starts_with(" - gsmtp") || behind.starts_with(": public key") {
        return true;
    }
    let program = behind.strip_prefix(' ').unwrap_or_default();
    let program = program.split(' ').next().unwrap_or_default();
    let process = program.split_once('[').map(|(_, process)| process);
    process.is_some_and(|it| {
        let digits = it.trim_end_matches(':').trim_end_matches(']');
        it.ends_with("]:") && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Whether a value behind this word belongs to it and not to the secret.
fn claims(word: &str) -> bool {
    static CLAIMANTS: WordSet = WordSet::new(
        "account address algorithm api app application at attempt attempts before bucket build by channel client cluster code \
        column comment commit container contact count customer database date device digest docs document domain email endpoint endpoints environment error etag event \
        expires fd file fingerprint for from function hash host http id in index instance invoice iso issue issuer job key-id keyid kid kids least length \
        limit line log login machine maximum md5 member message minimum matches mode model module most name namespace node number object offset on operation \
        order organization org owner page pair parameter path payment permission permissions pod policy port position principal privilege process profile pubkey no_pubkey p project queue realm record \
        ref region release repo repository request requestid resource revision role row rule run scope see sequence selector serial server service sha sha1 sha256 sha512 shard \
        since size span state status step subject subscription support table tenant than thread thumbprint ticket time to topic trace transaction \
        type until uri url user username uuid vault version volume within worker workspace zone \
        benutzer konto für von bei seit anfrage utilisateur pour depuis usuario usuário para cuenta utente per gebruiker voor användare för bruger \
        käyttäjä użytkownik dla uživatel pro felhasználó utilizator pentru kullanıcı için пользователь пользователя для запрос користувач \
        χρήστης χρήστη για pengguna untuk người",
    );
    let word = word.trim_matches(|it: char| !it.is_alphanumeric());
    let last = word.rsplit(['_', '-', '.']).next().unwrap_or(word);
    CLAIMANTS.contains(word)
        || word.contains("://")
        || word.starts_with("ssh-")
        || word.starts_with("ecdsa-")
        || listed!(
            "id uuid hash digest sha url uri name user host version etag trace span arn",
            last,
        )
        || word.ends_with("Id")
        || word.ends_with("ID")
}

/// Words that link a value to the name of a secret behind it: "hunter2 is not the password".
static LINKS: WordSet = WordSet::new(
    "as is isn't isnt was wasn't are be being not no doesn't does did didn't match matches matched \
    als ist ist's kein keine nicht war comme est n'est pas como es no não é era come è non is niet was geen jako jest nie nie není neni není \
    som är inte er ikke on ei ole som δεν είναι ως nem mint nu este ca olarak değil как не является является неверный як не bukan sebagai \
    không phải là làm लिए नहीं है के रूप में ליסמה אינו אינה אינה היא כ ليس ليست هو هي",
);

/// Whether a mention is part of a name or phrase that speaks of something else.
fn is_about_something_else(text: &str, mention: &Mention) -> bool {
    let word = &text[mention.start..mention.end];
    let (head, rest) = (&text[..mention.start], &text[mention.end..]);
    // A part of a longer name.
    let mut behind = rest.chars();
    let joins = behind.next().is_some_and(|it| "-_./\\({[$#:@".contains(it))
        && behind
            .next()
            .is_some_and(|it| it.is_alphanumeric() || "_:[(".contains(it));
    // Of an address, what is encoded may be a sentence.
    let is_in_address = || !rest.starts_with('%') && is_in_address(head);
    if joins || head.ends_with(['_', '.', '$', '/', '#', '@', '<']) || is_in_address() {
        return true;
    }
    if listed!(AMBIGUOUS, &word.replace(' ', "-")) && !is_of_failure(text, mention) {
        return true;
    }
    let before = head.trim_end_matches(['-', ' ', '!']);
    let last = before
        .rsplit(|it: char| !it.is_alphanumeric())
        .next()
        .unwrap_or_default();
    let is_token = word.eq_ignore_ascii_case("token") || word.eq_ignore_ascii_case("key");
    const INNOCENT_BEFORE_CODE: &str = "err error status exit reason response return result country zip postal area dialing dial product promo discount coupon qr source byte \
        language currency tax bar state http diagnostic fault event message vendor sql oracle abort rc item article airport station hs";
    const INNOCENT_AFTER_CODE: &str = "postal postale promo promotionnel erreur produit article barre barres fiscale sconto di error de base source";
    let next = rest
        .trim_start()
        .split(|it: char| !it.is_alphanumeric())
        .next()
        .unwrap_or_default();
    let is_code = is_bare_code(word);
    let is_pair = rest.trim_start().starts_with(['=', ':']);
    // A shorter one is that of an error more often than one for a person.
    let is_short =
        last == "with" && next.len() <= 4 && next.bytes().all(|byte| byte.is_ascii_digit());
    if is_code
        && (is_pair
            || is_short
            || listed!(INNOCENT_BEFORE_CODE, last)
            || listed!(INNOCENT_AFTER_CODE, next))
    {
        return true;
    }
    const INNOCENT_BEFORE_KEY: &str = "primary foreign public sort partition cache object unique duplicate index idempotency row hash routing map dictionary json";
    const INNOCENT_BEHIND_KEY: &str = "pair pairs vault ring name names size type types usage rotation policy policies store length format";
    // What holds, shows or rules over secrets has a name of its own.
    const INNOCENT_BEHIND: &str = "policy policies hash hashes manager rule rules panel reader pad plugin encoder provider page table column";
    let is_key = word.to_ascii_lowercase().ends_with("key");
    is_key && listed!(INNOCENT_BEHIND_KEY, next)
        || rest.starts_with(' ') && listed!(INNOCENT_BEHIND, next)
        || is_token && (listed!(INNOCENT_BEFORE_TOKEN, last) || listed!(INNOCENT_BEFORE_KEY, last))
}

fn is_bare_code(word: &str) -> bool {
    ["code", "codes", "código", "codice", "kod"]
        .iter()
        .any(|it| it.eq_ignore_ascii_case(word))
}

/// Words with other meanings, which call a secret only where something failed.
const AMBIGUOUS: &str = "pin pin-code login sign-in bind reset codes keypad-entry access-code security-code code código codice kod tan otp key clave clé chave chiave ficha klucz sleutel nyckel \
    session cookie signature nonce authorization";

/// Whether the sentence speaks of something that was tried and did not work.
fn is_of_failure(text: &str, mention: &Mention) -> bool {
    static FAILURE: WordSet = WordSet::new(
        "wrong incorrect invalid expired entered enter verify verified verifying validate authenticate matches match mismatch mismatched rejected \
        denied accepted failed fails failure attempt attempts unauthorized refused revoked blocked belong typed submitted supplied presented unknown bad your used reused \
        falsch ungültig abgelaufen incorrecte invalide expirée incorrecto incorrecta inválido inválida caducado incorreto errado scaduto errato non niet ongeldig \
        usado utilizado utilizada expirou expiró expirado expirada caducó wygasł wygasła udløbet utløpt utgått scadut expiré expirat abgelaufen revocado ogiltig felaktig forkert ugyldig väärä virheellinen nieprawidłowy błędny neplatný nesprávný érvénytelen hibás invalid geçersiz hatalı yanlış",
    );
    const REACH: usize = 120;
    let start = text.floor_char_boundary(mention.start.saturating_sub(REACH));
    let end = text.ceil_char_boundary((mention.end + REACH).min(text.len()));
    text[start..end]
        .split(|it: char| !it.is_alphanumeric() && it != '\'')
        .any(|word| FAILURE.contains(word))
}

fn is_possessive(text: &str, word: &Word) -> bool {
    let value = &text[word.range.clone()];
    value.ends_with("'s") || value.ends_with("’s") || text[word.range.end..].starts_with("'s ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(text: &str) -> String {
        let mut spans = Spans::default();
        find(text, &mut spans);
        spans.cut(text).unwrap_or_else(|| text.to_owned())
    }

    #[test]
    fn a_value_that_a_sentence_names_goes() {
        for (text, secret) in [
            (
                "Login with password hunter2 failed for user bob42",
                "hunter2",
            ),
            ("we could not verify 482913 as your one-time code", "482913"),
            ("tried 'swordfish' as the passphrase", "swordfish"),
            ("k3v9q0x1z8w7p2m4 is not a valid token", "k3v9q0x1z8w7p2m4"),
            ("Das Passwort „Sommer2024!“ ist falsch", "Sommer2024!"),
            ("Le mot de passe « azerty99 » est incorrect", "azerty99"),
            (
                "Неверный пароль qwerty123 для пользователя ivan",
                "qwerty123",
            ),
            ("密码“abc12345”不正确", "abc12345"),
            ("パスワードhunter2が間違っています", "hunter2"),
            ("Wrong PIN 4821", "4821"),
            ("the secret 'bff-2024' was refused", "bff-2024"),
            (
                "unused recovery codes: K4QN-7XWD, R2MV-9BTL and H8PC-3ZFG.",
                "H8PC-3ZFG",
            ),
            (
                "the password was reset to Qketu-957 by helpdesk",
                "Qketu-957",
            ),
        ] {
            let redacted = redacted(text);
            assert!(!redacted.contains(secret), "{redacted}");
        }
    }

    #[test]
    fn what_only_speaks_about_secrets_stays() {
        for text in [
            "Password must contain at least 8 characters, one digit and one of !@#$%",
            "token expired at 2026-01-05T10:00:00Z",
            "API key not found for project my-project-42",
            "Invalid API key (request 9f8e7d6c5b4a39281706f5e4d3c2b1a0)",
            "field 'password' is required",
            "wrong password for bob42, 3 attempts left",
            "das Passwort ist abgelaufen, bitte 12 Zeichen",
            "Idempotency-Key 5c7d2f10-8e3b-4a96-bf01-d92c6e48a7b5 was already used",
            "npm ERR! code E401: your authentication token is invalid",
            "the API token lacks permission #zone:edit",
            "the token is for key pair 'kp-0f71d2c5a8e93b64d'",
            "the secret 'bff-2024' ends in 3 days",
            "gpg: key 3AA5C34371567BD2: public key \"Nightly\" not changed; bad signature",
            "##[error]Input required and not supplied: azure-credentials",
            "API_TOKEN: <set to the key 'password' in secret 'ledger-db'>",
            "ELSTER-Fehler 610301202: die eingegebene PIN ist falsch",
            "資料表「會員」缺少欄位「密碼雜湊」,請先執行遷移 0042_add_hash。",
            "密码错误次数过多，账户 user2031 已锁定",
            "Le mot de passe du compte svc-paie2 a expiré",
            "Hasło wygasło 30 dni temu dla konta jnowak2",
            "Código de verificación incorrecto. Referencia: VRF2024-8812",
            "Password policy \"Strict2024\" requires 14 characters",
            "Door code panel offline at site 4412",
            "live cards are refused with code 4012",
            "the secret \"payments/stripe2\" was read by a role",
        ] {
            assert_eq!(redacted(text), text);
        }
    }
}
