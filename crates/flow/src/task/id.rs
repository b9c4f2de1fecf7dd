//! Task ids: UUIDs of version 4, written with hyphens.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use uuid::{Builder, Uuid, Variant, Version};

/// The id of a task: always a UUID of version 4.
///
/// ```
/// use panpan_flow::TaskId;
///
/// let id: TaskId = "550e8400-e29b-41d4-a716-446655440000".parse().unwrap();
/// assert_eq!(id.to_string(), "550e8400-e29b-41d4-a716-446655440000");
/// assert!("task1".parse::<TaskId>().is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Uuid", into = "Uuid")]
pub struct TaskId(Uuid);

/// A value that is not a UUID of version 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a UUID v4")]
pub struct InvalidTaskId;

/// Characters of a UUID with hyphens.
const LENGTH: usize = 36;

impl TaskId {
    /// The id made of random bytes, such as a UUID from the id port. The bits for version and variant are
    /// overwritten, so that every source of random bytes gives a valid id.
    pub fn from_random(random: Uuid) -> Self {
        Self(Builder::from_random_bytes(random.into_bytes()).into_uuid())
    }

    /// The id as a UUID.
    pub const fn uuid(self) -> Uuid {
        self.0
    }
}

impl TryFrom<Uuid> for TaskId {
    type Error = InvalidTaskId;

    fn try_from(id: Uuid) -> Result<Self, InvalidTaskId> {
        let is_v4 = id.get_version() == Some(Version::Random);
        let is_standard = id.get_variant() == Variant::RFC4122;
        (is_v4 && is_standard)
            .then_some(Self(id))
            .ok_or(InvalidTaskId)
    }
}

impl From<TaskId> for Uuid {
    fn from(id: TaskId) -> Self {
        id.0
    }
}

impl FromStr for TaskId {
    type Err = InvalidTaskId;

    fn from_str(text: &str) -> Result<Self, InvalidTaskId> {
        // The library also reads braces, URNs and digits without hyphens; the protocol does not.
        if text.len() != LENGTH {
            return Err(InvalidTaskId);
        }
        let id = Uuid::try_parse(text).map_err(|_| InvalidTaskId)?;
        id.try_into()
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl fmt::Debug for TaskId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_hyphenated_uuid_v4_is_an_id() {
        let valid = "550e8400-e29b-41d4-a716-446655440000";
        assert_eq!(valid.parse::<TaskId>().unwrap().to_string(), valid);
        let upper = valid.to_uppercase();
        assert_eq!(upper.parse::<TaskId>().unwrap().to_string(), valid);
        for invalid in [
            "",
            "task1",
            "550e8400e29b41d4a716446655440000",
            "{550e8400-e29b-41d4-a716-446655440000}",
            "urn:uuid:550e8400-e29b-41d4-a716-446655440000",
            "550e8400-e29b-11d4-a716-446655440000",
            "550e8400-e29b-71d4-a716-446655440000",
            "550e8400-e29b-41d4-c716-446655440000",
            "00000000-0000-0000-0000-000000000000",
            "550e8400-e29b-41d4-a716-44665544000g",
        ] {
            assert_eq!(invalid.parse::<TaskId>(), Err(InvalidTaskId), "{invalid}");
        }
    }

    #[test]
    fn any_random_bytes_become_a_valid_id() {
        for random in [Uuid::nil(), Uuid::max(), Uuid::from_u128(7)] {
            let id = TaskId::from_random(random);
            assert_eq!(TaskId::try_from(id.uuid()), Ok(id));
        }
    }
}
