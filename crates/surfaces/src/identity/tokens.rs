//! Tokens as documents in the store: create, list, identify, revoke.
//!
//! Nothing is cached: a revocation takes effect at once, also one by another process.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use panpan_failure::{Failure, codes};
use panpan_redact::Secret;
use panpan_runtime::Identity;
use panpan_runtime::ports::{
    Applied, Change, Clock, Document, Documents, ExpectedState, StoreError,
};
use serde_json::{Value, json};

use super::names::{self, NameOf, TokenNameError};
use super::stored::{StoredToken, TokenInfo, TokenState};
use super::token::{GeneratedToken, ParsedToken};

const COLLECTION: &str = "tokens";

/// Documents per page of a listing.
const PAGE_SIZE: usize = 256;

/// Attempts at a change that conflicts with concurrent changes.
const ATTEMPTS_MAX: usize = 16;

/// The tokens in a store. Clones share the store.
#[derive(Clone, Debug)]
pub struct Tokens {
    documents: Arc<dyn Documents>,
    clock: Arc<dyn Clock>,
}

/// The properties of a token to create.
#[derive(Clone, Debug, Default)]
pub struct NewToken {
    /// The principal of calls with this token.
    pub principal: String,
    /// The granted scopes.
    pub scopes: BTreeSet<String>,
    /// The granted actions by resource type; an empty set permits operations that require no action.
    pub resources: BTreeMap<String, BTreeSet<String>>,
    /// The time of expiry.
    pub expires_at: Option<Timestamp>,
}

/// The result of a revocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Revoked {
    /// These tokens were revoked now.
    Now(Vec<TokenInfo>),
    /// All matching tokens had been revoked before.
    Before(Vec<TokenInfo>),
    /// No token has this id or principal.
    Unknown,
}

