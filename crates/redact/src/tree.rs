//! Redacts JSON values in place: names decide first, then every string, key and long number is
//! examined on its own. `learn` collects the secrets of a value, `describe` recognises remarks.

mod describe;
mod learn;

use std::borrow::Cow;

use serde_json::{Map, Number, Value};

use super::credentials::is_basic_pair;
use super::harmless::is_harmless;
use super::lexicon;
use super::literals::Literals;
use super::names::{is_descriptive, listed, strength};
use super::passwords::looks_like_secret_name;
use super::prefilter::{hits, is_name_hit};
use super::shape::{Shape, is_worded, shape_of};
use super::spans::Spans;
use super::text::{redact as redact_text, redact_prefiltered};
use super::values::contains_word;
use super::word_lists::Strength;
use super::{DEPTH_LIMIT, REPLACEMENT, cards, commands, is_sensitive_name, labels, mentions};
pub(super) use describe::describes_secret;
pub(super) use learn::{
    collect_leaves, collect_member_secrets, collect_secrets, collect_text_secrets,
};

/// A value that still changes after this many rounds is replaced whole.
const ROUND_LIMIT: usize = 6;

/// Redacts a value without a name, repeated until nothing changes, because one rule may remove what
/// another rule depends on. Returns whether it changed.
pub(super) fn redact(literals: &Literals, value: &mut Value, nesting: usize) -> bool {
    let walk = Walk::new(literals, nesting);
    let settled_after = (0..ROUND_LIMIT).position(|_| !walk.value(value, Scope::root()));
    match settled_after {
        Some(rounds) => rounds > 0,
        None => replace(value),
    }
}

/// Redacts the members of an object in the same way. Returns whether it changed.
pub(super) fn redact_object(literals: &Literals, object: &mut Map<String, Value>) -> bool {
    let walk = Walk::new(literals, 0);
    let settled_after = (0..ROUND_LIMIT).position(|_| !walk.object(object, Scope::root()));
    match settled_after {
        Some(rounds) => rounds > 0,
        None => any(object.values_mut().map(replace)),
    }
}

/// Whether any of the changes was one. Unlike `Iterator::any` it makes all of them.
fn any(changes: impl Iterator<Item = bool>) -> bool {
    changes.fold(false, |changed, it| changed | it)
}

/// Whether no rule can find a secret in a value, so that it need not be redacted. Literals are not
/// considered.
pub fn is_clean(value: &Value) -> bool {
    is_clean_at(value, 1)
}

/// The same for the members of an object.
pub fn is_clean_object(members: &Map<String, Value>) -> bool {
    are_clean(members, 1)
}

/// The same for a text.
pub fn is_clean_text(text: &str) -> bool {
    // The prefilter does not decode escapes.
    !text.contains('\\') && hits(text.as_bytes()) == 0
}

fn is_clean_at(value: &Value, depth: usize) -> bool {
    match value {
        Value::String(text) => is_clean_text(text),
        Value::Number(number) => !may_be_card(number),
        Value::Array(items) => {
            depth <= DEPTH_LIMIT
                && !is_command(items)
                && items.iter().all(|item| is_clean_at(item, depth + 1))
        }
        Value::Object(members) => depth <= DEPTH_LIMIT && are_clean(members, depth),
        Value::Bool(_) | Value::Null => true,
    }
}

fn are_clean(members: &Map<String, Value>, depth: usize) -> bool {
    // Next to a long text, the other members are examined on their own.
    let is_long = |it: &Value| it.as_str().is_some_and(|it| it.len() > LONG_TEXT);
    members
        .iter()
        .all(|(name, member)| is_clean_text(name) && is_clean_at(member, depth + 1))
        && !members.values().any(is_long)
}

/// Replaces a value under a sensitive name. Booleans, null and empty containers reveal nothing and
/// stay.
pub(super) fn hide(value: &mut Value) -> bool {
    let is_empty = match &*value {
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Null => true,
        Value::Number(_) | Value::String(_) => false,
    };
    !is_empty && replace(value)
}

