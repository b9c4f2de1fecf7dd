//! The tokens there are, as documents in the store.
//!
//! Every question is put to the store: what was revoked a moment ago, by another process too, is revoked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use panpan_failure::{Failure, codes};
use panpan_redact::Secret;
use panpan_runtime::Identity;
use panpan_runtime::ports::{Applied, Change, Clock, Document, Documents, Expect, StoreError};
use serde_json::{Value, json};

use super::kept::{Kept, TokenInfo, TokenState};
use super::names::{self, NameError, NameOf};
use super::token::{Drawn, Presented};

const COLLECTION: &str = "tokens";

/// How many documents are asked for at a time.
const PAGE: usize = 256;

/// How often a change is begun anew that found another one in its way.
const TRIES: usize = 16;

/// The tokens of a store. Clones are the same tokens.
#[derive(Clone, Debug)]
pub struct Tokens {
    documents: Arc<dyn Documents>,
    clock: Arc<dyn Clock>,
}

/// A token to be made.
#[derive(Clone, Debug, Default)]
pub struct NewToken {
    /// Who is to call with it.
    pub principal: String,
    /// What it may do.
    pub scopes: BTreeSet<String>,
    /// The actions it may take, by type of resource; without any, what asks for no action in particular.
    pub resources: BTreeMap<String, BTreeSet<String>>,
    /// When it stops being valid by itself.
    pub expires_at: Option<Timestamp>,
}

/// What became of a revocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Revoked {
    /// These were valid, or might have been, until now.
    Now(Vec<TokenInfo>),
    /// These had been revoked before.
    Before(Vec<TokenInfo>),
    /// No token has this id or principal.
    Unknown,
}

