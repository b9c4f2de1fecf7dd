//! `#[derive(Failure)]`: declares the failures of an enum.
//!
//! The stages: `ast` parses the enum and `attr` its attributes, `valid` checks them, `expand` emits the code.
//! Facts about codes come from the catalogue; the emitted code calls helpers in `panpan-failure`.

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
    let parsed = Enum::read(input, attributes.clone(), &mut problems);
    if let Some(checked) = parsed.and_then(|it| valid::check(it, &mut problems)) {
        return expand::expand(&checked);
    }
    let mut errors = problems.into_compile_errors();
    errors.extend(expand::fallback(input, &attributes));
    errors
}