/// Replaces a value of any type. Returns whether it was not replaced already.
pub(super) fn replace(value: &mut Value) -> bool {
    if value == REPLACEMENT {
        return false;
    }
    let mut parts = vec![std::mem::replace(value, Value::from(REPLACEMENT))];
    // Dropped level by level, because dropping a very deep value would recurse.
    while let Some(part) = parts.pop() {
        match part {
            Value::Array(items) => parts.extend(items),
            Value::Object(members) => parts.extend(members.into_iter().map(|(_, member)| member)),
            _ => {}
        }
    }
    true
}

/// The depth of a value, and what its surroundings are about.
#[derive(Clone, Copy)]
pub(super) struct Scope {
    depth: usize,
    among_errors: bool,
    /// A surrounding object names a secret that the value may be.
    labelled: bool,
}

impl Scope {
    pub(super) const fn root() -> Self {
        Self {
            depth: 1,
            among_errors: false,
            labelled: false,
        }
    }

    const fn inner(self) -> Self {
        Self {
            depth: self.depth + 1,
            ..self
        }
    }

    fn under(self, name: &str) -> Self {
        const ERRORS: &str = "error errors violations field_errors fieldErrors validation_errors \
            erreurs fehler errores errori erros fouten fel fejl feil virheet błędy chyby hatalar ошибки";
        Self {
            depth: self.depth + 1,
            among_errors: self.among_errors || listed!(ERRORS, name),
            labelled: false,
        }
    }

    const fn labelled(self, labelled: bool) -> Self {
        Self { labelled, ..self }
    }
}

struct Walk<'a> {
    literals: &'a Literals,
    /// Literals that are removed from names, which contain no learned values.
    in_names: Literals,
    nesting: usize,
}

impl<'a> Walk<'a> {
    fn new(literals: &'a Literals, nesting: usize) -> Self {
        Self {
            literals,
            in_names: literals.configured_only(),
            nesting,
        }
    }

    fn value(&self, value: &mut Value, scope: Scope) -> bool {
        match value {
            Value::String(text) => self.string(text),
            Value::Number(number) if self.is_secret_number(number) => replace(value),
            Value::Array(_) | Value::Object(_) if scope.depth > DEPTH_LIMIT => replace(value),
            Value::Array(items) => self.array(items, scope),
            Value::Object(members) => self.object(members, scope),
            Value::Number(_) | Value::Bool(_) | Value::Null => false,
        }
    }

    fn string(&self, text: &mut String) -> bool {
        let redacted = redact_text(self.literals, text, self.nesting);
        let changed = matches!(&redacted, Cow::Owned(_)) || redacted != *text;
        if changed {
            *text = redacted.into_owned();
        }
        changed
    }

    fn is_secret_number(&self, number: &Number) -> bool {
        if !may_be_card(number) && self.literals.is_empty() {
            return false;
        }
        let digits = number.to_string();
        cards::is_card_number(&digits)
            || redact_text(self.literals, &digits, self.nesting) != digits
    }

    fn array(&self, items: &mut [Value], scope: Scope) -> bool {
        if labels::is_pair(items) {
            return hide(&mut items[1]);
        }
        if hide_flags(items) {
            return true;
        }
        if labels::is_flat_map(items) {
            let mut changed = false;
            for pair in items.chunks_mut(2) {
                let is_secret = pair[0].as_str().is_some_and(labels::is_secret_label);
                changed |= is_secret && hide(&mut pair[1])
                    || !is_secret && self.value(&mut pair[1], scope.inner());
            }
            return changed;
        }
        let (mut announced, mut changed) = (false, false);
        for item in items {
            let is_header = item.as_str().is_some_and(announces_secret);
            changed |= if announced && !is_header && !item.as_str().is_some_and(is_header_name) {
                hide(item)
            } else {
                self.value(item, scope.inner())
            };
            announced = is_header;
        }
        changed
    }

    /// Hides the secret part of a value under a sensitive name. In a record, that is every member
    /// that is named like a value or looks like a secret; the other members describe it.
    fn hide_sensitive(&self, value: &mut Value, scope: Scope) -> bool {
        let inner = scope.inner();
        match value {
            Value::Array(items) if items.iter().all(Value::is_object) && is_near(inner) => {
                any(items.iter_mut().map(|it| self.hide_sensitive(it, inner)))
            }
            Value::Object(members) if is_claim(members) => false,
            Value::Object(members) if is_record(members) && is_near(inner) => {
                let hide =
                    |(name, member): (&String, _)| self.hide_record_member(name, member, inner);
                any(members.iter_mut().map(hide))
            }
            _ => hide(value),
        }
    }

