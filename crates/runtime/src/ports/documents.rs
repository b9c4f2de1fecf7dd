//! The document store port: versioned documents, changed in atomic batches.

use std::fmt;

use panpan_redact::Opaque;
use serde_json::Value;

use super::StoreError;
use crate::handler::BoxFuture;

/// Stores documents by collection and id.
pub trait Documents: Send + Sync + fmt::Debug {
    /// The document, if there is one.
    fn get<'a>(
        &'a self,
        collection: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Document>, StoreError>>;

    /// Documents of a collection ordered by id (bytewise), starting after `after`, at most `limit`.
    fn list<'a>(
        &'a self,
        collection: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Document>, StoreError>>;

    /// Applies all changes, or none if one of them does not find what it expects.
    ///
    /// Changes see earlier changes of the same batch. Durable when it returns.
    fn apply(&self, changes: Vec<Change>) -> BoxFuture<'_, Result<Applied, StoreError>>;
}

/// A stored document. Its debug form does not show the body.
#[derive(Clone, PartialEq)]
pub struct Document {
    /// Its id within the collection.
    pub id: String,
    /// Rises with every change of any document and is never reused, so that a document that was deleted and
    /// created again has a new version.
    pub version: u64,
    /// The contents.
    pub body: Value,
}

/// One change of a batch. Its debug form does not show the body.
#[derive(Clone, PartialEq)]
pub struct Change {
    /// The collection.
    pub collection: String,
    /// The id within it.
    pub id: String,
    /// The expected state before the change.
    pub expect: ExpectedState,
    /// The new contents; `None` deletes.
    pub body: Option<Value>,
}

impl fmt::Debug for Document {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Document")
            .field("id", &self.id)
            .field("version", &self.version)
            .field("body", &Opaque(&self.body))
            .finish()
    }
}

impl fmt::Debug for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Change")
            .field("collection", &self.collection)
            .field("id", &self.id)
            .field("expect", &self.expect)
            .field("body", &self.body.as_ref().map(Opaque))
            .finish()
    }
}

/// The expected state of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedState {
    /// Any state.
    Anything,
    /// No document.
    Absent,
    /// The document in this version.
    Version(u64),
}

impl ExpectedState {
    /// Whether a document of this version meets it; `None` if there is no document.
    pub fn is_met_by(self, found: Option<u64>) -> bool {
        match self {
            Self::Anything => true,
            Self::Absent => found.is_none(),
            Self::Version(version) => found == Some(version),
        }
    }
}

/// The result of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// All changes were applied; the new version of each document, `None` if it was deleted.
    All(Vec<Option<u64>>),
    /// Nothing was changed.
    Conflict {
        /// The index of the conflicting change.
        change: usize,
        /// The current version; `None` if there is no document.
        found: Option<u64>,
    },
}
