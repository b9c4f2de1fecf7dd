//! A code together with the facts that it fixes, so that the two cannot disagree.
//!
//! Facts come from the catalogue, or from a declaration that was checked against it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use panpan_catalogue::{
    Category, Domain, Effect, Entry, FixedFact, FlatCategory, Grpc, Known, Objection, Remedies,
    Remedy, lookup, representative, row_for_status,
};

use crate::code::Code;
use crate::failure::{Alternative, Recovery};

pub use panpan_catalogue::{DECLARED_JSONRPC_CODE, Facts};

/// A code and its fixed facts.
#[derive(Clone, Debug, PartialEq)]
pub struct Kind {
    code: Code,
    known: Option<Known>,
    category: Category,
    retryable: bool,
    remedies: Remedies,
    http_status: u16,
    jsonrpc_code: i64,
}

/// An objection to the declaration of a code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", objection_message(code, objection))]
pub struct KindError {
    /// The declared code.
    pub code: Code,
    /// The objection.
    pub objection: Objection,
}

impl Kind {
    /// The kind of a code in the catalogue.
    pub fn of(code: &str) -> Option<Self> {
        lookup(code).map(Self::from)
    }

    /// The kind of a declared code, or all objections to the declaration.
    pub fn declared(code: Code, facts: Facts) -> Result<Self, Vec<KindError>> {
        let objections = facts.objections(code.as_str());
        if objections.is_empty() {
            return Ok(Self::resolve(code, facts));
        }
        let errors = objections.into_iter().map(|objection| KindError {
            code: code.clone(),
            objection,
        });
        Err(errors.collect())
    }

    /// The kind of a received code. The catalogue overrides the received facts, and `retryable` is ignored
    /// in a category that is never retryable.
    pub fn resolve(code: Code, facts: Facts) -> Self {
        if let Some(known) = lookup(code.as_str()) {
            let kind = Self::from(known);
            let http_status = facts.http_status.unwrap_or(kind.http_status);
            return Self {
                http_status,
                ..kind
            };
        }
        let facts = facts.named(code.as_str());
        let category = facts.implied_category();
        let retryable = facts.implied_retryable();
        let row = fallback_row(category, facts.http_status);
        Self {
            code,
            known: None,
            category,
            retryable,
            remedies: facts
                .remedies
                .filter(|remedies| !remedies.is_empty())
                .unwrap_or_else(|| default_remedies(row, retryable)),
            http_status: facts.http_status.unwrap_or(row.http),
            jsonrpc_code: facts.jsonrpc_code.unwrap_or(DECLARED_JSONRPC_CODE),
        }
    }

    /// The code.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// The category.
    pub fn category(&self) -> Category {
        self.category
    }

    /// Whether the identical call can succeed later.
    pub fn retryable(&self) -> bool {
        self.retryable
    }

    /// The kinds of next step that can help.
    pub fn remedies(&self) -> Remedies {
        self.remedies
    }

    /// The HTTP status of the response.
    pub fn http_status(&self) -> u16 {
        self.http_status
    }

    /// The number in a JSON-RPC error object.
    pub fn jsonrpc_code(&self) -> i64 {
        self.jsonrpc_code
    }

    /// Fixed facts that differ between two declarations of a code: the fact, the value here and the other
    /// value.
    pub fn disagreements(&self, other: &Kind) -> impl Iterator<Item = (FixedFact, String, String)> {
        let (ours, theirs) = (self.facts(), other.facts());
        FixedFact::ALL.iter().filter_map(move |&fact| {
            let (ours, theirs) = (ours.text_of(fact)?, theirs.text_of(fact)?);
            (ours != theirs).then_some((fact, ours, theirs))
        })
    }

    /// Whether the code is in the catalogue.
    pub fn is_catalogued(&self) -> bool {
        self.known.is_some()
    }

    /// Whether the code is in the catalogue and all facts are unchanged.
    pub fn is_as_catalogued(&self) -> bool {
        self.known
            .is_some_and(|it| it.row().http == self.http_status)
    }

