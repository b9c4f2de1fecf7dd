//! Decides by name alone whether a field contains a secret: the name is split into words and
//! compared with the tables in `word_lists`. Nothing here allocates.

use std::sync::OnceLock;

use super::word_lists::{
    EMPTY_VALUES, INNOCENT_BEFORE_TOKEN, INNOCENT_LAST, Position, QUALIFIED, SENTENCE_WORDS,
    SINGLE, Strength,
};
use super::{lexicon, prefilter};

/// Whether a value under this name is a secret, whatever it looks like.
///
/// The name is split into words at every character that is not a letter or digit, at camelCase and
/// between letters and digits. Words are compared without case.
#[must_use]
pub fn is_sensitive_name(name: &str) -> bool {
    prefilter::may_be_sensitive_name(name.as_bytes()) && strength(name).is_some()
}

/// Only the last words of a longer name are read: it is a sentence and not a name.
const WORD_LIMIT: usize = 16;

/// The strength of a field name; the sensitive words may be anywhere in it.
pub(super) fn strength(name: &str) -> Option<Strength> {
    if name.eq_ignore_ascii_case("_auth") {
        return Some(Strength::Firm);
    }
    // The fingerprint of a public key.
    if name.eq_ignore_ascii_case("PublicKeyToken") {
        return None;
    }
    judge_both(name, false).or_else(|| foreign_strength(name))
}

/// The strength of a non-ASCII name, by its last word.
fn foreign_strength(name: &str) -> Option<Strength> {
    let last = (!name.is_ascii()).then(|| lexicon::mentions(name).last())??;
    let is_last = name[last.end..].chars().count() <= 2;
    // On its own it is usually the code of an error.
    const CODE: &str = "קוד código รหัส";
    if CODE.split(' ').any(|it| it == name) {
        return None;
    }
    let strength = match last.kind {
        lexicon::SecretKind::Password => Strength::Firm,
        lexicon::SecretKind::Code => Strength::Loose,
        lexicon::SecretKind::Generic | lexicon::SecretKind::Token => return None,
    };
    is_last.then_some(strength)
}

/// The strength of a phrase in prose, where the sensitive words must come last.
pub(super) fn phrase_strength(phrase: &str) -> Option<Strength> {
    judge_both(phrase, true).filter(|_| !phrase.ends_with("PublicKeyToken"))
}

/// Whether a name inside a secret object only describes the secret (`type`, `username`).
pub(super) fn is_descriptive(name: &str) -> bool {
    let words = Words::split(name, true);
    let last = words.as_slice().last();
    last.is_some_and(|word| listed!(INNOCENT_LAST, word))
}

/// Whether a value cannot be a secret: empty, boolean or null, spelled out.
pub(super) fn is_empty_value(value: &str) -> bool {
    value.is_empty() || listed!(EMPTY_VALUES, value)
}

/// Whether a value is the next word of an ordinary sentence.
pub(super) fn is_sentence_word(value: &str) -> bool {
    listed!(
        SENTENCE_WORDS,
        value.trim_end_matches(['.', ',', ';', ':', '!', '?', ')']),
    )
}

/// Whether a value looks like a secret rather than a word.
pub(super) fn is_credible(value: &str) -> bool {
    const SHORTEST: usize = 6;
    const LONGEST_WORD: usize = 24;
    let bytes = value.as_bytes();
    let digit = bytes.iter().any(u8::is_ascii_digit);
    let mixed = bytes
        .windows(2)
        .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let symbol = bytes.iter().any(|byte| b"!@#$%^&*+/=~".contains(byte));
    let spaced = bytes.iter().any(u8::is_ascii_whitespace);
    !spaced
        && (bytes.len() >= LONGEST_WORD || bytes.len() >= SHORTEST && (digit || mixed || symbol))
}

/// A list of words, indexed on first use.
pub(super) struct WordSet {
    words: &'static str,
    ready: OnceLock<Vec<Vec<&'static str>>>,
}

impl WordSet {
    const BUCKETS: usize = 64;

    pub(super) const fn new(words: &'static str) -> Self {
        Self {
            words,
            ready: OnceLock::new(),
        }
    }

    /// Whether the list contains a word, ignoring ASCII case.
    pub(super) fn contains(&self, word: &str) -> bool {
        let Some(bucket) = Self::bucket(word) else {
            return false;
        };
        let ready = self.ready.get_or_init(|| {
            let mut buckets = vec![Vec::new(); Self::BUCKETS];
            for word in self.words.split_ascii_whitespace() {
                buckets[Self::bucket(word).expect("a word is not empty")].push(word);
            }
            buckets
        });
        ready[bucket]
            .iter()
            .any(|entry| entry.eq_ignore_ascii_case(word))
    }

    /// The bucket of a word, by its length and first letter. The empty text is in no list.
    fn bucket(word: &str) -> Option<usize> {
        let first = word.bytes().next()?.to_ascii_lowercase();
        Some((word.len() * 7 + usize::from(first)) % Self::BUCKETS)
    }
}

