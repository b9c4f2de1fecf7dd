//! A value that is copied only when somebody changes it while somebody else holds it.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Owned like a box, cloned like a reference.
///
/// A failure is handed to its caller, to the store and to the recording at once; each would otherwise
/// pay for a copy of all its texts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shared<T>(Arc<T>);

impl<T> Shared<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_seen_only_by_whoever_made_it() {
        let mut changed = Shared::new(vec![1]);
        let kept = changed.clone();
        changed.push(2);
        assert_eq!((changed.len(), kept.len()), (2, 1));
    }
}