    /// A short title: from the catalogue, or the code as words.
    pub fn title(&self) -> Cow<'static, str> {
        match self.known {
            Some(known) => known.title(),
            None => Cow::Owned(as_words(self.code.as_str())),
        }
    }

    /// The assumed effect, unless an occurrence states one.
    pub fn default_effect(&self) -> Effect {
        self.row().effect
    }

    /// The functional area; for a declared code the tool, unless its category implies another area.
    pub fn domain(&self) -> Domain {
        match (self.known, self.category) {
            (Some(known), _) => known.domain(),
            (None, Category::Network) => Domain::Network,
            (None, Category::AuthFail) => Domain::Auth,
            (None, Category::Resource) => Domain::Resource,
            (None, _) => Domain::Tool,
        }
    }

    /// The google.rpc code.
    pub fn grpc(&self) -> Grpc {
        self.row().grpc
    }

    /// The code of the flat dialect.
    pub fn flat_name(&self) -> Cow<'static, str> {
        match self.known {
            Some(known) => known.flat_name(),
            None => Cow::Owned(self.code.as_str().to_ascii_lowercase()),
        }
    }

    /// The category of the flat dialect.
    pub fn flat_category(&self) -> FlatCategory {
        self.row().flat_category
    }

    /// The recovery, unless an occurrence states one.
    pub fn default_recovery(&self) -> Recovery {
        let row = &self.row().recovery;
        if self.known.is_some() {
            return Recovery::from(row);
        }
        Recovery {
            retry_after_ms: row.retry_after_ms.filter(|_| self.retryable),
            max_retries: row.max_retries.filter(|_| self.retryable),
            required_actions: self
                .remedies
                .iter()
                .map(|remedy| advice(remedy).to_owned())
                .collect(),
            ..Recovery::default()
        }
    }

    /// The delay of the default recovery.
    pub fn default_retry_after_ms(&self) -> Option<u64> {
        let delay_ms = self.row().recovery.retry_after_ms;
        delay_ms.filter(|_| self.retryable || self.known.is_some())
    }

    /// Whether these are the actions of the default recovery.
    pub fn has_default_actions(&self, actions: &[String]) -> bool {
        match self.known {
            Some(known) => actions == known.row().recovery.actions,
            None => self.remedies.iter().map(advice).eq(actions),
        }
    }

    /// Whether a sentence is the general advice of a remedy, as declared codes give it.
    pub fn is_general_action(action: &str) -> bool {
        Remedy::ALL.iter().any(|remedy| advice(*remedy) == action)
    }

    /// Whether these are the alternatives of the default recovery.
    pub fn has_default_alternatives(&self, alternatives: &[Alternative]) -> bool {
        let defaults = match self.known {
            Some(known) => known.row().recovery.alternatives,
            None => &[],
        };
        let has_no_example = |it: &Alternative| it.example.is_none();
        let described = alternatives.iter().map(|it| it.description.as_str());
        described.eq(defaults.iter().copied()) && alternatives.iter().all(has_no_example)
    }

    /// The HTTP status, if it differs from the status that the code or category implies.
    pub(crate) fn stated_http_status(&self) -> Option<u16> {
        let implied = match self.known {
            Some(known) => known.http(),
            None => representative(self.category).http,
        };
        (self.http_status != implied).then_some(self.http_status)
    }

    /// The JSON-RPC number that a declaration states.
    pub(crate) fn stated_jsonrpc_code(&self) -> Option<i64> {
        let stated = self.known.is_none() && self.jsonrpc_code != DECLARED_JSONRPC_CODE;
        stated.then_some(self.jsonrpc_code)
    }

    fn facts(&self) -> Facts {
        Facts {
            category: Some(self.category),
            retryable: Some(self.retryable),
            remedies: Some(self.remedies),
            http_status: Some(self.http_status),
            jsonrpc_code: Some(self.jsonrpc_code),
        }
    }

    /// The catalogue row that supplies the facts which a declaration leaves out.
    fn row(&self) -> &'static Entry {
        match self.known {
            Some(known) => known.row(),
            None => fallback_row(self.category, Some(self.http_status)),
        }
    }
}

/// The declared code that owns each JSON-RPC number, among declarations that are used together.
#[derive(Clone, Debug, Default)]
pub struct NumberOwners(BTreeMap<i64, Code>);

