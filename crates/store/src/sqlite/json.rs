//! Reading back the JSON a store wrote; what cannot be read is the store's trouble.

use serde::de::DeserializeOwned;

use super::errors::Trouble;

/// Reads what was written.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, Trouble> {
    panpan_runtime::json::read(text).map_err(|_| Trouble::Unreadable)
}
