//! One row of the catalogue: a code and the facts it fixes.
//!
//! Const functions build the rows, so that a table is easy to read and an omitted column keeps a
//! stated default. The rows are in `table`.

use crate::facts::{Category, Domain, Effect, FlatCategory, Grpc, Remedies, Remedy};

/// A code with all the facts it fixes.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    /// The code itself.
    pub code: &'static str,
    /// A number unique in the catalogue; its first digit is the domain.
    pub number: u16,
    /// A short heading, the same for every occurrence.
    pub title: &'static str,
    /// The class the code belongs to.
    pub category: Category,
    /// Whether the identical call may ever succeed later.
    pub retryable: bool,
    /// The effect that is assumed when an occurrence states none.
    pub effect: Effect,
    /// What can turn the failure into a success.
    pub remedies: Remedies,
    /// The code in a JSON-RPC error object.
    pub jsonrpc: i32,
    /// The HTTP status of a response with this failure.
    pub http: u16,
    /// The code in a google.rpc.Status.
    pub grpc: Grpc,
    /// The code in the flat dialect, if it is not the code in lower case.
    pub flat_name: Option<&'static str>,
    /// The category in the flat dialect.
    pub flat_category: FlatCategory,
    /// The recovery of an occurrence that states none of its own.
    pub recovery: DefaultRecovery,
    /// The text of its page, in Markdown.
    pub page: &'static str,
    /// The mappings in which this code represents all codes that share its value.
    pub(crate) canonical: &'static [Mapping],
}

/// What to do about a code, independent of the occurrence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DefaultRecovery {
    /// How long to wait before repeating the identical call.
    pub retry_after_ms: Option<u64>,
    /// How often to repeat it at most.
    pub max_retries: Option<u32>,
    /// Other ways to reach the goal.
    pub alternatives: &'static [&'static str],
    /// What has to be done first.
    pub actions: &'static [&'static str],
}

/// A mapping from several codes to one value; a canonical code is the way back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    /// Codes to JSON-RPC numbers.
    JsonRpc,
    /// Codes to google.rpc codes.
    Grpc,
    /// Codes to names of the flat dialect.
    Flat,
}

impl Entry {
    /// A row with the facts that its category implies; the other functions refine it.
    pub(crate) const fn new(
        code: &'static str,
        page: &'static str,
        number: u16,
        title: &'static str,
        category: Category,
    ) -> Self {
        Self {
            code,
            number,
            title,
            category,
            retryable: category.retryable(),
            effect: Effect::None,
            remedies: Remedies::of(&[]),
            jsonrpc: number as i32,
            http: 500,
            grpc: Grpc::Unknown,
            flat_name: None,
            flat_category: FlatCategory::System,
            recovery: DefaultRecovery {
                retry_after_ms: None,
                max_retries: None,
                alternatives: &[],
                actions: &[],
            },
            page,
            canonical: &[],
        }
    }

    /// The domain named by the first digit of the number.
    pub const fn domain(&self) -> Domain {
        Domain::of_number(self.number)
    }

    /// Whether this code represents all codes that share its value in the mapping.
    pub fn is_canonical(&self, mapping: Mapping) -> bool {
        self.canonical.contains(&mapping)
    }

    pub(crate) const fn http(mut self, status: u16) -> Self {
        self.http = status;
        self
    }

    pub(crate) const fn grpc(mut self, code: Grpc) -> Self {
        self.grpc = code;
        self
    }

    pub(crate) const fn jsonrpc(mut self, code: i32) -> Self {
        self.jsonrpc = code;
        self
    }

    pub(crate) const fn flat(mut self, category: FlatCategory) -> Self {
        self.flat_category = category;
        self
    }

    pub(crate) const fn flat_as(mut self, name: &'static str, category: FlatCategory) -> Self {
        self.flat_name = Some(name);
        self.flat_category = category;
        self
    }

    pub(crate) const fn effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }

    pub(crate) const fn remedies(mut self, remedies: &[Remedy]) -> Self {
        self.remedies = Remedies::of(remedies);
        self
    }

    /// Marks the one exception: a code that is not retried although its category is.
    pub(crate) const fn never_retried(mut self) -> Self {
        self.retryable = false;
        self
    }

    pub(crate) const fn retries(mut self, max_retries: u32, retry_after_ms: u64) -> Self {
        self.recovery.max_retries = Some(max_retries);
        self.recovery.retry_after_ms = Some(retry_after_ms);
        self
    }

    pub(crate) const fn actions(mut self, actions: &'static [&'static str]) -> Self {
        self.recovery.actions = actions;
        self
    }

    pub(crate) const fn alternatives(mut self, alternatives: &'static [&'static str]) -> Self {
        self.recovery.alternatives = alternatives;
        self
    }

    pub(crate) const fn canonical(mut self, mappings: &'static [Mapping]) -> Self {
        self.canonical = mappings;
        self
    }
}
