//! Serde support for the vocabularies of the catalogue; the catalogue itself has no dependencies.

use std::fmt;
use std::marker::PhantomData;

use panpan_catalogue::{Category, Effect, Remedies, Remedy};
use serde::de::{Deserializer, Error, Visitor};
use serde::ser::Serializer;

use crate::failure::ViolationKind;

/// A vocabulary whose values are written as words.
pub trait Word: Copy + 'static {
    /// Every value.
    const ALL: &'static [Self];
    /// The word of a value.
    fn word(self) -> &'static str;
}

macro_rules! vocabularies {
    ($($name:ty)+) => {
        $(impl Word for $name {
            const ALL: &'static [Self] = <$name>::ALL;
            fn word(self) -> &'static str {
                self.word()
            }
        })+
    };
}

vocabularies!(Category Effect Remedy ViolationKind);

struct WordVisitor<T>(PhantomData<T>);

impl<T: Word> Visitor<'_> for WordVisitor<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = T::ALL.iter().map(|value| value.word()).collect();
        write!(formatter, "one of {}", words.join(", "))
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<T, E> {
        let found = T::ALL.iter().copied().find(|value| value.word() == word);
        found.ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(word), &self))
    }
}

/// Writes the word, for `#[serde(with = "crate::word")]`.
pub fn serialize<T: Word, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(value.word())
}

/// Reads a word, for `#[serde(with = "crate::word")]`.
pub fn deserialize<'de, T: Word, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_str(WordVisitor(PhantomData))
}

/// Serde support for an optional word.
pub mod optional {
    use super::*;
    use serde::Deserialize;

    /// Writes the word, or null.
    pub fn serialize<T: Word, S: Serializer>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => serializer.serialize_str(value.word()),
            None => serializer.serialize_none(),
        }
    }

    /// Reads a word, or null.
    pub fn deserialize<'de, T: Word, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        Ok(Option::<Wrapped<T>>::deserialize(deserializer)?.map(|wrapped| wrapped.0))
    }
}

struct Wrapped<T>(T);

impl<'de, T: Word> serde::Deserialize<'de> for Wrapped<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_str(WordVisitor(PhantomData))
            .map(Wrapped)
    }
}

/// Serde support for an optional set of remedies.
pub mod optional_remedies {
    use super::*;
    use serde::Deserialize;

    /// Writes the words as a list, or null.
    pub fn serialize<S: Serializer>(
        value: &Option<Remedies>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(remedies) => serializer.collect_seq(remedies.iter().map(Remedy::word)),
            None => serializer.serialize_none(),
        }
    }

    /// Reads a list of words, or null.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Remedies>, D::Error> {
        let words = Option::<Vec<Wrapped<Remedy>>>::deserialize(deserializer)?;
        Ok(words.map(|words| words.into_iter().map(|wrapped| wrapped.0).collect()))
    }
}
