//! The authority with which a task calls its operation: that of the caller who created it.

use std::collections::{BTreeMap, BTreeSet};

use panpan_runtime::Identity;
use serde::{Deserialize, Serialize};

/// An identity as it is stored with a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Authority {
    id: String,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    scopes: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    resources: BTreeMap<String, BTreeSet<String>>,
}

impl Authority {
    /// The text that a store keeps.
    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).expect("an authority has only string keys")
    }

    /// The authority in the text of a store; one without any scope if the text is damaged.
    pub(crate) fn from_text(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }
}

impl From<&Identity> for Authority {
    fn from(identity: &Identity) -> Self {
        Self {
            id: identity.id.clone(),
            scopes: identity.scopes.clone(),
            resources: identity.resources.clone(),
        }
    }
}

impl From<Authority> for Identity {
    fn from(authority: Authority) -> Self {
        Self {
            id: authority.id,
            scopes: authority.scopes,
            resources: authority.resources,
        }
    }
}