/// Whether a fixed list of words, separated by spaces, contains a word, ignoring ASCII case.
macro_rules! listed {
    ($list:expr, $word:expr $(,)?) => {{
        static LIST: $crate::names::WordSet = $crate::names::WordSet::new($list);
        LIST.contains($word)
    }};
}
pub(super) use listed;

/// Judges the name as camelCase and, where that differs, without splitting at capitals
/// (`PaSsWoRd`).
fn judge_both(name: &str, at_end: bool) -> Option<Strength> {
    let upper = name.bytes().any(|byte| byte.is_ascii_uppercase());
    let lower = name.bytes().any(|byte| byte.is_ascii_lowercase());
    judge(&Words::split(name, true), at_end).or_else(|| {
        let plain = (upper && lower).then(|| Words::split(name, false))?;
        judge(&plain, at_end)
    })
}

fn judge(words: &Words<'_>, at_end: bool) -> Option<Strength> {
    let words = words.as_slice();
    // At the end of a phrase, only numbers may follow the sensitive word.
    let start = match at_end {
        true => words.iter().rposition(|word| !is_number(word)),
        false => None,
    };
    (start.unwrap_or(0)..words.len()).find_map(|at| {
        let strength = qualified(words, at).or_else(|| single(words, at))?;
        let last = words[at + 1..].iter().rev().find(|word| !is_number(word));
        let innocent = last.is_some_and(|word| listed!(INNOCENT_LAST, word));
        (!innocent).then_some(strength)
    })
}

/// The strength of a single word.
fn single(words: &[&str], at: usize) -> Option<Strength> {
    let word = words[at];
    let (entry, _, strength) = SINGLE.iter().find(|(entry, position, _)| match position {
        Position::Word => word.eq_ignore_ascii_case(entry) || is_plural(word, entry),
        Position::Singular => word.eq_ignore_ascii_case(entry),
        Position::Inside => inside(word, entry),
        Position::Alone => words.len() == 1 && word.eq_ignore_ascii_case(entry),
    })?;
    let cursor = *entry == "token" && at > 0 && listed!(INNOCENT_BEFORE_TOKEN, words[at - 1]);
    (!cursor).then_some(*strength)
}

/// The strength of a word after the words that qualify it, separate or joined.
fn qualified(words: &[&str], at: usize) -> Option<Strength> {
    let word = words[at];
    let found = QUALIFIED.iter().any(|(entry, qualifiers)| {
        let Some(rest) = strip_ending(word, entry) else {
            return false;
        };
        qualifiers.split_ascii_whitespace().any(|qualifier| {
            if rest.is_empty() {
                is_preceded_by(&words[..at], qualifier)
            } else {
                strip_ending(rest, qualifier).is_some()
            }
        })
    });
    found.then_some(Strength::Firm)
}

fn is_preceded_by(words: &[&str], qualifier: &str) -> bool {
    let mut before = words.iter().rev();
    qualifier.rsplit('+').all(|part| {
        before
            .next()
            .is_some_and(|word| word.eq_ignore_ascii_case(part))
    })
}

/// The part of a word before the ending, which may be in the singular or plural.
fn strip_ending<'a>(word: &'a str, ending: &str) -> Option<&'a str> {
    let strip = |word: &'a str| {
        let (rest, tail) = word.split_at_checked(word.len().checked_sub(ending.len())?)?;
        tail.eq_ignore_ascii_case(ending).then_some(rest)
    };
    strip(word).or_else(|| strip(word.strip_suffix(['s', 'S'])?))
}

/// Whether a word contains the entry and the rest of the word is not innocent.
fn inside(word: &str, entry: &str) -> bool {
    position(word, entry).is_some_and(|at| {
        word.get(at + entry.len()..)
            .is_none_or(|rest| !ends_innocently(rest))
    })
}

/// Whether joined words end with a word that makes a name innocent. Short words are ignored,
/// because they end other words too.
fn ends_innocently(rest: &str) -> bool {
    const SHORTEST: usize = 5;
    let mut endings = INNOCENT_LAST.split_ascii_whitespace();
    is_descriptive(rest)
        || endings.any(|it| it.len() >= SHORTEST && strip_ending(rest, it).is_some())
}

fn is_plural(word: &str, singular: &str) -> bool {
    word.len() == singular.len() + 1
        && word.as_bytes()[..singular.len()].eq_ignore_ascii_case(singular.as_bytes())
        && word.ends_with(['s', 'S'])
}

/// Where a text contains a part, ignoring ASCII case.
pub(super) fn position(text: &str, part: &str) -> Option<usize> {
    text.as_bytes()
        .windows(part.len())
        .position(|window| window.eq_ignore_ascii_case(part.as_bytes()))
}

pub(super) fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

