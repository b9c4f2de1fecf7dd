//! The requests of one client that are in flight, so that a cancellation notification can find its
//! call.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use panpan_runtime::CancellationToken;
use rmcp::model::RequestId;

/// The cancellation tokens of requests in flight, by request id. Clones share the map.
#[derive(Clone, Debug, Default)]
pub(super) struct InFlight(Arc<Mutex<HashMap<RequestId, CancellationToken>>>);

/// A request in flight, until this is dropped.
#[derive(Debug)]
pub(super) struct InFlightGuard {
    in_flight: InFlight,
    id: RequestId,
}

impl InFlight {
    /// Adds a request.
    pub(super) fn insert(&self, id: RequestId, token: CancellationToken) -> InFlightGuard {
        self.tokens().insert(id.clone(), token);
        let in_flight = self.clone();
        InFlightGuard { in_flight, id }
    }

    /// Cancels a request.
    pub(super) fn cancel(&self, id: &RequestId) {
        if let Some(token) = self.tokens().get(id) {
            token.cancel();
        }
    }

    fn tokens(&self) -> MutexGuard<'_, HashMap<RequestId, CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        self.in_flight.tokens().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_request_with_that_id_is_cancelled_and_none_that_has_ended() {
        let in_flight = InFlight::default();
        let (one, two) = (CancellationToken::new(), CancellationToken::new());
        let guard = in_flight.insert(RequestId::Number(1), one.clone());
        let _other = in_flight.insert(RequestId::Number(2), two.clone());
        drop(guard);
        in_flight.cancel(&RequestId::Number(1));
        in_flight.cancel(&RequestId::Number(2));
        assert!(!one.is_cancelled() && two.is_cancelled());
        assert_eq!(in_flight.tokens().len(), 1);
    }
}
