//! Documents of the store in memory.

use std::collections::BTreeMap;
use std::ops::Bound;

use panpan_runtime::ports::{Applied, Change, Document};

/// Collections of documents, and the last version that was assigned.
#[derive(Debug, Default)]
pub(super) struct Collections {
    documents: BTreeMap<String, BTreeMap<String, Document>>,
    last_version: u64,
}

/// Collection, id and earlier document of a change, to undo it.
type Undo = (String, String, Option<Document>);

impl Collections {
    pub(super) fn get(&self, collection: &str, id: &str) -> Option<Document> {
        self.documents.get(collection)?.get(id).cloned()
    }

    pub(super) fn list(
        &self,
        collection: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Vec<Document> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let Some(documents) = self.documents.get(collection) else {
            return Vec::new();
        };
        documents
            .range::<str, _>((from, Bound::Unbounded))
            .take(limit)
            .map(|(_, document)| document.clone())
            .collect()
    }

    pub(super) fn apply(&mut self, changes: Vec<Change>) -> Applied {
        let first_version = self.last_version;
        let mut undo = Vec::with_capacity(changes.len());
        let mut versions = Vec::with_capacity(changes.len());
        for (number, change) in changes.into_iter().enumerate() {
            let found = self.version(&change);
            if !change.expect.is_met_by(found) {
                self.last_version = first_version;
                self.roll_back(undo);
                let change = number;
                return Applied::Conflict { change, found };
            }
            let (version, before) = self.apply_one(change);
            versions.push(version);
            undo.push(before);
        }
        Applied::All(versions)
    }

    fn version(&self, change: &Change) -> Option<u64> {
        let collection = self.documents.get(&change.collection)?;
        collection.get(&change.id).map(|document| document.version)
    }

    fn apply_one(&mut self, change: Change) -> (Option<u64>, Undo) {
        let Change {
            collection,
            id,
            body,
            ..
        } = change;
        let document = body.map(|body| {
            self.last_version += 1;
            Document {
                id: id.clone(),
                version: self.last_version,
                body,
            }
        });
        let version = document.as_ref().map(|document| document.version);
        let before = self.put(&collection, &id, document);
        (version, (collection, id, before))
    }

    fn put(&mut self, collection: &str, id: &str, document: Option<Document>) -> Option<Document> {
        let documents = self.documents.entry(collection.to_owned()).or_default();
        let before = match document {
            Some(document) => documents.insert(id.to_owned(), document),
            None => documents.remove(id),
        };
        if documents.is_empty() {
            self.documents.remove(collection);
        }
        before
    }

    fn roll_back(&mut self, undo: Vec<Undo>) {
        for (collection, id, before) in undo.into_iter().rev() {
            self.put(&collection, &id, before);
        }
    }
}
