//! Enums whose values correspond to rows of the catalogue.

/// Declares such an enum, and optionally the constructor of its failures.
macro_rules! rows {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident => $row:ident,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            /// All values.
            pub const ALL: &'static [Self] = &[$($name::$variant,)+];

            /// The catalogue row.
            pub const fn entry(self) -> &'static panpan_catalogue::Entry {
                match self { $($name::$variant => panpan_catalogue::codes::$row,)+ }
            }
        }

        impl From<$name> for $crate::Kind {
            fn from(value: $name) -> Self {
                value.entry().into()
            }
        }
    };
    ($(#[$meta:meta])* $name:ident $rows:tt $(#[$function_meta:meta])* $function:ident) => {
        $crate::classify::rows! { $(#[$meta])* #[derive(Default)] $name $rows }

        $(#[$function_meta])*
        pub fn $function(code: $name, message: impl Into<String>) -> $crate::Failure {
            $crate::Failure::new(code).with_message(message)
        }
    };
}
pub(crate) use rows;
