//! A macro for store wrappers in tests.

/// Delegates the listed methods, and the methods that no wrapper changes, to the store in a field.
///
/// The types of the port must be in scope.
macro_rules! delegate {
    ($inner:tt: $($name:ident($($argument:ident: $kind:ty),*) -> $answer:ty;)*) => {
        $(fn $name(&self, $($argument: $kind),*) -> BoxFuture<'_, Result<$answer, StoreError>> {
            self.$inner.$name($($argument),*)
        })*

        fn kept(&self, scope: Scope) -> BoxFuture<'_, Result<Option<Kept>, StoreError>> {
            self.$inner.kept(scope)
        }

        fn earlier(&self, scope: Scope) -> BoxFuture<'_, Result<Vec<Earlier>, StoreError>> {
            self.$inner.earlier(scope)
        }

        fn count(&self, counts: Vec<Count>) {
            self.$inner.count(counts);
        }

        fn dropped(&self) -> u64 {
            self.$inner.dropped()
        }

        fn find(&self, call: Uuid) -> BoxFuture<'_, Result<Option<Recording>, StoreError>> {
            self.$inner.find(call)
        }

        fn recent(
            &self,
            limit: usize,
            failed_only: bool,
        ) -> BoxFuture<'_, Result<Vec<Recording>, StoreError>> {
            self.$inner.recent(limit, failed_only)
        }

        fn counts(&self, since: Timestamp) -> BoxFuture<'_, Result<Vec<Count>, StoreError>> {
            self.$inner.counts(since)
        }

        fn sweep(&self, before: Timestamp) -> BoxFuture<'_, Result<Swept, StoreError>> {
            self.$inner.sweep(before)
        }
    };
}
pub(crate) use delegate;
