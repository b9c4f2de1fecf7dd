//! Collects all problems of one derive, so that they are reported together, and suggests the nearest valid word.

use std::fmt::Display;

use proc_macro2::TokenStream;
use quote::ToTokens;

/// The problems found so far.
#[derive(Default)]
pub(crate) struct Problems(Vec<syn::Error>);

impl Problems {
    /// Adds a problem at the given tokens.
    pub(crate) fn add(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.0.push(syn::Error::new_spanned(tokens, message));
    }

    /// The value of a result; an error is added as a problem.
    pub(crate) fn keep<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.0.push(error)).ok()
    }

    /// Adds other problems.
    pub(crate) fn absorb(&mut self, others: Problems) {
        self.0.extend(others.0);
    }

    /// Whether there are no problems.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The problems as compile errors.
    pub(crate) fn into_compile_errors(self) -> TokenStream {
        self.0
            .iter()
            .map(syn::Error::to_compile_error)
            .collect::<TokenStream>()
    }
}

/// Advice for an invalid word: the nearest valid word, and all of them.
pub(crate) fn choice(word: &str, candidates: &[&str]) -> String {
    let quoted: Vec<_> = candidates.iter().map(|it| format!("`{it}`")).collect();
    let all = quoted.join(", ");
    match nearest(word, candidates.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? Choose from {all}"),
        None => format!("choose from {all}"),
    }
}

/// The candidate that is nearest to a word.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    panpan_catalogue::nearest(word, candidates).first().copied()
}
