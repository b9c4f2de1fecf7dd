//! Debug forms that do not show stored data.

use std::fmt;

use super::{Ending, StoredDefinition};

impl fmt::Debug for StoredDefinition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StoredDefinition { key, text, .. } = self;
        write!(formatter, "StoredDefinition({key:?}, {} bytes)", text.len())
    }
}

impl fmt::Debug for Ending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Completed { result } => write!(formatter, "Completed({} bytes)", result.len()),
            Ending::Failed { error, .. } => write!(formatter, "Failed({} bytes)", error.len()),
            Ending::Cancelled { error } => write!(formatter, "Cancelled({} bytes)", error.len()),
        }
    }
}
