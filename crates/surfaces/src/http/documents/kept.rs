//! The documents that are kept: those of the newest registry, as many as there is room for.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use panpan_runtime::Registry;
use tokio::sync::Mutex as AsyncMutex;

use super::{Document, Form};

/// The most documents that are kept.
const DOCUMENTS_LIMIT: usize = 16;

/// The most bytes they have together; the newest is kept however long it is.
const KEPT_BYTES_LIMIT: usize = 64 * 1024 * 1024;

/// The documents of one server.
#[derive(Debug, Default)]
pub(in crate::http) struct Documents {
    shelf: Mutex<Shelf>,
    /// Held while a document is written.
    writing: Arc<AsyncMutex<()>>,
}

/// Where a document stands when it is written.
pub(super) type Place = Arc<OnceLock<Document>>;

#[derive(Debug, Default)]
struct Shelf {
    /// Not dropped before the documents, so that no other registry can come to stand in its place.
    registry: Weak<Registry>,
    /// Those asked for last at the end.
    places: Vec<(Form, [u8; 32], Place)>,
}

impl Documents {
    /// The place of a document about these operations of a registry.
    pub(super) fn place(&self, registry: &Arc<Registry>, form: Form, of: [u8; 32]) -> Place {
        let mut shelf = self.shelf();
        if !std::ptr::eq(shelf.registry.as_ptr(), Arc::as_ptr(registry)) {
            *shelf = Shelf {
                registry: Arc::downgrade(registry),
                places: Vec::new(),
            };
        }
        shelf.place(form, of)
    }

    /// The document at a place, written if it is not there yet; `None` if that cannot be done.
    ///
    /// Whoever else wants it meanwhile waits for it, and it is written to its end when nobody does.
    pub(super) async fn written(
        &self,
        place: Place,
        write: impl FnOnce() -> Document + Send + 'static,
    ) -> Option<Document> {
        if let Some(document) = place.get() {
            return Some(document.clone());
        }
        let turn = self.writing.clone().lock_owned().await;
        let work = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            place.get_or_init(write).clone()
        });
        let document = work.await.ok();
        self.shelf().make_room();
        document
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelf {
    fn place(&mut self, form: Form, of: [u8; 32]) -> Place {
        let known = self.places.iter().position(|it| (it.0, it.1) == (form, of));
        let place = match known {
            Some(at) => self.places.remove(at).2,
            None => Place::default(),
        };
        self.places.push((form, of, place.clone()));
        self.make_room();
        place
    }

    /// Leaves out those nobody asked for the longest.
    fn make_room(&mut self) {
        let length = |place: &Place| place.get().map_or(0, |it| it.bytes.len());
        let mut room = KEPT_BYTES_LIMIT;
        let newest_first = self.places.iter().rev().enumerate();
        let kept = newest_first.take_while(|(at, (_, _, place))| {
            let fits = *at < DOCUMENTS_LIMIT && length(place) <= room;
            room = room.saturating_sub(length(place));
            *at == 0 || fits
        });
        let kept = kept.count();
        self.places.drain(..self.places.len() - kept);
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
            tag: HeaderValue::from_static("\"\""),
        }
    }

    fn registry() -> Arc<Registry> {
        Arc::new(Registry::builder().build().unwrap())
    }

    #[tokio::test]
    async fn a_document_is_written_once_however_many_wait_for_it() {
        let (documents, registry) = (Documents::default(), registry());
        let count = Arc::new(AtomicUsize::new(0));
        let asked = |form, of| {
            let (place, count) = (documents.place(&registry, form, of), count.clone());
            documents.written(place, move || {
                count.fetch_add(1, Ordering::SeqCst);
                document(1)
            })
        };
        let both = [(Form::OpenApi, [1; 32]), (Form::Contract, [1; 32])];
        let all = both
            .iter()
            .cycle()
            .take(16)
            .map(|(form, of)| asked(*form, *of));
        let given = futures_util::future::join_all(all).await;
        assert!(given.iter().all(Option::is_some));
        assert_eq!(count.load(Ordering::SeqCst), 2);
        // One that nobody waits for any more is there for the next.
        drop(asked(Form::OpenApi, [2; 32]));
        let mut left = Box::pin(asked(Form::OpenApi, [3; 32]));
        let _ = futures_util::poll!(&mut left);
        drop(left);
        asked(Form::OpenApi, [3; 32]).await.unwrap();
        assert_eq!(count.load(Ordering::SeqCst), 3);
    }

    #[tokio::test]
    async fn other_operations_have_other_documents() {
        let documents = Documents::default();
        let (before, after) = (registry(), registry());
        let place = |registry| documents.place(registry, Form::OpenApi, [1; 32]);
        let first = place(&before);
        assert!(Arc::ptr_eq(&first, &place(&before)));
        assert!(!Arc::ptr_eq(&first, &place(&after)));
    }

    #[test]
    fn as_many_are_kept_as_there_is_room_for() {
        let one = KEPT_BYTES_LIMIT;
        for (lengths, kept) in [
            (vec![1; DOCUMENTS_LIMIT], DOCUMENTS_LIMIT),
            (vec![1; DOCUMENTS_LIMIT + 1], DOCUMENTS_LIMIT),
            (vec![one / 2, one / 2], 2),
            (vec![one / 2 + 1, one / 2], 1),
            (vec![1, one + 1], 1),
            (vec![one + 1, 1], 1),
        ] {
            let mut shelf = Shelf::default();
            for (at, length) in lengths.into_iter().enumerate() {
                let place = shelf.place(Form::OpenApi, [u8::try_from(at).unwrap(); 32]);
                place.set(document(length)).unwrap();
            }
            shelf.make_room();
            assert_eq!(shelf.places.len(), kept);
        }
    }

    #[test]
    fn the_one_nobody_asked_for_the_longest_goes_first() {
        let mut shelf = Shelf::default();
        let of = |at: usize| [u8::try_from(at).unwrap(); 32];
        let first = shelf.place(Form::OpenApi, of(0));
        for at in 1..DOCUMENTS_LIMIT {
            shelf.place(Form::OpenApi, of(at));
        }
        assert!(Arc::ptr_eq(&first, &shelf.place(Form::OpenApi, of(0))));
        shelf.place(Form::OpenApi, of(DOCUMENTS_LIMIT));
        assert!(Arc::ptr_eq(&first, &shelf.place(Form::OpenApi, of(0))));
    }
}
