//! Emits `From<Enum> for Failure`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use super::constant;
use super::display::{self, Text};
use super::pattern::{Bounds, binding, inner};
use crate::ast::Field;
use crate::valid::{Checked, CheckedVariant, Declared, Form};

/// `impl From<Enum> for Failure`.
pub(super) fn implementation(checked: &Checked<'_>) -> TokenStream {
    let name = &checked.input.ident;
    let generics = bounds(checked).generics();
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let (_, type_generics, _) = checked.input.generics.split_for_impl();
    let arms = checked.variants.iter().map(|it| arm(&quote!(#name), it));
    quote! {
        #[automatically_derived]
        impl #impl_generics ::core::convert::From<#name #type_generics> for __panpan::Failure
        #where_clause {
            fn from(__error: #name #type_generics) -> Self {
                match __error { #(#arms)* }
            }
        }
    }
}

/// The bounds for the conversion.
pub(super) fn bounds<'a>(checked: &Checked<'a>) -> Bounds<'a> {
    let mut bounds = Bounds::of(checked);
    for variant in &checked.variants {
        match &variant.form {
            Form::Transparent => {
                bounds.require(inner(variant).ty, &quote!(__panpan::DeclareFailures));
            }
            Form::Declared(declared) => require(variant, declared, &mut bounds),
        }
    }
    bounds
}

fn require(variant: &CheckedVariant<'_>, declared: &Declared, bounds: &mut Bounds<'_>) {
    display::require_formats(variant, declared, bounds);
    for field in &variant.variant.fields {
        let ty = field.optional().unwrap_or(field.ty);
        if field.attributes.source.is_some() {
            bounds.require(ty, &quote!(::std::error::Error + 'static));
        }
        if field.attributes.retry_after_ms.is_some() {
            bounds.require(ty, &quote!(__panpan::DelayMs));
        }
        if field.is_detail() {
            bounds.require(ty, &quote!(__panpan::Serialize));
        }
    }
}

fn arm(path: &TokenStream, variant: &CheckedVariant<'_>) -> TokenStream {
    match &variant.form {
        Form::Transparent => {
            let field = inner(variant);
            let pattern = binding(path, variant, &TokenStream::new(), [field]);
            let (ty, value) = (field.ty, &field.binding);
            quote!(#pattern => __panpan::inner_failure::<#ty>(#value),)
        }
        Form::Declared(declared) => {
            let used = variant.variant.fields.iter().filter(|it| is_used(it));
            let pattern = binding(path, variant, &quote!(ref), used);
            let constant = constant(declared);
            let message = match display::text(variant, declared) {
                Text::Fixed(text) => quote!(#text),
                Text::Default => quote!(#constant.message()),
                Text::Format(arguments) => quote!(::std::format!(#arguments)),
            };
            let steps = variant.variant.fields.iter().map(steps);
            quote!(#pattern => #constant.occurs(#message) #(#steps)* .failure(),)
        }
    }
}

fn is_used(field: &Field<'_>) -> bool {
    let attributes = &field.attributes;
    field.is_detail() || attributes.source.is_some() || attributes.retry_after_ms.is_some()
}

/// The builder calls for a field.
fn steps(field: &Field<'_>) -> TokenStream {
    let value = &field.binding;
    let span = field.ty.span();
    let mut steps = TokenStream::new();
    if let Some(name) = field.detail_name().filter(|_| field.is_detail()) {
        let step = match field.optional() {
            Some(_) => quote_spanned!(span=> .optional_detail(#name, #value)),
            None => quote_spanned!(span=> .detail(#name, #value)),
        };
        steps.extend(step);
    }
    if field.attributes.retry_after_ms.is_some() {
        steps.extend(quote_spanned!(span=> .retry_after(#value)));
    }
    if field.attributes.source.is_some() {
        let source = display::source(field);
        steps.extend(quote!(.caused_by(#source)));
    }
    steps
}
