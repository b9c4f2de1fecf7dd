//! Redaction: removes secrets from values, texts, URLs and JSON inside strings, by name, by
//! schema marker and by how a value looks. When to redact, and what is logged, is not decided here.

mod base64_text;
mod cards;
mod commands;
mod credentials;
mod encodings;
mod generic_rules;
mod glyphs;
mod harmless;
mod labels;
mod layouts;
mod lexicon;
mod literals;
mod markers;
mod mentions;
mod names;
mod opaque;
mod pairs;
mod passwords;
mod prefilter;
mod prose;
mod provider_rules;
mod rules;
mod secret;
mod sentences;
mod shape;
mod spans;
mod sql;
mod text;
mod tree;
mod urls;
mod values;
mod word_lists;

use std::borrow::Cow;

use serde_json::{Map, Value};

use literals::Literals;
pub use markers::Markers;
pub use names::is_sensitive_name;
pub use opaque::Opaque;
pub use prefilter::scan;
pub use secret::Secret;
pub use text::TEXT_BYTES_LIMIT;
pub use text::whole_words;
pub use tree::{is_clean, is_clean_object, is_clean_text};

/// What stands where a secret was.
pub const REPLACEMENT: &str = "[REDACTED]";

/// Containers nested deeper than this are replaced whole. Leaves room for every envelope a failure is
/// written in, so that whatever was redacted can be read back.
pub const DEPTH_LIMIT: usize = 112;

/// No more values than this are learned from one failure; the rest go only where they are found.
pub const LEARNED_LIMIT: usize = 1000;

/// All values learned from one failure are no longer than this together. A text that is long enough
/// to hold one that found no room is replaced whole.
pub const LEARNED_BYTES_LIMIT: usize = 256 * 1024;

/// Removes secrets from values and texts; redacting twice changes nothing more.
///
/// Names, schema markers and value shapes are known from the start; literals are learned. Its
/// debug form tells how many literals it knows and never what they are.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    literals: Literals,
}

impl Redactor {
    /// Creates a redactor that knows every rule and no literal.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a secret to be removed wherever it appears; shorter than four characters it is not
    /// learned, because it would blank innocent text.
    pub fn learn_literal(&mut self, secret: &str) {
        self.literals.add_configured(secret);
    }

    /// Learns every string and number that sits under a sensitive name or in a marked place, so
    /// that prose loses the same values, as long as they are unlike an everyday word.
    pub fn learn(&mut self, object: &Map<String, Value>, markers: Option<&Markers>) {
        if markers.is_some_and(|markers| !markers.is_empty()) {
            // Markers may mark the whole object, and know it only as a value.
            self.learn_value(&Value::Object(object.clone()), markers);
            return;
        }
        let mut found = Vec::new();
        tree::collect_member_secrets(object, &mut found);
        self.learn_all(&found);
    }

    /// Learns the same from a value of any type, without a copy of it.
    pub fn learn_value(&mut self, value: &Value, markers: Option<&Markers>) {
        let mut found = Vec::new();
        if let Some(markers) = markers {
            // First, since what a schema says is sure and names are a guess.
            markers.visit(value, &mut |marked| {
                tree::collect_leaves(marked, 1, &mut found)
            });
        }
        tree::collect_secrets(value, &mut found);
        self.learn_all(&found);
    }

    /// Learns a value that sits under a name, if the name is sensitive.
    pub fn learn_named(&mut self, name: &str, value: &Value) {
        if is_sensitive_name(name) {
            let mut found = Vec::new();
            tree::collect_leaves(value, 1, &mut found);
            self.learn_all(&found);
        }
    }

    /// Learns from the JSON that a text is or holds, as from an object.
    pub fn learn_text(&mut self, text: &str) {
        let mut found = Vec::new();
        tree::collect_text_secrets(text, &mut found);
        self.learn_all(&found);
    }

    /// Whether it knows no secret by its value.
    pub fn knows_none(&self) -> bool {
        self.literals.is_empty()
    }

    fn learn_all(&mut self, found: &[String]) {
        found.iter().for_each(|secret| self.literals.learn(secret));
    }

    /// The same redactor without what it learned, for texts that name things and quote no value.
    pub fn without_learned(&self) -> Self {
        Self {
            literals: self.literals.configured_only(),
        }
    }

    /// Returns the text without its secrets, borrowed when it held none.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        text::redact(&self.literals, text, 0)
    }

    /// Removes the secrets of a value in place, at any depth; tells whether there were any.
    pub fn value(&self, value: &mut Value) -> bool {
        tree::redact(&self.literals, value, 0)
    }

    /// Removes the secrets of an object in place, at any depth, and what its schema marks; tells
    /// whether there were any.
    pub fn object(&self, object: &mut Map<String, Value>, markers: Option<&Markers>) -> bool {
        let Some(markers) = markers.filter(|markers| !markers.is_empty()) else {
            return tree::redact_object(&self.literals, object);
        };
        let mut value = Value::Object(std::mem::take(object));
        let changed = self.marked(markers, &mut value);
        *object = match value {
            Value::Object(redacted) => redacted,
            // The schema marks the whole object.
            other => Map::from_iter([("value".to_owned(), other)]),
        };
        changed
    }

    /// Removes what the schema marks, whatever its type, and every other secret of the value;
    /// tells whether there was anything.
    pub fn marked(&self, markers: &Markers, value: &mut Value) -> bool {
        let mut changed = false;
        markers.visit(&mut *value, &mut |marked: &mut Value| {
            changed |= !marked.is_null() && tree::replace(marked);
        });
        self.value(value) || changed
    }

    /// Removes the secrets of a value that sits under a name: all of it if the name is sensitive.
    pub fn named(&self, name: &str, value: &mut Value) {
        if is_sensitive_name(name) {
            tree::hide(value);
        } else {
            self.value(value);
        }
    }
}