    fn hide_record_member(&self, name: &str, member: &mut Value, scope: Scope) -> bool {
        match member {
            _ if is_sensitive_name(name) => self.hide_sensitive(member, scope),
            _ if labels::is_secret_of_record(name, member) => hide(member),
            Value::Array(_) if is_descriptive(name) => self.value(member, scope),
            Value::Object(_) | Value::Array(_) => self.hide_sensitive(member, scope),
            _ => self.value(member, scope),
        }
    }

    fn object(&self, members: &mut Map<String, Value>, scope: Scope) -> bool {
        // The labels are compared only if a member may name a secret.
        let may_name = members.values().any(may_name_secret);
        let is_label = may_name && labels::labels_secret(members);
        let labelled = scope.labelled || is_label;
        let surroundings = Surroundings::of(members);
        let columns = may_name.then(|| labels::secret_columns(members)).flatten();
        let is_login_call = may_name && labels::is_login_call(members);
        let (mut renamed, mut changed) = (Vec::new(), false);
        if let Some((width, indexes)) = columns {
            members
                .values_mut()
                .for_each(|rows| changed |= hide_columns(rows, width, &indexes));
        }
        for (name, member) in members.iter_mut() {
            let found = hits(name.as_bytes());
            let mut sensitive = is_name_hit(found) && surroundings.has_secret(name, member);
            if found != 0 || !self.in_names.is_empty() || name.contains('\\') {
                let redacted = redact_prefiltered(&self.in_names, name, found, self.nesting);
                if redacted != *name {
                    sensitive |= is_sensitive_name(&redacted);
                    renamed.push((name.clone(), redacted.into_owned()));
                }
            }
            sensitive |= labelled && labels::holds_value(name, member)
                || name == "auth" && member.as_str().is_some_and(is_basic_pair);
            let describes = sensitive && describes_secret(member, scope);
            if !sensitive && is_product_number(name, member) {
                continue;
            }
            changed |= if sensitive && !describes {
                self.hide_sensitive(member, scope)
            } else {
                let inner = scope
                    .under(name)
                    .labelled(is_label && labels::is_container(name));
                let mut member_changed = self.value(member, inner);
                // A sentence that contains a secret is hidden whole.
                if describes && member_changed && !member.is_object() {
                    hide(member);
                }
                if labelled || describes {
                    member_changed |= hide_quoted(member);
                }
                if is_login_call && labels::holds_arguments(name) {
                    member_changed |= hide_arguments(member);
                }
                member_changed
            };
        }
        changed |= !renamed.is_empty();
        rename(members, renamed);
        changed
    }
}

/// Whether an object is a record: at least half of its members are descriptive, or too short to be
/// secret.
fn is_record(members: &Map<String, Value>) -> bool {
    let is_small = |it: &Value| it.as_f64().is_some_and(|it| it.abs() < 1e3);
    let describes = |(name, member): &(&String, &Value)| {
        is_descriptive(name)
            || matches!(member, Value::Object(_) | Value::Bool(_) | Value::Null)
            || is_small(member)
            || member.as_str().is_some_and(is_harmless)
    };
    members.iter().filter(describes).count() * 2 >= members.len()
}

/// What the other members of an object show about one of them.
struct Surroundings {
    /// A user or a host is named, so that `pass` is a password.
    logs_in: bool,
    /// A vault is named, so that `secret` is the name of a secret.
    in_vault: bool,
    is_only_member: bool,
}

impl Surroundings {
    fn of(members: &Map<String, Value>) -> Self {
        Self {
            logs_in: members.contains_key("pass") && names_login(members),
            in_vault: members.contains_key("vault") || members.contains_key("Vault"),
            is_only_member: members.len() == 1,
        }
    }