/// The last words of a name, borrowed from it.
struct Words<'a> {
    kept: [&'a str; WORD_LIMIT],
    count: usize,
}

impl<'a> Words<'a> {
    fn split(name: &'a str, camel: bool) -> Self {
        let mut words = Self {
            kept: [""; WORD_LIMIT],
            count: 0,
        };
        let bytes = name.as_bytes();
        let mut start = 0;
        for at in 0..bytes.len() {
            if !is_letter(bytes[at]) && !bytes[at].is_ascii_digit() {
                words.push(&name[start..at]);
                start = at + 1;
            } else if at > start && is_boundary(bytes, at, camel) {
                words.push(&name[start..at]);
                start = at;
            }
        }
        words.push(&name[start..]);
        words
    }

    fn push(&mut self, word: &'a str) {
        if word.is_empty() {
            return;
        }
        if self.count == WORD_LIMIT {
            self.kept.rotate_left(1);
            self.count -= 1;
        }
        self.kept[self.count] = word;
        self.count += 1;
    }

    fn as_slice(&self) -> &[&'a str] {
        &self.kept[..self.count]
    }
}

/// Every non-ASCII byte counts as a letter, so that no character is cut.
fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || !byte.is_ascii()
}

fn is_boundary(bytes: &[u8], at: usize, camel: bool) -> bool {
    let (before, here) = (bytes[at - 1], bytes[at]);
    if before.is_ascii_digit() != here.is_ascii_digit() {
        return true;
    }
    let next_is_lower = bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
    camel
        && here.is_ascii_uppercase()
        && (before.is_ascii_lowercase() || before.is_ascii_uppercase() && next_is_lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_sensitive_in_every_spelling() {
        let qualified = QUALIFIED.iter().flat_map(|(entry, qualifiers)| {
            let qualifiers = qualifiers.split_ascii_whitespace();
            qualifiers.map(move |qualifier| format!("{} {entry}", qualifier.replace('+', " ")))
        });
        for entry in SINGLE.iter().map(|row| row.0.to_owned()).chain(qualified) {
            let camel: String = entry.split(' ').map(capitalised).collect();
            let forms = [
                entry.replace(' ', "_"),
                entry.replace(' ', "-"),
                entry.replace(' ', "."),
                entry.to_ascii_uppercase(),
                camel,
            ];
            for form in forms.iter().chain([&entry]) {
                assert!(is_sensitive_name(form), "{form}");
            }
        }
    }

    fn capitalised(word: &str) -> String {
        word[..1].to_ascii_uppercase() + &word[1..]
    }

    #[test]
    fn names_around_a_sensitive_word_are_sensitive() {
        let names = "\
            X-Api-Key apiKeys x-goog-api-key Ocp-Apim-Subscription-Key DBPassword \
            PGPASSWORD userPassword2 new_password_confirmation passwordHash PaSsWoRd \
            spring.datasource.password OAuth2Token X-Amz-Security-Token \
            AWS_SECRET_ACCESS_KEY aws_access_key_id clientSecret accesstoken myapikey \
            Set-Cookie cookies proxy-authorization card_number creditCardNumber ssn cvv2 \
            _authToken _auth private_keys user:password MCP_TOKEN tokenValue sshKeys \
            pinCode pin smsOtp credentials aws-creds connectionString SharedAccessKey \
            AccountKey webhook_secret session_token refresh_tokens passwords one_time_code \
            tls.key db_passwort Benutzerkennwort wachtwoord senha_atual";
        for name in names.split_ascii_whitespace() {
            assert!(is_sensitive_name(name), "{name}");
        }
    }

    #[test]
    fn names_that_only_look_alike_are_innocent() {
        let names = "\
            next_page_token page_token pageToken nextToken continuation_token sync_token \
            progressToken max_tokens tokens input_tokens token_count token_type tokenizer \
            time_to_first_token keyboard key issue_key public_key primary_key foreign_key \
            idempotency_key sort_key partition_key cache_key author authority \
            authorized_at secretary pinned pins shipping cookies_enabled cookie_policy \
            password_policy passwordless passwordPolicy passed bypass pass_rate hotpot \
            credit credits accredited card cardinality postcard discard token_limit \
            secret_name api_key_id card_number_last4 password_changed_at passwordLastChanged pwdLastSet secretStore signature \
            description session_id code status_code bearer_format authorization_url keys \
            monkey turkey hockey desenha resenha assn_name spinner _ __ 42 \u{43a}\u{43b}\u{44e}\u{447}";
        for name in names.split_ascii_whitespace() {
            assert!(!is_sensitive_name(name), "{name}");
        }
    }

    #[test]
    fn a_very_long_name_is_judged_by_its_last_words() {
        let long = "word ".repeat(100_000);
        assert!(is_sensitive_name(&format!("{long} password")));
        assert!(!is_sensitive_name(&format!("password {long}")));
    }
}
