//! What is kept of a token, and what is told of it: everything but its hash.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use panpan_runtime::Identity;
use panpan_runtime::ports::{Document, StoreError};
use serde::{Deserialize, Serialize};

/// The action of a grant that names none: it lets through what asks for the type alone.
const NO_ACTION: &str = "";

/// What may be told of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TokenInfo {
    /// How it is named. No secret.
    pub id: String,
    /// Who calls with it.
    pub principal: String,
    /// What it may do.
    pub scopes: BTreeSet<String>,
    /// The actions it may take, by type of resource; without any, what asks for no action in particular.
    pub resources: BTreeMap<String, BTreeSet<String>>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it stops being valid by itself.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// Whether a token is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenState {
    /// It is.
    Valid,
    /// Its time is over.
    Expired,
    /// Somebody revoked it.
    Revoked,
}

impl TokenState {
    /// The word it is shown as.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}

impl TokenInfo {
    /// Whether it is valid at this time.
    pub fn state(&self, now: Timestamp) -> TokenState {
        match (self.revoked_at, self.expires_at) {
            (Some(_), _) => TokenState::Revoked,
            (None, Some(end)) if end <= now => TokenState::Expired,
            (None, _) => TokenState::Valid,
        }
    }

    /// Who calls with it. Two tokens of one principal are one caller, so that one can take the other's
    /// place.
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

/// The document of a token.
#[derive(Deserialize, Serialize)]
pub(super) struct Kept {
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

impl Kept {
    pub(super) fn read(document: &Document) -> Result<Self, StoreError> {
        Self::deserialize(&document.body).map_err(|_| StoreError::Damaged)
    }

    pub(super) fn told(self, id: impl Into<String>) -> TokenInfo {
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
