//! Notifications of a server outside of calls: as those of the runtime and as those of the protocol.

use panpan_runtime::ServiceNotification;
use rmcp::model::{
    CustomNotification, LoggingMessageNotification, ResourceUpdatedNotification, ServerNotification,
};

use crate::names::ELICITATION_COMPLETE;

/// The notification of the runtime; `None` for one that is not passed on.
pub fn to_service(notification: &ServerNotification) -> Option<ServiceNotification> {
    Some(match notification {
        ServerNotification::LoggingMessageNotification(it) => {
            ServiceNotification::Log(serde_json::to_value(&it.params).ok()?)
        }
        ServerNotification::ResourceUpdatedNotification(it) => {
            ServiceNotification::ResourceUpdated(serde_json::to_value(&it.params).ok()?)
        }
        ServerNotification::CustomNotification(it) if it.method == ELICITATION_COMPLETE => {
            ServiceNotification::ElicitationComplete(it.params.clone().unwrap_or_default())
        }
        _ => return None,
    })
}

/// The notification of the protocol; `None` for invalid params.
pub fn to_protocol(notification: ServiceNotification) -> Option<ServerNotification> {
    Some(match notification {
        ServiceNotification::Log(params) => {
            LoggingMessageNotification::new(serde_json::from_value(params).ok()?).into()
        }
        ServiceNotification::ResourceUpdated(params) => {
            ResourceUpdatedNotification::new(serde_json::from_value(params).ok()?).into()
        }
        ServiceNotification::ElicitationComplete(params) => {
            CustomNotification::new(ELICITATION_COMPLETE, Some(params)).into()
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_notification_survives_the_way_to_the_protocol_and_back() {
        for notification in [
            ServiceNotification::Log(json!({"level": "info", "data": "x"})),
            ServiceNotification::ResourceUpdated(json!({"uri": "a:b"})),
            ServiceNotification::ElicitationComplete(json!({"elicitationId": "e"})),
        ] {
            let written = to_protocol(notification.clone()).unwrap();
            assert_eq!(to_service(&written), Some(notification));
        }
        assert!(to_protocol(ServiceNotification::Log(json!({"level": "loud"}))).is_none());
    }
}
