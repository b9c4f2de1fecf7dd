//! Cancels a request whose response is no longer waited for.

use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{CancelledNotificationParam, RequestId};
use rmcp::service::Peer;

/// The timeout of a cancellation notification.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends a cancellation on drop, unless the response has arrived.
#[derive(Debug)]
pub(super) struct CancelOnDrop<'a> {
    pub(super) peer: &'a Peer<RoleClient>,
    pub(super) id: Option<RequestId>,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        let (Some(id), Ok(handle)) = (self.id.take(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        let peer = self.peer.clone();
        handle.spawn(async move {
            let reason = Some("the response is no longer needed".to_owned());
            let notification = CancelledNotificationParam::new(Some(id), reason);
            let _ = tokio::time::timeout(CANCEL_TIMEOUT, peer.notify_cancelled(notification)).await;
        });
    }
}
