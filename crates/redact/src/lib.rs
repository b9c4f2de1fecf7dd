//! Redaction: removes secrets from JSON values, texts, URLs and JSON inside strings. Secrets are
//! found by the name of a field, by schema marker and by the shape of a value. The callers decide
//! when to redact and what to log.

mod base64_text;
mod cards;
mod commands;
mod credentials;
mod disguises;
mod encodings;
mod folded;
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
pub mod schema;
mod secret;
mod sentences;
mod sets;
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

/// The text that replaces a secret.
pub const REPLACEMENT: &str = "[REDACTED]";

/// Arrays and objects nested deeper than this are replaced whole. The limit leaves room for the
/// envelope of every dialect, so that a redacted failure can be read back.
pub const DEPTH_LIMIT: usize = 112;

/// The most values that are learned from one failure. Further values are removed only where they
/// are found.
pub const LEARNED_LIMIT: usize = 1000;

/// The most bytes of values that are learned from one failure. If a value did not fit, every text
/// long enough to contain it is replaced whole.
pub const LEARNED_BYTES_LIMIT: usize = 256 * 1024;

/// Removes secrets from values and texts. Redaction is idempotent.
///
/// Names, schema markers and value shapes are built in; literals are learned. The debug form shows
/// how many literals are known and never their values.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    literals: Literals,
}

impl Redactor {
    /// Creates a redactor with every rule and no literals.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a secret that is removed wherever it appears. A secret of fewer than four characters is
    /// ignored, because it would blank innocent text.
    pub fn learn_literal(&mut self, secret: &str) {
        self.literals.add_configured(secret);
    }

    /// Learns every string and number under a sensitive name or a schema marker, so that the same
    /// values are removed from prose. Values that could be everyday words are skipped.
    pub fn learn(&mut self, object: &Map<String, Value>, markers: Option<&Markers>) {
        if markers.is_some_and(|markers| !markers.is_empty()) {
            // A marker on the whole object applies only to a `Value`.
            self.learn_value(&Value::Object(object.clone()), markers);
            return;
        }
        let mut found = Vec::new();
        tree::collect_member_secrets(object, &mut found);
        self.learn_all(&found);
    }

    /// Learns the same from a value of any type, without copying it.
    pub fn learn_value(&mut self, value: &Value, markers: Option<&Markers>) {
        let mut found = Vec::new();
        if let Some(markers) = markers {
            // Markers go first: a schema is certain and a name is a guess.
            markers.visit(value, &mut |marked| {
                tree::collect_leaves(marked, 1, &mut found);
            });
        }
        tree::collect_secrets(value, &mut found);
        self.learn_all(&found);
    }

    /// Learns a value under a name, if the name is sensitive.
    pub fn learn_named(&mut self, name: &str, value: &Value) {
        if is_sensitive_name(name) {
            let mut found = Vec::new();
            tree::collect_leaves(value, 1, &mut found);
            self.learn_all(&found);
        }
    }

    /// Learns from a text that is JSON or contains a JSON object.
    pub fn learn_text(&mut self, text: &str) {
        let mut found = Vec::new();
        tree::collect_text_secrets(text, &mut found);
        self.learn_all(&found);
    }

    /// Whether the redactor has no literals.
    pub fn knows_none(&self) -> bool {
        self.literals.is_empty()
    }

    fn learn_all(&mut self, found: &[String]) {
        found.iter().for_each(|secret| self.literals.learn(secret));
    }

    /// The same redactor without learned values, for texts that contain names and no values.
    pub fn without_learned(&self) -> Self {
        Self {
            literals: self.literals.configured_only(),
        }
    }

    /// Returns the text without its secrets, borrowed if it had none.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        text::redact(&self.literals, text, 0)
    }

    /// Removes the secrets of a value in place, at any depth. Returns whether there were any.
    pub fn value(&self, value: &mut Value) -> bool {
        tree::redact(&self.literals, value, 0)
    }

    /// Removes the secrets of an object in place, at any depth, and the values that its schema
    /// marks. Returns whether there were any.
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

    /// Removes the values that the schema marks, of any type, and every other secret of the value.
    /// Returns whether there were any.
    pub fn marked(&self, markers: &Markers, value: &mut Value) -> bool {
        let mut changed = false;
        markers.visit(&mut *value, &mut |marked: &mut Value| {
            changed |= !marked.is_null() && tree::replace(marked);
        });
        self.value(value) || changed
    }

    /// Removes the secrets of a value under a name. If the name is sensitive, the whole value is
    /// replaced.
    pub fn named(&self, name: &str, value: &mut Value) {
        if is_sensitive_name(name) {
            tree::hide(value);
        } else {
            self.value(value);
        }
    }
}