    /// Whether a member with a sensitive name contains a secret, and not the name of one.
    fn has_secret(&self, name: &str, member: &Value) -> bool {
        is_secret_member(name, member, self.logs_in)
            && !(name.eq_ignore_ascii_case("secret") && self.is_reference(member))
    }

    /// Whether a `secret` member is the name of a secret: in a vault, or next to other members.
    fn is_reference(&self, member: &Value) -> bool {
        let is_name = |it| looks_like_secret_name(it, "");
        self.in_vault || !self.is_only_member && member.as_str().is_some_and(is_name)
    }
}

/// Whether an object requests a claim of OpenID Connect, which is returned unchanged.
fn is_claim(members: &Map<String, Value>) -> bool {
    members.contains_key("essential")
}

const fn is_near(scope: Scope) -> bool {
    scope.depth < DEPTH_LIMIT
}

fn may_be_card(number: &Number) -> bool {
    const SMALLEST_CARD: u64 = 1_000_000_000_000;
    number.as_u64().is_some_and(|whole| whole >= SMALLEST_CARD)
}

/// Renames members to their redacted names, numbered if two would be the same.
fn rename(members: &mut Map<String, Value>, renamed: Vec<(String, String)>) {
    // One counter for all names keeps an object full of secret names linear.
    let mut number = 1usize;
    for (old, new) in renamed {
        let Some(member) = members.remove(&old) else {
            continue;
        };
        let mut unique = new.clone();
        while members.contains_key(&unique) {
            number += 1;
            unique = format!("{new} {number}");
        }
        members.insert(unique, member);
    }
}

/// Whether a text is a header name, as in a list of allowed headers.
fn is_header_name(text: &str) -> bool {
    text.contains('-')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'-')
}

/// Whether the next item of an array belongs to this one: a header name or a flag.
fn announces_secret(text: &str) -> bool {
    const HEADERS: &str =
        "authorization proxy-authorization cookie set-cookie x-api-key x-auth-token";
    listed!(HEADERS, text)
        || text.starts_with("--") && !text.contains(['=', ' ']) && is_sensitive_name(text)
}

/// Whether a member contains a secret by its name. A name with everyday meanings also needs a
/// plausible value.
fn is_secret_member(name: &str, member: &Value, logs_in: bool) -> bool {
    const SHORTEST: usize = 4;
    let can_be = match member {
        Value::String(text) => {
            let is_symbol =
                text.len() <= SHORTEST && text.bytes().all(|byte| byte.is_ascii_uppercase());
            // A PIN contains no blanks.
            let is_pin = name.to_ascii_lowercase().ends_with("pin");
            text.chars().count() >= SHORTEST && !is_symbol && !(is_pin && text.contains(' '))
        }
        Value::Number(number) => number.to_string().len() >= SHORTEST,
        _ => true,
    };
    let is_opaque = || {
        member
            .as_str()
            .is_some_and(|it| shape_of(it) == Shape::Opaque)
    };
    match strength(name) {
        Some(Strength::Firm) => can_be || !member.is_number() || contains_word(name, "cv"),
        Some(Strength::Loose) if name == "pass" => can_be && logs_in,
        Some(Strength::Loose) => {
            can_be && !is_list_of_words(member) && !is_word_for_token(name, member)
        }
        None => !name.is_ascii() && is_opaque() && lexicon::mentions(name).next().is_some(),
    }
}

/// Whether the value of a token or cookie is a plain word, which programs never generate.
fn is_word_for_token(name: &str, value: &Value) -> bool {
    let is_word = |it: &str| it.bytes().all(|byte| byte.is_ascii_alphabetic()) && is_worded(it);
    (contains_word(name, "token") || contains_word(name, "cookie"))
        && value.as_str().is_some_and(is_word)
}

/// Whether a value is a list of plain words.
fn is_list_of_words(value: &Value) -> bool {
    let is_word = |it: &Value| {
        it.as_str().is_some_and(|it| {
            matches!(shape_of(it), Shape::Word | Shape::KnownFormat) && !it.contains(' ')
        })
    };
    value
        .as_array()
        .is_some_and(|items| items.iter().all(is_word))
}

