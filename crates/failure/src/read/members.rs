//! The members of an object, read by name and type.

use std::num::NonZeroU32;

use serde_json::{Map, Value};

use super::{ReadError, unexpected};
use crate::pointer::joined;

/// The members of an object that are not read yet, with the pointer of the object.
#[derive(Debug)]
pub(crate) struct Members {
    map: Map<String, Value>,
    pointer: String,
}

impl Members {
    /// The members of the object at `pointer`, or an error with that pointer.
    pub(crate) fn of(value: Value, pointer: impl Into<String>) -> Result<Self, ReadError> {
        let pointer = pointer.into();
        match value {
            Value::Object(map) => Ok(Self { map, pointer }),
            other => Err(unexpected(pointer, "an object", &other)),
        }
    }

    pub(crate) fn peek(&self, name: &str) -> Option<&Value> {
        self.map.get(name)
    }

    /// Takes a member; null counts as absent.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.map.remove(name).filter(|value| !value.is_null())
    }

    /// Takes a member that may be null.
    pub(crate) fn take_nullable(&mut self, name: &str) -> Option<Value> {
        self.map.remove(name)
    }

    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, ReadError> {
        self.read(name, |member| member.text())
    }

    /// Takes a member that has to be present, and reads it.
    pub(crate) fn required<T>(
        &mut self,
        name: &str,
        expected: &str,
        read: impl FnOnce(Member<'_>) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        self.read(name, read)?
            .ok_or_else(|| self.missing(name, expected))
    }

    /// Takes a member if `read` accepts its value; otherwise the member stays.
    pub(crate) fn lenient_as<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<T> {
        let found = self.map.get(name).and_then(read);
        if found.is_some() {
            self.map.remove(name);
        }
        found
    }

    pub(crate) fn lenient_text(&mut self, name: &str) -> Option<String> {
        match self.take_if(name, Value::is_string) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    fn take_if(&mut self, name: &str, is: fn(&Value) -> bool) -> Option<Value> {
        self.map
            .get(name)
            .is_some_and(is)
            .then(|| self.map.remove(name))?
    }

    pub(crate) fn lenient_flag(&mut self, name: &str) -> Option<bool> {
        self.lenient_as(name, Value::as_bool)
    }

    pub(crate) fn lenient_unsigned<T: TryFrom<u64>>(&mut self, name: &str) -> Option<T> {
        self.lenient_as(name, |value| T::try_from(value.as_u64()?).ok())
    }

    pub(crate) fn lenient_map(&mut self, name: &str) -> Option<Map<String, Value>> {
        match self.take_if(name, Value::is_object) {
            Some(Value::Object(map)) => Some(map),
            _ => None,
        }
    }

    pub(crate) fn lenient_members(&mut self, name: &str) -> Option<Members> {
        let map = self.lenient_map(name)?;
        Some(Members {
            map,
            pointer: self.pointer_to(name),
        })
    }

    /// Takes a list if `read` accepts every item.
    pub(crate) fn lenient_list<T>(
        &mut self,
        name: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Option<Vec<T>> {
        self.lenient_as(name, |value| value.as_array()?.iter().map(read).collect())
    }

    /// Reads all members; null counts as absent.
    pub(crate) fn each(
        self,
        mut read: impl FnMut(Member<'_>) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let Self { map, pointer } = self;
        let mut present = map.into_iter().filter(|(_, value)| !value.is_null());
        present.try_for_each(|(name, value)| {
            read(Member {
                value,
                parent: &pointer,
                name: &name,
            })
        })
    }

    /// The members that were not taken.
    pub(crate) fn rest(self) -> Map<String, Value> {
        self.map
    }

    /// JSON pointer of a member.
    pub(crate) fn pointer_to(&self, name: &str) -> String {
        joined(&self.pointer, name)
    }

    /// The error for a required member that is missing.
    pub(crate) fn missing(&self, name: &str, expected: &str) -> ReadError {
        ReadError::Shape {
            pointer: self.pointer_to(name),
            expected: expected.to_owned(),
            found: "nothing".to_owned(),
        }
    }

    /// Takes a member and reads it.
    pub(crate) fn read<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(Member<'_>) -> Result<T, ReadError>,
    ) -> Result<Option<T>, ReadError> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        read(Member {
            value,
            parent: &self.pointer,
            name,
        })
        .map(Some)
    }
}

/// One member of an object. Its pointer is only built when it is needed.
#[derive(Debug)]
pub(crate) struct Member<'a> {
    value: Value,
    parent: &'a str,
    pub(crate) name: &'a str,
}

impl Member<'_> {
    pub(crate) fn text(self) -> Result<String, ReadError> {
        self.typed("a string", |value| match value {
            Value::String(text) => Ok(text),
            other => Err(other),
        })
    }

    pub(crate) fn flag(self) -> Result<bool, ReadError> {
        self.typed("true or false", |value| value.as_bool().ok_or(value))
    }

    pub(crate) fn unsigned<T: TryFrom<u64>>(self) -> Result<T, ReadError> {
        let fits = |value: &Value| value.as_u64().and_then(|number| T::try_from(number).ok());
        self.typed("a whole number of 0 or more, within range", |value| {
            fits(&value).ok_or(value)
        })
    }

    /// A count of at least 1.
    pub(crate) fn count(self) -> Result<NonZeroU32, ReadError> {
        let fits = |value: &Value| NonZeroU32::new(u32::try_from(value.as_u64()?).ok()?);
        self.typed("a whole number of 1 or more, within range", |value| {
            fits(&value).ok_or(value)
        })
    }

    pub(crate) fn integer(self) -> Result<i64, ReadError> {
        self.typed("a whole number", |value| value.as_i64().ok_or(value))
    }

    pub(crate) fn map(self) -> Result<Map<String, Value>, ReadError> {
        self.typed("an object", |value| match value {
            Value::Object(map) => Ok(map),
            other => Err(other),
        })
    }

    pub(crate) fn members(self) -> Result<Members, ReadError> {
        let pointer = self.pointer();
        Ok(Members {
            map: self.map()?,
            pointer,
        })
    }

    pub(crate) fn list<T>(
        self,
        read: impl Fn(Value, String) -> Result<T, ReadError>,
    ) -> Result<Vec<T>, ReadError> {
        let pointer = self.pointer();
        let items = self.typed("a list", |value| match value {
            Value::Array(items) => Ok(items),
            other => Err(other),
        })?;
        let read_at =
            |(index, item): (usize, Value)| read(item, joined(&pointer, &index.to_string()));
        items.into_iter().enumerate().map(read_at).collect()
    }

    pub(crate) fn word<T>(
        self,
        expected: &str,
        from_word: impl Fn(&str) -> Option<T>,
    ) -> Result<T, ReadError> {
        self.typed(expected, |value| {
            value.as_str().and_then(from_word).ok_or(value)
        })
    }

    /// Sets a field to a word of a vocabulary; an unknown word, which a later version may have added, is ignored.
    pub(crate) fn known_word<T>(
        self,
        field: &mut Option<T>,
        from_word: impl Fn(&str) -> Option<T>,
    ) -> Result<(), ReadError> {
        *field = from_word(&self.text()?).or(field.take());
        Ok(())
    }

    fn pointer(&self) -> String {
        joined(self.parent, self.name)
    }

    fn typed<T>(
        self,
        expected: &str,
        read: impl FnOnce(Value) -> Result<T, Value>,
    ) -> Result<T, ReadError> {
        let Self {
            value,
            parent,
            name,
        } = self;
        read(value).map_err(|other| unexpected(joined(parent, name), expected, &other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_error_shows_the_pointer_but_not_the_value() {
        let value = serde_json::json!({"a/b": "hunter2"});
        let mut members = Members::of(value, "/error").unwrap();
        let error = members.read("a/b", |it| it.flag()).unwrap_err();
        assert_eq!(error.pointer(), "/error/a~1b");
        assert_eq!(
            error.to_string(),
            "at /error/a~1b: expected true or false, found a string"
        );
    }
}
