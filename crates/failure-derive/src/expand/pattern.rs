//! Patterns that bind fields, and the bounds of a generic enum.

use std::collections::HashSet;

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Generics, Type, WherePredicate, parse_quote};

use crate::ast::Field;
use crate::valid::{Checked, CheckedVariant};

/// The only field of a transparent variant.
pub(super) fn inner<'v, 'a>(variant: &'v CheckedVariant<'a>) -> &'v Field<'a> {
    &variant.variant.fields[0]
}

/// A pattern that binds some of the fields and ignores the others.
pub(super) fn binding<'f, 'a: 'f>(
    path: &TokenStream,
    variant: &CheckedVariant<'_>,
    by: &TokenStream,
    fields: impl IntoIterator<Item = &'f Field<'a>>,
) -> TokenStream {
    let ident = variant.variant.ident;
    let mut bound = HashSet::new();
    let bindings = fields
        .into_iter()
        .filter(|field| bound.insert(&field.binding))
        .map(
            |Field {
                 member, binding, ..
             }| quote!(#member: #by #binding,),
        );
    quote!(#path::#ident { #(#bindings)* .. })
}

/// Bounds on field types that mention a parameter of the enum. Other types need no bounds; the compiler reports
/// a missing implementation at the field.
pub(super) struct Bounds<'a> {
    generics: &'a Generics,
    parameters: HashSet<Ident>,
    predicates: Vec<WherePredicate>,
}

impl<'a> Bounds<'a> {
    pub(super) fn of(checked: &Checked<'a>) -> Self {
        let generics = &checked.input.generics;
        let types = generics.type_params().map(|it| it.ident.clone());
        let constants = generics.const_params().map(|it| it.ident.clone());
        Self {
            generics,
            parameters: types.chain(constants).collect(),
            predicates: Vec::new(),
        }
    }

    /// Whether the enum has type or constant parameters.
    pub(super) fn are_needed(&self) -> bool {
        !self.parameters.is_empty()
    }

    /// Requires a type to implement a trait.
    pub(super) fn require(&mut self, ty: &Type, bound: &TokenStream) {
        if self.mentions(ty.to_token_stream()) {
            self.push(parse_quote!(#ty: #bound));
        }
    }

    /// Adds a predicate.
    pub(super) fn push(&mut self, predicate: WherePredicate) {
        self.predicates.push(predicate);
    }

    /// The enum's generics with the bounds added.
    pub(super) fn generics(self) -> Generics {
        let mut generics = self.generics.clone();
        if !self.predicates.is_empty() {
            generics
                .make_where_clause()
                .predicates
                .extend(self.predicates);
        }
        generics
    }

    fn mentions(&self, tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(ident) => self.parameters.contains(&ident),
            TokenTree::Group(group) => self.mentions(group.stream()),
            _ => false,
        })
    }
}
