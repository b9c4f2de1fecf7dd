//! Unsolicited notifications of a service to a client that stays connected between calls.

use serde_json::Value;

use super::question::AskClient;

/// A notification outside of a call, as in the Model Context Protocol.
#[derive(Clone, Debug, PartialEq)]
pub enum ServiceNotification {
    /// A log line, as the params of `notifications/message`.
    Log(Value),
    /// A resource changed, as the params of `notifications/resources/updated`.
    ResourceUpdated(Value),
    /// The user visited the URL of an elicitation, as the params of `notifications/elicitation/complete`.
    ElicitationComplete(Value),
}

/// A client that stays connected between calls.
pub trait Listener: AskClient {
    /// Delivers a notification without blocking the service.
    fn notify(&self, notification: ServiceNotification);

    /// Whether its kinds of questions and its declared members are those of the client in all its calls.
    fn states_capabilities(&self) -> bool {
        true
    }

    /// Whether the client is subscribed to a resource.
    fn is_subscribed(&self, uri: &str) -> bool {
        let _ = uri;
        false
    }
}