/// Whether a member is a product or device number, which has the same check digit as a card number.
fn is_product_number(name: &str, member: &Value) -> bool {
    const NAMES: &str = "gtin gtin13 gtin14 ean ean13 upc isbn isbn13 barcode imei iccid sscc gln";
    let is_number = match member {
        Value::String(text) => text.bytes().all(|byte| byte.is_ascii_digit()),
        Value::Number(_) => true,
        _ => false,
    };
    is_number && listed!(NAMES, name)
}

/// A longer text is assumed to name a secret, without a search.
const LONG_TEXT: usize = 512;

/// Whether a member may name a secret, itself or one level deeper.
fn may_name_secret(member: &Value) -> bool {
    let may = |text: &str| text.len() > LONG_TEXT || hits(text.as_bytes()) != 0;
    let may_inside = |it: &Value| it.as_str().is_some_and(may);
    match member {
        Value::String(text) => may(text),
        Value::Array(items) => items.iter().any(|it| match it {
            Value::Object(members) => members.values().any(may_inside),
            other => may_inside(other),
        }),
        Value::Object(members) => members.values().any(|it| match it {
            Value::Array(items) => items.iter().any(may_inside),
            other => may_inside(other),
        }),
        _ => false,
    }
}

/// Whether an object names a user or a host.
fn names_login(members: &Map<String, Value>) -> bool {
    const LOGIN: &str =
        "account database db email host login name server url user username usr uid";
    members.len() == 1 || members.keys().any(|name| listed!(LOGIN, name))
}

/// Hides the secret columns of rows of this width.
fn hide_columns(rows: &mut Value, width: usize, indexes: &[usize]) -> bool {
    let Value::Array(items) = rows else {
        return false;
    };
    if items.iter().any(Value::is_object) {
        return false;
    }
    if items.iter().any(Value::is_array) {
        return any(items
            .iter_mut()
            .map(|row| hide_columns(row, width, indexes)));
    }
    if items.len() != width
        || indexes
            .iter()
            .all(|at| items[*at].as_str().is_some_and(labels::is_secret_label))
    {
        return false;
    }
    any(indexes.iter().map(|at| {
        let is_harmless = items[*at].as_str().is_some_and(is_harmless);
        !is_harmless && hide(&mut items[*at])
    }))
}

/// Removes the values that a text, or a list of texts, quotes next to the name of a secret.
fn hide_quoted(value: &mut Value) -> bool {
    match value {
        Value::Array(items) => {
            let texts = items.iter_mut().filter(|it| it.is_string());
            any(texts.map(hide_quoted))
        }
        Value::String(text) => {
            let mut spans = Spans::default();
            mentions::find_beside_name(text, &mut spans);
            let cut = spans.cut(text);
            let changed = cut.is_some();
            if let Some(cut) = cut {
                *text = cut;
            }
            changed
        }
        _ => false,
    }
}

/// Whether a list is a command with its flags.
fn is_command(items: &[Value]) -> bool {
    let is_flag = |it: &Value| {
        it.as_str()
            .is_some_and(|it| it.starts_with('-') && it.len() == 2)
    };
    items.len() > 2 && items.iter().all(Value::is_string) && items.iter().any(is_flag)
}

/// Hides the credentials of a command that is written as a list.
fn hide_flags(items: &mut [Value]) -> bool {
    if !is_command(items) {
        return false;
    }
    let words = items.iter().filter_map(Value::as_str);
    let command = words.collect::<Vec<_>>().join(" ");
    let mut spans = Spans::default();
    commands::find(&command, &mut spans);
    let Some(cut) = spans.cut(&command) else {
        return false;
    };
    let is_gone = |it: &Value| {
        it.as_str()
            .is_some_and(|it| it.len() > 2 && !cut.contains(it))
    };
    any(items.iter_mut().filter(|it| is_gone(it)).map(hide))
}

/// Removes the arguments of a call that look like credentials.
fn hide_arguments(value: &mut Value) -> bool {
    match value {
        Value::Array(items) => any(items.iter_mut().map(hide_arguments)),
        Value::Object(members) => any(members.values_mut().map(hide_arguments)),
        argument if labels::is_secret_argument(argument) => hide(argument),
        _ => false,
    }
}