/// Why a token was not made, shown or revoked.
#[derive(Debug, thiserror::Error)]
pub enum TokensError {
    /// A name will not do.
    #[error(transparent)]
    Name(#[from] NameError),
    /// It would never be valid.
    #[error("a token that expires at {0} would never be valid")]
    Expired(Timestamp),
    /// The system does not give what nobody can foresee.
    #[error("the system gives no random numbers")]
    Random(#[source] getrandom::Error),
    /// The store did not do what it was asked.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Tokens {
    /// The tokens kept among these documents.
    pub fn new(documents: Arc<dyn Documents>, clock: Arc<dyn Clock>) -> Self {
        Self { documents, clock }
    }

    /// Whether the store answers.
    pub(crate) async fn look_at_store(&self) -> Result<(), Failure> {
        let looked = self.documents.get("tokens", "").await;
        looked
            .map(drop)
            .map_err(|_| Failure::new(codes::ERR_STORE_UNAVAILABLE))
    }

    /// Who a presented token stands for.
    ///
    /// Fails with FORBIDDEN for one that is not, or no longer, valid, and with ERR_STORE_UNAVAILABLE when
    /// that cannot be told now.
    pub async fn identify(&self, presented: &str) -> Result<Arc<Identity>, Failure> {
        // A text that is not written like a token says nothing about those there are: the store is spared.
        let token = Presented::read(presented).ok_or_else(|| refused(Refusal::Invalid))?;
        let kept = self.kept(token.id).await.map_err(|error| error.failure())?;
        let proved = token.proves(kept.as_ref().map(|kept| kept.hash.as_str()));
        let kept = kept.filter(|_| proved);
        let info = kept
            .ok_or_else(|| refused(Refusal::Invalid))?
            .told(token.id);
        match info.state(self.clock.now()) {
            TokenState::Valid => Ok(Arc::new(info.identity())),
            ended => Err(refused(Refusal::Ended(ended))),
        }
    }

    /// Fails with FORBIDDEN once a token that was presented is no longer valid. While the store does not
    /// answer, it still is.
    pub(crate) async fn still(&self, id: &str) -> Result<(), Failure> {
        let Ok(Some(kept)) = self.kept(id).await else {
            return Ok(());
        };
        match kept.told(id).state(self.clock.now()) {
            TokenState::Valid => Ok(()),
            ended => Err(refused(Refusal::Ended(ended))),
        }
    }

    /// Makes a token. Its text is given this once, and is not kept.
    pub async fn create(&self, new: NewToken) -> Result<(Secret<String>, TokenInfo), TokensError> {
        names::check(NameOf::Principal, &new.principal)?;
        names::check_all(NameOf::Scope, &new.scopes)?;
        names::check_resources(&new.resources)?;
        let now = self.clock.now();
        if let Some(end) = new.expires_at.filter(|end| *end <= now) {
            return Err(TokensError::Expired(end));
        }
        for _ in 0..TRIES {
            let drawn = Drawn::new().map_err(TokensError::Random)?;
            let kept = kept(&new, &drawn, now);
            let change = change(&drawn.id, Expect::Absent, json!(kept));
            if let Applied::All(_) = self.documents.apply(vec![change]).await? {
                return Ok((drawn.text, kept.told(drawn.id)));
            }
        }
        Err(StoreError::Locked.into())
    }

    /// Every token there is or was, in the order of their ids.
    pub async fn list(&self) -> Result<Vec<TokenInfo>, TokensError> {
        let documents = self.all().await?;
        let told = |document: Document| Ok(Kept::read(&document)?.told(document.id));
        documents.into_iter().map(told).collect()
    }

    /// Whether anybody could present a token that is valid now.
    pub async fn any_valid(&self) -> Result<bool, TokensError> {
        let now = self.clock.now();
        let is_valid = |token: &TokenInfo| token.state(now) == TokenState::Valid;
        Ok(self.list().await?.iter().any(is_valid))
    }

    /// Revokes the token with this id, or every token of this principal. A whole token names itself.
    pub async fn revoke(&self, name: &str) -> Result<Revoked, TokensError> {
        let name = Presented::read(name).map_or(name, |token| token.id);
        for _ in 0..TRIES {
            let (before, valid) = self.named(name).await?;
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

    /// The tokens that go by this name: those that were revoked before, and the documents of the others.
    async fn named(&self, name: &str) -> Result<(Vec<TokenInfo>, Vec<Document>), StoreError> {
        let (mut before, mut valid) = (Vec::new(), Vec::new());
        for document in self.all().await? {
            let kept = Kept::read(&document)?;
            if document.id != name && kept.principal != name {
                continue;
            }
            match kept.revoked_at {
                Some(_) => before.push(kept.told(document.id)),
                None => valid.push(document),
            }
        }
        Ok((before, valid))
    }

    /// Revokes all of them, or none when somebody else changed one meanwhile.
    async fn try_revoke(
        &self,
        tokens: Vec<Document>,
    ) -> Result<Option<Vec<TokenInfo>>, StoreError> {
        let now = json!(self.clock.now());
        let (mut changes, mut revoked) = (Vec::new(), Vec::new());
        for mut token in tokens {
            token.body["revoked_at"] = now.clone();
            revoked.push(Kept::read(&token)?.told(token.id.as_str()));
            changes.push(change(
                &token.id,
                Expect::Version(token.version),
                token.body,
            ));
        }
        let applied = self.documents.apply(changes).await?;
        Ok(matches!(applied, Applied::All(_)).then_some(revoked))
    }

    async fn kept(&self, id: &str) -> Result<Option<Kept>, StoreError> {
        let document = self.documents.get(COLLECTION, id).await?;
        document.as_ref().map(Kept::read).transpose()
    }

    async fn all(&self) -> Result<Vec<Document>, StoreError> {
        let mut all: Vec<Document> = Vec::new();
        loop {
            let after = all.last().map(|last| last.id.as_str());
            let page = self.documents.list(COLLECTION, after, PAGE).await?;
            let is_last = page.len() < PAGE;
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
    }
}

fn kept(new: &NewToken, drawn: &Drawn, now: Timestamp) -> Kept {
    Kept {
        principal: new.principal.clone(),
        hash: drawn.hash.clone(),
        scopes: new.scopes.clone(),
        resources: new.resources.clone(),
        created_at: now,
        expires_at: new.expires_at,
        revoked_at: None,
    }
}

fn change(id: &str, expect: Expect, body: Value) -> Change {
    Change {
        collection: COLLECTION.to_owned(),
        id: id.to_owned(),
        expect,
        body: Some(body),
    }
}

/// Why a token is of no use.
#[derive(Clone, Copy)]
enum Refusal {
    /// It is not written like one, there is no such token, or its secret is wrong: which, is not told.
    Invalid,
    /// It was valid once. Told only to those who have its secret.
    Ended(TokenState),
}

fn refused(refusal: Refusal) -> Failure {
    let (message, reason) = match refusal {
        Refusal::Invalid => {
            let invalid = "Invalid authentication token";
            (invalid.to_owned(), invalid)
        }
        Refusal::Ended(state) => {
            let word = state.word();
            (format!("the token of this request is {word}"), word)
        }
    };
    Failure::new(codes::FORBIDDEN)
        .with_message(message)
        .with_detail("authenticated", false)
        .with_detail("reason", reason)
        .with_actions([
            "Ask whoever runs this server for a token, which `panpan token new` makes, and send it whole, after the word Bearer in the header Authorization",
        ])
}
