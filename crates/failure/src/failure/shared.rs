//! A value that is copied on write.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A shared value: cloning is cheap, and changing it copies it if it is shared.
///
/// A failure goes to the caller, the store and the recording; each would otherwise copy all its texts.
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
    fn a_change_does_not_affect_other_clones() {
        let mut changed = Shared::new(vec![1]);
        let kept = changed.clone();
        changed.push(2);
        assert_eq!((changed.len(), kept.len()), (2, 1));
    }
}
