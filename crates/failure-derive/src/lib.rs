//! `#[derive(Failure)]`: an enum of errors becomes declared failures.
//!
//! The way through: `ast` (what was written) with `attr` (what the attributes say), then
//! `valid` (is it allowed), then `expand` (what to emit). All facts about codes come from the
//! catalogue; what the emitted code calls is in the contract crate.

mod ast;
mod attr;
mod expand;
mod items;
mod message;
mod problems;
mod valid;
mod value;

use proc_macro2::TokenStream;
use syn::{DeriveInput, parse_macro_input};

use crate::ast::Enum;
use crate::attr::EnumAttributes;
use crate::problems::Problems;

#[doc = include_str!("../manual.md")]
#[proc_macro_derive(Failure, attributes(failure))]
pub fn derive_failure(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    derive(&input).into()
}

fn derive(input: &DeriveInput) -> TokenStream {
    let mut problems = Problems::default();
    let attributes = EnumAttributes::of(&input.attrs, &mut problems);
    let written = Enum::read(input, attributes.clone(), &mut problems);
    if let Some(checked) = written.and_then(|it| valid::check(it, &mut problems)) {
        return expand::expand(&checked);
    }
    let mut refused = problems.into_compile_errors();
    refused.extend(expand::fallback(input, &attributes));
    refused
}
