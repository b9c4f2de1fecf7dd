//! One row of the catalogue: a code and every fact fixed by it.
//!
//! Rows are built by const functions, so that a table reads as a list of sentences and a forgotten
//! column keeps a stated default. The rows themselves are in `table`.

use crate::facts::{Category, Domain, Effect, FlatCategory, Grpc, Remedies, Remedy};

/// A code with all its fixed facts.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    /// The code itself.
    pub code: &'static str,
    /// A number unique in the catalogue; its first digit is the domain.
    pub number: u16,
    /// A few words that never change, for headings.
    pub title: &'static str,
    /// The class the code belongs to.
    pub category: Category,
    /// Whether the identical call may ever succeed later.
    pub retryable: bool,
    /// What is assumed about side effects when an occurrence says nothing.
    pub effect: Effect,
    /// What can turn the failure into a success.
    pub remedies: Remedies,
    /// The code in a JSON-RPC error object.
    pub jsonrpc: i32,
    /// The HTTP status the failure is answered with.
    pub http: u16,
    /// The code in a google.rpc.Status.
    pub grpc: Grpc,
    /// The code of the flat dialect, where it is not the code in lower case.
    pub flat_name: Option<&'static str>,
    /// The category of the flat dialect.
    pub flat_category: FlatCategory,
    /// The way forward given when an occurrence names no better one.
    pub recovery: DefaultRecovery,
    /// The page of prose.
    pub page: &'static str,
    /// The mappings in which this code stands for all codes that share its value.
    pub(crate) canonical: &'static [Mapping],
}

/// What to do about a code, whatever the occurrence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DefaultRecovery {
    /// How long to wait before the identical call is worth repeating.
    pub retry_after_ms: Option<u64>,
    /// How often repeating it is reasonable.
    pub max_retries: Option<u32>,
    /// Other ways to the goal.
    pub alternatives: &'static [&'static str],
    /// What has to be done first.
    pub actions: &'static [&'static str],
}

/// A mapping that sends several codes to one value, and needs one of them as the way back.
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
    /// A row with the facts its category implies; the other functions refine it.
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

    /// Whether this code stands for all codes that share its value in the mapping.
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