/// Why tokens could not be created, listed or revoked.
#[derive(Debug, thiserror::Error)]
pub enum TokensError {
    /// A name is invalid.
    #[error(transparent)]
    Name(#[from] TokenNameError),
    /// The expiry is in the past.
    #[error("a token that expires at {0} would never be valid")]
    Expired(Timestamp),
    /// The system has no random source.
    #[error("the system provides no random numbers")]
    Random(#[source] getrandom::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Tokens {
    /// The tokens in a document store.
    pub fn new(documents: Arc<dyn Documents>, clock: Arc<dyn Clock>) -> Self {
        Self { documents, clock }
    }

    /// Fails if the store does not answer.
    pub(crate) async fn check_store(&self) -> Result<(), Failure> {
        let read = self.documents.get(COLLECTION, "").await;
        read.map(drop)
            .map_err(|_| Failure::new(codes::ERR_STORE_UNAVAILABLE))
    }

    /// The identity that a token proves.
    ///
    /// Fails with FORBIDDEN for a token that is not valid, and with ERR_STORE_UNAVAILABLE if the store does not
    /// answer.
    pub async fn identify(&self, token: &str) -> Result<Arc<Identity>, Failure> {
        // A malformed token is refused without a query: its timing reveals nothing about stored tokens.
        let token = ParsedToken::parse(token).ok_or_else(|| refused(None))?;
        let stored = self.get(token.id).await.map_err(|error| error.failure())?;
        let proved = token.proves(stored.as_ref().map(|stored| stored.hash.as_str()));
        let stored = stored.filter(|_| proved);
        let info = stored.ok_or_else(|| refused(None))?.into_info(token.id);
        match info.state(self.clock.now()) {
            TokenState::Valid => Ok(Arc::new(info.identity())),
            ended => Err(refused(Some(ended))),
        }
    }

    /// Fails with FORBIDDEN if an accepted token is no longer valid. It counts as valid while the store does not
    /// answer.
    pub(crate) async fn check_still_valid(&self, id: &str) -> Result<(), Failure> {
        let Ok(Some(stored)) = self.get(id).await else {
            return Ok(());
        };
        match stored.into_info(id).state(self.clock.now()) {
            TokenState::Valid => Ok(()),
            ended => Err(refused(Some(ended))),
        }
    }

    /// Creates a token. Its text is returned once and not stored.
    pub async fn create(&self, new: NewToken) -> Result<(Secret<String>, TokenInfo), TokensError> {
        names::check(NameOf::Principal, &new.principal)?;
        names::check_all(NameOf::Scope, &new.scopes)?;
        names::check_resources(&new.resources)?;
        let now = self.clock.now();
        if let Some(end) = new.expires_at.filter(|end| *end <= now) {
            return Err(TokensError::Expired(end));
        }
        let mut stored = StoredToken {
            principal: new.principal,
            hash: String::new(),
            scopes: new.scopes,
            resources: new.resources,
            created_at: now,
            expires_at: new.expires_at,
            revoked_at: None,
        };
        for _ in 0..ATTEMPTS_MAX {
            let generated = GeneratedToken::new().map_err(TokensError::Random)?;
            stored.hash = generated.hash;
            let change = change(&generated.id, ExpectedState::Absent, json!(stored));
            if let Applied::All(_) = self.documents.apply(vec![change]).await? {
                return Ok((generated.text, stored.into_info(generated.id)));
            }
        }
        Err(StoreError::Locked.into())
    }

    /// All tokens, also expired and revoked ones, sorted by id.
    pub async fn list(&self) -> Result<Vec<TokenInfo>, TokensError> {
        let documents = self.all().await?;
        let info = |document: Document| Ok(StoredToken::read(&document)?.into_info(document.id));
        documents.into_iter().map(info).collect()
    }

    /// The principals that have a valid token.
    pub async fn valid_principals(&self) -> Result<BTreeSet<String>, TokensError> {
        let now = self.clock.now();
        let tokens = self.list().await?.into_iter();
        let valid = tokens.filter(|it| it.state(now) == TokenState::Valid);
        Ok(valid.map(|it| it.principal).collect())
    }

    /// Whether any token is valid now.
    pub async fn any_valid(&self) -> Result<bool, TokensError> {
        let now = self.clock.now();
        let is_valid = |token: &TokenInfo| token.state(now) == TokenState::Valid;
        Ok(self.list().await?.iter().any(is_valid))
    }

    /// Revokes the token with this id or text, or every token of this principal.
    pub async fn revoke(&self, name: &str) -> Result<Revoked, TokensError> {
        let name = ParsedToken::parse(name).map_or(name, |token| token.id);
        for _ in 0..ATTEMPTS_MAX {
            let (before, valid) = self.find(name).await?;
            if valid.is_empty() && before.is_empty() {
                return Ok(Revoked::Unknown);
            }
            if valid.is_empty() {
                return Ok(Revoked::Before(before));
            }
            if let Some(revoked) = self.try_revoke(valid).await? {
                return Ok(Revoked::Now(revoked));
            }
        }
        Err(StoreError::Locked.into())
    }

    /// The tokens with this id or principal: those revoked before, and the documents of the others.
    async fn find(&self, name: &str) -> Result<(Vec<TokenInfo>, Vec<Document>), StoreError> {
        let (mut before, mut valid) = (Vec::new(), Vec::new());
        for document in self.all().await? {
            let stored = StoredToken::read(&document)?;
            if document.id != name && stored.principal != name {
                continue;
            }
            match stored.revoked_at {
                Some(_) => before.push(stored.into_info(document.id)),
                None => valid.push(document),
            }
        }
        Ok((before, valid))
    }

    /// Revokes all of these tokens, or none (`None`) if one was changed concurrently.
    async fn try_revoke(
        &self,
        tokens: Vec<Document>,
    ) -> Result<Option<Vec<TokenInfo>>, StoreError> {
        let now = json!(self.clock.now());
        let (mut changes, mut revoked) = (Vec::new(), Vec::new());
        for mut token in tokens {
            token.body["revoked_at"] = now.clone();
            revoked.push(StoredToken::read(&token)?.into_info(token.id.as_str()));
            changes.push(change(
                &token.id,
                ExpectedState::Version(token.version),
                token.body,
            ));
        }
        let applied = self.documents.apply(changes).await?;
        Ok(matches!(applied, Applied::All(_)).then_some(revoked))
    }

    async fn get(&self, id: &str) -> Result<Option<StoredToken>, StoreError> {
        let document = self.documents.get(COLLECTION, id).await?;
        document.as_ref().map(StoredToken::read).transpose()
    }

    async fn all(&self) -> Result<Vec<Document>, StoreError> {
        let mut all: Vec<Document> = Vec::new();
        loop {
            let after = all.last().map(|last| last.id.as_str());
            let page = self.documents.list(COLLECTION, after, PAGE_SIZE).await?;
            let is_last = page.len() < PAGE_SIZE;
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
    }
}

fn change(id: &str, expect: ExpectedState, body: Value) -> Change {
    Change {
        collection: COLLECTION.to_owned(),
        id: id.to_owned(),
        expect,
        body: Some(body),
    }
}

/// The failure of a request without a token, where one is required.
pub(crate) fn token_required() -> Failure {
    Failure::new(codes::FORBIDDEN)
        .with_message("this server requires a token, and the request carries none")
        .with_detail("authenticated", false)
        .with_actions(["Send a bearer token in the Authorization header"])
}

/// The failure of a token that has ended, or is malformed, unknown or has the wrong secret. Only a caller with the
/// secret learns that it has ended; other callers do not learn what is wrong.
fn refused(ended: Option<TokenState>) -> Failure {
    let (message, reason) = match ended {
        None => {
            let invalid = "Invalid authentication token";
            (invalid.to_owned(), invalid)
        }
        Some(state) => {
            let name = state.name();
            (format!("the token of this request is {name}"), name)
        }
    };
    Failure::new(codes::FORBIDDEN)
        .with_message(message)
        .with_detail("authenticated", false)
        .with_detail("reason", reason)
        .with_actions([
            "Ask the operator for a token, created with `panpan token new`, and send it as a bearer token in the Authorization header",
        ])
}