impl NumberOwners {
    /// Registers the number of a declared code; returns the code that already owns the number, if any.
    /// The default number may be shared.
    pub fn other_owner(&mut self, kind: &Kind) -> Option<&Code> {
        let number = kind.jsonrpc_code();
        if kind.is_catalogued() || number == DECLARED_JSONRPC_CODE {
            return None;
        }
        let owner = self.0.entry(number).or_insert_with(|| kind.code().clone());
        Some(&*owner).filter(|owner| *owner != kind.code())
    }
}

impl From<Known> for Kind {
    fn from(known: Known) -> Self {
        Self {
            code: match known {
                Known::Row(row) => Code::from(row),
                Known::Member { .. } => Code::new(known.code()).expect("members are well formed"),
            },
            known: Some(known),
            category: known.category(),
            retryable: known.retryable(),
            remedies: known.remedies(),
            http_status: known.http(),
            jsonrpc_code: known.jsonrpc().into(),
        }
    }
}

impl From<&'static Entry> for Kind {
    fn from(row: &'static Entry) -> Self {
        Known::Row(row).into()
    }
}

/// The message for an objection, with advice. `subject` is the code, or a phrase in place of a malformed
/// code.
pub fn objection_message(subject: impl fmt::Display, objection: &Objection) -> String {
    match objection {
        Objection::Protocol => format!(
            "{subject} is reserved for the protocol; declare your own code, such as MY_{subject}"
        ),
        Objection::Contradiction {
            fact,
            fixed,
            declared,
        } => format!(
            "the catalogue fixes {} of {subject} as {fixed}, not {declared}; leave it out, or \
             choose another code",
            fact.word()
        ),
        Objection::NotRetryable(category) => format!(
            "{subject} cannot be retryable in category {category}; use a retryable category such \
             as TRANSIENT, or drop retryable"
        ),
        Objection::VainWait => format!(
            "{subject} is not retryable, so waiting cannot help; replace wait with another remedy, or \
             declare it retryable in a category such as TRANSIENT"
        ),
        Objection::MissingWait => format!(
            "{subject} is retryable, but wait is not among its remedies; add wait, leave remedy \
             out, or declare retryable as false"
        ),
        Objection::Status(status) => format!(
            "{subject} declares HTTP status {status}; a failure has a status from 400 to 599"
        ),
        Objection::FamilyStatus { named, declared } => format!(
            "{subject} means HTTP status {named}, not {declared}; leave the status out, or \
             choose another code"
        ),
        Objection::JsonRpc(number) => format!(
            "{subject} declares JSON-RPC code {number}, which is reserved; use \
             {DECLARED_JSONRPC_CODE} or above"
        ),
        Objection::TakenNumber { number, owner } => format!(
            "{subject} declares JSON-RPC code {number}, which belongs to {owner}; use \
             {DECLARED_JSONRPC_CODE}, or a higher number that no code of the catalogue has"
        ),
    }
}

/// The row of the status, if its category matches; otherwise the representative row of the category.
fn fallback_row(category: Category, status: Option<u16>) -> &'static Entry {
    let by_status = status
        .map(row_for_status)
        .filter(|row| row.category == category);
    by_status.unwrap_or_else(|| representative(category))
}

fn default_remedies(row: &Entry, retryable: bool) -> Remedies {
    if retryable || !row.retryable {
        row.remedies
    } else {
        Remedies::of(&[Remedy::AskHuman])
    }
}

fn advice(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::Wait => "Wait, then repeat the identical call",
        Remedy::ChangeInput => "Change the input as the message says, then call again",
        Remedy::ChangeState => "Change the state that blocks this call, then call again",
        Remedy::Reauthenticate => "Get a credential that allows this, then call again",
        Remedy::UseAlternative => "Use another operation to reach the goal",
        Remedy::AskHuman => "Ask the person responsible for this tool",
    }
}

/// `FILE_NOT_FOUND` as `File not found`.
fn as_words(code: &str) -> String {
    let mut text = code.replace('_', " ").to_ascii_lowercase();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}
