//! Any JSON value, with its first duplicate member. Duplicates are found while the value is built.

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Value};

use crate::pointer::joined;

/// Methods of a visitor that turn every scalar of JSON into a value.
#[macro_export]
macro_rules! visit_scalars {
    ($scalar:pat => $value:expr) => {
        fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("any JSON value")
        }

        fn visit_unit<E: serde::de::Error>(self) -> Result<Self::Value, E> {
            let $scalar = ();
            Ok($value)
        }

        $crate::visit_scalars! {
            $scalar => $value;
            visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str, visit_string: String
        }
    };
    ($scalar:pat => $value:expr; $visit:ident: $type:ty $(, $visits:ident: $types:ty)*) => {
        fn $visit<E: serde::de::Error>(self, $scalar: $type) -> Result<Self::Value, E> {
            Ok($value)
        }

        $crate::visit_scalars! { $scalar => $value; $($visits: $types),* }
    };
    ($scalar:pat => $value:expr;) => {};
}

/// The location of the first duplicate member.
#[derive(Debug, Default)]
pub struct DuplicateMember {
    /// The path to it, innermost step first.
    steps: Vec<String>,
}

impl DuplicateMember {
    /// The JSON pointer to it; `None` if there is no duplicate.
    pub fn pointer(&self) -> Option<String> {
        let append = |pointer: String, step: &String| joined(&pointer, step);
        (!self.steps.is_empty()).then(|| self.steps.iter().rev().fold(String::new(), append))
    }

    fn is_found(&self) -> bool {
        !self.steps.is_empty()
    }

    fn record(&mut self, name: &str) {
        if !self.is_found() {
            self.steps.push(name.to_owned());
        }
    }

    /// Prepends a step to the path if the duplicate was found in the child that was just read.
    fn prepend(&mut self, was_found: bool, step: impl FnOnce() -> String) {
        if self.is_found() && !was_found {
            self.steps.push(step());
        }
    }
}

/// Deserializes any value and records the first duplicate member.
#[derive(Debug)]
pub struct AnyValue<'t>(pub &'t mut DuplicateMember);

impl<'de> DeserializeSeed<'de> for AnyValue<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AnyValue<'_> {
    type Value = Value;

    visit_scalars!(it => it.into());

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            let was_found = self.0.is_found();
            let Some(item) = items.next_element_seed(AnyValue(self.0))? else {
                break;
            };
            self.0.prepend(was_found, || list.len().to_string());
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let was_found = self.0.is_found();
            let value = members.next_value_seed(AnyValue(self.0))?;
            self.0.prepend(was_found, || name.clone());
            match map.entry(name) {
                Entry::Vacant(entry) => drop(entry.insert(value)),
                Entry::Occupied(entry) => self.0.record(entry.key()),
            }
        }
        Ok(map.into())
    }
}
