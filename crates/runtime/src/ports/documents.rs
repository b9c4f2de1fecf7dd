//! Documents that built-in operations keep: versioned, changed all together or not at all.

use std::fmt;

use panpan_redact::Opaque;
use serde_json::Value;

use super::StoreError;
use crate::handler::BoxFuture;

/// Keeps documents by collection and id.
pub trait Documents: Send + Sync + fmt::Debug {
    /// The document, if there is one.
    fn get<'a>(
        &'a self,
        collection: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Document>, StoreError>>;

    /// Documents of a collection in the order of their ids (by bytes), from behind `after`, at most
    /// `limit` of them.
    fn list<'a>(
        &'a self,
        collection: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Document>, StoreError>>;

    /// Makes every change, or none when one finds something else than it expects.
    ///
    /// Changes see those before them in the same batch. Durable when it returns.
    fn apply(&self, changes: Vec<Change>) -> BoxFuture<'_, Result<Applied, StoreError>>;
}

/// A document as it lies in the store. Its debug form does not show what it says.
#[derive(Clone, PartialEq)]
pub struct Document {
    /// Its id within the collection.
    pub id: String,
    /// Rises with every change of any document, and is never given twice: a document that was deleted
    /// and made again does not look unchanged.
    pub version: u64,
    /// What it says.
    pub body: Value,
}

/// One change of a batch. Its debug form does not show what the document says.
#[derive(Clone, PartialEq)]
pub struct Change {
    /// The collection.
    pub collection: String,
    /// The id within it.
    pub id: String,
    /// What has to be there now.
    pub expect: Expect,
    /// What is to be there then; `None` deletes.
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

/// What a change expects to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Whatever there is.
    Anything,
    /// No document.
    Absent,
    /// The document in this version.
    Version(u64),
}

/// What became of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// Everything was changed; the new version of each document, `None` where it was deleted.
    All(Vec<Option<u64>>),
    /// Nothing was changed.
    Conflict {
        /// Which change of the batch, counted from 0.
        change: usize,
        /// The version that is there; `None` when there is no document.
        found: Option<u64>,
    },
}
