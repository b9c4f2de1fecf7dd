//! The cache of documents: those of the current registry, least recently used first to go.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use panpan_runtime::Registry;
use tokio::sync::Mutex as AsyncMutex;

use super::{Document, Format};

/// Maximum number of cached documents.
const DOCUMENTS_LIMIT: usize = 16;

/// Maximum total size; the newest document is cached even if it is larger.
const CACHE_BYTES_LIMIT: usize = 64 * 1024 * 1024;

/// The cached documents of one server.
#[derive(Debug, Default)]
pub(in crate::http) struct DocumentCache {
    entries: Mutex<Entries>,
    /// Locked while a document is written, so that only one is written at a time.
    writing: Arc<AsyncMutex<()>>,
}

/// A cache slot, empty until its document is written.
pub(super) type Slot = Arc<OnceLock<Document>>;

#[derive(Debug, Default)]
struct Entries {
    /// A weak reference keeps the allocation, so no other registry can get the same address.
    registry: Weak<Registry>,
    /// Least recently used first.
    slots: Vec<(Format, [u8; 32], Slot)>,
}

impl DocumentCache {
    /// The slot of the document about these operations of a registry.
    pub(super) fn slot(&self, registry: &Arc<Registry>, format: Format, digest: [u8; 32]) -> Slot {
        let mut entries = self.entries();
        if !std::ptr::eq(entries.registry.as_ptr(), Arc::as_ptr(registry)) {
            *entries = Entries {
                registry: Arc::downgrade(registry),
                slots: Vec::new(),
            };
        }
        entries.slot(format, digest)
    }

    /// The document in a slot, written first if the slot is empty; `None` if writing panicked.
    ///
    /// Concurrent requests wait for the same document. It is written to its end even if no request waits any more.
    pub(super) async fn get_or_write(
        &self,
        slot: Slot,
        write: impl FnOnce() -> Document + Send + 'static,
    ) -> Option<Document> {
        if let Some(document) = slot.get() {
            return Some(document.clone());
        }
        let lock = self.writing.clone().lock_owned().await;
        let work = tokio::task::spawn_blocking(move || {
            let _lock = lock;
            slot.get_or_init(write).clone()
        });
        let document = work.await.ok();
        self.entries().evict();
        document
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    fn slot(&mut self, format: Format, digest: [u8; 32]) -> Slot {
        let key = (format, digest);
        let known = self.slots.iter().position(|it| (it.0, it.1) == key);
        let slot = match known {
            Some(index) => self.slots.remove(index).2,
            None => Slot::default(),
        };
        self.slots.push((format, digest, slot.clone()));
        self.evict();
        slot
    }

    /// Removes the least recently used documents beyond the limits.
    fn evict(&mut self) {
        let length = |slot: &Slot| slot.get().map_or(0, |it| it.bytes.len());
        let mut bytes_left = CACHE_BYTES_LIMIT;
        let newest_first = self.slots.iter().rev().enumerate();
        let kept = newest_first.take_while(|(index, (_, _, slot))| {
            let fits = *index < DOCUMENTS_LIMIT && length(slot) <= bytes_left;
            bytes_left = bytes_left.saturating_sub(length(slot));
            *index == 0 || fits
        });
        let kept = kept.count();
        self.slots.drain(..self.slots.len() - kept);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http::HeaderValue;

    use super::*;

    fn document(length: usize) -> Document {
        Document {
            bytes: vec![b' '; length].into(),
            etag: HeaderValue::from_static("\"\""),
        }
    }

    fn registry() -> Arc<Registry> {
        Arc::new(Registry::builder().build().unwrap())
    }

    #[tokio::test]
    async fn a_document_is_written_once_for_all_concurrent_requests() {
        let (documents, registry) = (DocumentCache::default(), registry());
        let count = Arc::new(AtomicUsize::new(0));
        let get = |format, digest| {
            let slot = documents.slot(&registry, format, digest);
            let count = count.clone();
            documents.get_or_write(slot, move || {
                count.fetch_add(1, Ordering::SeqCst);
                document(1)
            })
        };
        let both = [(Format::OpenApi, [1; 32]), (Format::Contract, [1; 32])];
        let all = both
            .iter()
            .cycle()
            .take(16)
            .map(|(format, digest)| get(*format, *digest));
        let results = futures_util::future::join_all(all).await;
        assert!(results.iter().all(Option::is_some));
        assert_eq!(count.load(Ordering::SeqCst), 2);
        // A document whose request was dropped is written anyway, and cached for the next request.
        drop(get(Format::OpenApi, [2; 32]));
        let mut dropped = Box::pin(get(Format::OpenApi, [3; 32]));
        let _ = futures_util::poll!(&mut dropped);
        drop(dropped);
        get(Format::OpenApi, [3; 32]).await.unwrap();
        assert_eq!(count.load(Ordering::SeqCst), 3);
    }

    #[tokio::test]
    async fn a_new_registry_empties_the_cache() {
        let documents = DocumentCache::default();
        let (before, after) = (registry(), registry());
        let slot = |registry| documents.slot(registry, Format::OpenApi, [1; 32]);
        let first = slot(&before);
        assert!(Arc::ptr_eq(&first, &slot(&before)));
        assert!(!Arc::ptr_eq(&first, &slot(&after)));
    }

    #[test]
    fn documents_are_cached_within_both_limits() {
        let one = CACHE_BYTES_LIMIT;
        for (lengths, kept) in [
            (vec![1; DOCUMENTS_LIMIT], DOCUMENTS_LIMIT),
            (vec![1; DOCUMENTS_LIMIT + 1], DOCUMENTS_LIMIT),
            (vec![one / 2, one / 2], 2),
            (vec![one / 2 + 1, one / 2], 1),
            (vec![1, one + 1], 1),
            (vec![one + 1, 1], 1),
        ] {
            let mut entries = Entries::default();
            for (index, length) in lengths.into_iter().enumerate() {
                let slot = entries.slot(Format::OpenApi, [u8::try_from(index).unwrap(); 32]);
                slot.set(document(length)).unwrap();
            }
            entries.evict();
            assert_eq!(entries.slots.len(), kept);
        }
    }

    #[test]
    fn the_least_recently_used_document_is_evicted() {
        let mut entries = Entries::default();
        let digest = |index: usize| [u8::try_from(index).unwrap(); 32];
        let first = entries.slot(Format::OpenApi, digest(0));
        for index in 1..DOCUMENTS_LIMIT {
            entries.slot(Format::OpenApi, digest(index));
        }
        assert!(Arc::ptr_eq(
            &first,
            &entries.slot(Format::OpenApi, digest(0))
        ));
        entries.slot(Format::OpenApi, digest(DOCUMENTS_LIMIT));
        assert!(Arc::ptr_eq(
            &first,
            &entries.slot(Format::OpenApi, digest(0))
        ));
    }
}
