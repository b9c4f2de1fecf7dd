//! What a call gave: a value, or the text of one that nobody has looked into yet.

use std::fmt;
use std::sync::Arc;

use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json;

/// The output of a call.
///
/// An outcome out of the store stays the text it was kept as until somebody asks for the value. Its
/// debug form tells how long it is and never what it says.
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
    /// Fails only when a store gives back something else than was put into it, or what is nested deeper
    /// than [`json::DEPTH_LIMIT`].
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
    fn a_debug_form_tells_the_length_only() {
        for output in [
            Output::from(json!("hunter22")),
            Output::from_text("\"hunter22\"".into()),
        ] {
            assert_eq!(format!("{output:?}"), "Output(10 bytes)");
        }
    }
}
