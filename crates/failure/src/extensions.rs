//! Extension members of a contract file (`x-…`): kept and written back, never interpreted.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Members whose names start with `x-`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct Extensions(Map<String, Value>);

/// The error for a member that is neither known nor an extension.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a known member; extension members start with {EXTENSION_PREFIX}")]
pub struct UnknownMember(String);

/// The prefix of extension names.
pub const EXTENSION_PREFIX: &str = "x-";

impl Extensions {
    /// Adds a member; refuses a name without the prefix.
    pub fn insert(&mut self, name: &str, value: Value) -> Result<(), UnknownMember> {
        if !name.starts_with(EXTENSION_PREFIX) {
            return Err(UnknownMember(name.to_owned()));
        }
        self.0.insert(name.to_owned(), value);
        Ok(())
    }

    /// The value of a member.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// All members, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl TryFrom<Map<String, Value>> for Extensions {
    type Error = UnknownMember;

    fn try_from(members: Map<String, Value>) -> Result<Self, UnknownMember> {
        let is_unknown = |name: &&String| !name.starts_with(EXTENSION_PREFIX);
        match members.keys().find(is_unknown) {
            Some(name) => Err(UnknownMember(name.clone())),
            None => Ok(Self(members)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn insert_refuses_a_name_without_the_prefix() {
        let mut extensions = Extensions::default();
        assert!(extensions.insert("team", json!(1)).is_err());
        assert!(extensions.insert("x-team", json!(1)).is_ok());
        assert_eq!(extensions.get("x-team"), Some(&json!(1)));
    }
}
