//! Everything that is wrong with one derive, gathered so that it is reported at once, and the
//! nearest right word for a wrong one.

use std::fmt::Display;

use proc_macro2::TokenStream;
use quote::ToTokens;

/// The problems found so far.
#[derive(Default)]
pub(crate) struct Problems(Vec<syn::Error>);

impl Problems {
    /// Notes a problem at the offending tokens.
    pub(crate) fn add(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.0.push(syn::Error::new_spanned(tokens, message));
    }

    /// Takes the value out of a result, or notes why there is none.
    pub(crate) fn keep<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.0.push(error)).ok()
    }

    /// Takes over what was found elsewhere.
    pub(crate) fn absorb(&mut self, others: Problems) {
        self.0.extend(others.0);
    }

    /// Whether nothing is wrong.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The problems as code that does not compile.
    pub(crate) fn into_compile_errors(self) -> TokenStream {
        self.0
            .iter()
            .map(syn::Error::to_compile_error)
            .collect::<TokenStream>()
    }
}

/// What to write instead of a wrong word: the nearest of the right ones, and all of them.
pub(crate) fn choice(word: &str, candidates: &[&str]) -> String {
    let quoted: Vec<_> = candidates.iter().map(|it| format!("`{it}`")).collect();
    let all = quoted.join(", ");
    match nearest(word, candidates.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? Choose from {all}"),
        None => format!("choose from {all}"),
    }
}

/// The candidate a word most likely means.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    panpan_catalogue::nearest(word, candidates).first().copied()
}
