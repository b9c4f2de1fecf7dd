//! What a wrapper of a store does not change.

/// Hands the listed requests, and all that no wrapper here changes, on to the store in the first field.
///
/// Whoever uses it has the types of the port in scope.
macro_rules! handed_on {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $answer:ty;)*) => {
        $(fn $name(&self, $($argument: $kind),*) -> BoxFuture<'_, Result<$answer, StoreError>> {
            self.0.$name($($argument),*)
        })*

        fn kept(&self, scope: Scope) -> BoxFuture<'_, Result<Option<Kept>, StoreError>> {
            self.0.kept(scope)
        }

        fn earlier(&self, scope: Scope) -> BoxFuture<'_, Result<Vec<Earlier>, StoreError>> {
            self.0.earlier(scope)
        }

        fn count(&self, counts: Vec<Count>) {
            self.0.count(counts);
        }

        fn dropped(&self) -> u64 {
            self.0.dropped()
        }

        fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
            self.0.flush()
        }

        fn find(&self, call: Uuid) -> BoxFuture<'_, Result<Option<Recording>, StoreError>> {
            self.0.find(call)
        }

        fn recent(
            &self,
            limit: usize,
            failed_only: bool,
        ) -> BoxFuture<'_, Result<Vec<Recording>, StoreError>> {
            self.0.recent(limit, failed_only)
        }

        fn counts(&self, since: Timestamp) -> BoxFuture<'_, Result<Vec<Count>, StoreError>> {
            self.0.counts(since)
        }

        fn sweep(&self, before: Timestamp) -> BoxFuture<'_, Result<Swept, StoreError>> {
            self.0.sweep(before)
        }
    };
}
pub(crate) use handed_on;
