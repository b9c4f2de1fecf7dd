//! The authority with which a task calls its operation, and the owner of the state that the call leaves: those of the
//! caller who created it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use panpan_runtime::{Identity, StateOwner};
use serde::{Deserialize, Serialize};

/// The caller of a task as it is stored with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Authority {
    /// The name of the caller; `None` without a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    scopes: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    resources: BTreeMap<String, BTreeSet<String>>,
    /// The session of a caller without a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<String>,
}

impl Authority {
    /// The authority of a caller; `None` for one without a token and without a session.
    pub(crate) fn of(identity: Option<&Identity>, owner: &StateOwner) -> Option<Self> {
        match (identity, owner) {
            (Some(identity), _) => Some(Self {
                id: Some(identity.id.clone()),
                scopes: identity.scopes.clone(),
                resources: identity.resources.clone(),
                session: None,
            }),
            (None, StateOwner::Session(session)) => Some(Self {
                session: Some(session.to_string()),
                ..Self::default()
            }),
            (None, StateOwner::Caller(_) | StateOwner::Anyone) => None,
        }
    }

    /// The text that a store keeps.
    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).expect("an authority has only string keys")
    }

    /// The authority in the text of a store; a caller without any scope if the text is damaged.
    pub(crate) fn from_text(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_else(|_| Self {
            id: Some(String::new()),
            ..Self::default()
        })
    }

    /// The owner of the state that the call leaves at a stateful service.
    pub(crate) fn state_owner(&self) -> StateOwner {
        match (&self.id, &self.session) {
            (Some(id), _) => StateOwner::Caller(id.as_str().into()),
            (None, Some(session)) => StateOwner::Session(session.as_str().into()),
            (None, None) => StateOwner::Anyone,
        }
    }

    /// The identity of the caller, if it had a token.
    pub(crate) fn into_identity(self) -> Option<Arc<Identity>> {
        Some(Arc::new(Identity {
            id: self.id?,
            scopes: self.scopes,
            resources: self.resources,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_authority_names_the_same_caller_and_the_same_owner_of_state() {
        let anna = Identity::new("anna").with_scope("a");
        let caller = StateOwner::Caller("anna".into());
        let session = StateOwner::Session("s".into());
        for (identity, owner) in [(Some(&anna), &caller), (None, &session)] {
            let stored = Authority::of(identity, owner).unwrap().to_text();
            let read = Authority::from_text(&stored);
            assert_eq!(read.state_owner(), *owner);
            assert_eq!(read.into_identity().as_deref(), identity);
        }
        assert_eq!(Authority::of(None, &StateOwner::Anyone), None);
        let damaged = Authority::from_text("{").into_identity().unwrap();
        assert_eq!(*damaged, Identity::default());
    }
}
