//! The calls of one client that are running, and how a notice that one is cancelled finds it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use panpan_runtime::CancellationToken;
use rmcp::model::RequestId;

/// What stops each running call, by the id of its request. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Running(Arc<Mutex<HashMap<RequestId, CancellationToken>>>);

/// A call that is running, until it is dropped.
#[derive(Debug)]
pub(super) struct Entered {
    running: Running,
    id: RequestId,
}

impl Running {
    /// Notes what stops a call.
    pub(super) fn enter(&self, id: RequestId, abort: CancellationToken) -> Entered {
        self.calls().insert(id.clone(), abort);
        let running = self.clone();
        Entered { running, id }
    }

    /// Stops a call.
    pub(super) fn abort(&self, id: &RequestId) {
        if let Some(abort) = self.calls().get(id) {
            abort.cancel();
        }
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<RequestId, CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.running.calls().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_call_of_that_id_is_stopped_and_none_that_has_ended() {
        let running = Running::default();
        let (one, two) = (CancellationToken::new(), CancellationToken::new());
        let entered = running.enter(RequestId::Number(1), one.clone());
        let _other = running.enter(RequestId::Number(2), two.clone());
        drop(entered);
        running.abort(&RequestId::Number(1));
        running.abort(&RequestId::Number(2));
        assert!(!one.is_cancelled() && two.is_cancelled());
        assert_eq!(running.calls().len(), 1);
    }
}
