//! Tokens as they are stored, and as they are shown: without the hash.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use panpan_runtime::Identity;
use panpan_runtime::ports::{Document, StoreError};
use serde::{Deserialize, Serialize};

/// The action of a grant without actions: it permits operations that require the resource type only.
const NO_ACTION: &str = "";

/// The public facts about a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TokenInfo {
    /// The id. Not a secret.
    pub id: String,
    /// The principal of calls with this token.
    pub principal: String,
    /// The granted scopes.
    pub scopes: BTreeSet<String>,
    /// The granted actions by resource type; an empty set permits operations that require no action.
    pub resources: BTreeMap<String, BTreeSet<String>>,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time of expiry.
    pub expires_at: Option<Timestamp>,
    /// The time of revocation.
    pub revoked_at: Option<Timestamp>,
}

/// Whether a token is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenState {
    /// Neither expired nor revoked.
    Valid,
    /// Past its expiry.
    Expired,
    /// Revoked by an operator.
    Revoked,
}

impl TokenState {
    /// The name in output and failures.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}

impl TokenInfo {
    /// The state at a time.
    pub fn state(&self, now: Timestamp) -> TokenState {
        match (self.revoked_at, self.expires_at) {
            (Some(_), _) => TokenState::Revoked,
            (None, Some(end)) if end <= now => TokenState::Expired,
            (None, _) => TokenState::Valid,
        }
    }

    /// The identity of calls with this token. All tokens of a principal share it, so tokens can be rotated.
    pub(super) fn identity(self) -> Identity {
        let granted = |mut actions: BTreeSet<String>| {
            if actions.is_empty() {
                actions.insert(NO_ACTION.to_owned());
            }
            actions
        };
        let resources = self.resources.into_iter();
        Identity {
            id: self.principal,
            scopes: self.scopes,
            resources: resources.map(|(kind, it)| (kind, granted(it))).collect(),
        }
    }
}

/// The stored document of a token.
#[derive(Deserialize, Serialize)]
pub(super) struct StoredToken {
    pub(super) principal: String,
    pub(super) hash: String,
    #[serde(default)]
    pub(super) scopes: BTreeSet<String>,
    #[serde(default)]
    pub(super) resources: BTreeMap<String, BTreeSet<String>>,
    pub(super) created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) revoked_at: Option<Timestamp>,
}

impl StoredToken {
    pub(super) fn read(document: &Document) -> Result<Self, StoreError> {
        Self::deserialize(&document.body).map_err(|_| StoreError::Damaged)
    }

    pub(super) fn into_info(self, id: impl Into<String>) -> TokenInfo {
        TokenInfo {
            id: id.into(),
            principal: self.principal,
            scopes: self.scopes,
            resources: self.resources,
            created_at: self.created_at,
            expires_at: self.expires_at,
            revoked_at: self.revoked_at,
        }
    }
}
