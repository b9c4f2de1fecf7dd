//! Writing JSON objects whose members are optional.

use std::fmt::Display;

use serde::ser::{Serialize, SerializeMap, Serializer};

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

/// Declares a view that is written as an object: the value of each member, or none if it is left out.
macro_rules! written {
    ($visible:vis $name:ident($($viewed:ident: $type:ty),+) { $($member:expr => $value:expr,)+ }) => {
        $visible struct $name<'a>($($visible &'a $type),+);

        impl $name<'_> {
            /// The names of all members.
            #[allow(dead_code, reason = "only some objects are recognised by their members")]
            pub(crate) const MEMBERS: &'static [&'static str] = &[$($member),+];
        }

        impl serde::Serialize for $name<'_> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use $crate::write::OptionalMembers as _;
                use serde::ser::SerializeMap as _;
                let Self($($viewed),+) = self;
                let mut map = serializer.serialize_map(None)?;
                $(map.optional($member, $value)?;)+
                map.end()
            }
        }
    };
}
pub(crate) use written;

/// A value that is written by its `Display`.
pub(crate) struct Text<T>(pub(crate) T);

impl<T: Display> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// A sequence that is produced when it is written.
pub(crate) struct Sequence<F>(pub(crate) F);

impl<F, I> Serialize for Sequence<F>
where
    F: Fn() -> I,
    I: Iterator<Item: Serialize>,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// The items of a list that is not empty.
pub(crate) fn non_empty<T>(items: &[T]) -> Option<&[T]> {
    Some(items).filter(|it| !it.is_empty())
}
