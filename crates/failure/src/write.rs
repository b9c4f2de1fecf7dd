//! Writing JSON objects whose members are optional.

use serde::Serialize;
use serde::ser::SerializeMap;

/// Adds optional members to a serializer of objects.
pub(crate) trait OptionalMembers: SerializeMap {
    /// Writes a member if it has a value.
    fn optional<T: Serialize>(
        &mut self,
        name: &'static str,
        value: Option<T>,
    ) -> Result<(), Self::Error> {
        match value {
            Some(value) => self.serialize_entry(name, &value),
            None => Ok(()),
        }
    }
}

impl<M: SerializeMap> OptionalMembers for M {}
