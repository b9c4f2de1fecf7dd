//! Decodes JSON that the store wrote.

use serde::de::DeserializeOwned;

use super::errors::QueryError;

/// Decodes stored JSON; text that cannot be decoded means that the file is damaged.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, QueryError> {
    panpan_runtime::json::read(text).map_err(|_| QueryError::Unreadable)
}
