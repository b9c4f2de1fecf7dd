//! The output of a call: a value, or the JSON text of a stored one.

use std::fmt;
use std::sync::Arc;

use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json;

/// The output of a call.
///
/// A stored output stays text until its value is requested. Its debug form shows only its length.
#[derive(Clone)]
pub struct Output(Form);

#[derive(Clone)]
enum Form {
    Value(Arc<Value>),
    Text(Arc<str>),
}

impl Output {
    pub(crate) fn from_text(text: Arc<str>) -> Self {
        Self(Form::Text(text))
    }

    /// The output as JSON, the same bytes each time it is replayed.
    pub fn text(&self) -> Arc<str> {
        match &self.0 {
            Form::Value(value) => json::text(value),
            Form::Text(text) => text.clone(),
        }
    }

    /// The output as a value.
    ///
    /// Fails only if the stored text is damaged, or is nested deeper than [`json::DEPTH_LIMIT`].
    pub fn into_value(self) -> Result<Value, serde_json::Error> {
        match self.0 {
            Form::Value(value) => Ok(Arc::unwrap_or_clone(value)),
            Form::Text(text) => json::read(&text),
        }
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Output({} bytes)", self.text().len())
    }
}

impl From<Value> for Output {
    fn from(value: Value) -> Self {
        Arc::new(value).into()
    }
}

impl From<Arc<Value>> for Output {
    fn from(value: Arc<Value>) -> Self {
        Self(Form::Value(value))
    }
}

impl Serialize for Output {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Form::Value(value) => value.serialize(serializer),
            Form::Text(text) => {
                let kept: &RawValue = serde_json::from_str(text).map_err(S::Error::custom)?;
                kept.serialize(serializer)
            }
        }
    }
}

impl PartialEq for Output {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_debug_form_shows_only_the_length() {
        for output in [
            Output::from(json!("hunter22")),
            Output::from_text("\"hunter22\"".into()),
        ] {
            assert_eq!(format!("{output:?}"), "Output(10 bytes)");
        }
    }
}
