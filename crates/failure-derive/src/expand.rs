//! Emits the implementations, one file per trait. They are in an unnamed constant, so that no other item is
//! visible in the deriving crate.

mod declare;
mod display;
mod failure;
mod pattern;

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{DeriveInput, parse_quote};

use crate::attr::EnumAttributes;
use crate::valid::{Checked, Declared};

/// All implementations for an enum.
pub(crate) fn expand(checked: &Checked<'_>) -> TokenStream {
    let declarations = declare::declarations(checked);
    let declare = declare::implementation(checked);
    let failure = failure::implementation(checked);
    let display = (!checked.attributes.no_display).then(|| display::implementations(checked));
    let body = quote!(#declarations #declare #failure #display);
    in_unnamed_constant(&checked.attributes, &body)
}

/// Dummy implementations for an input that is refused, so that the compiler reports only the mistake and not the
/// missing implementations.
pub(crate) fn fallback(input: &DeriveInput, attributes: &EnumAttributes) -> TokenStream {
    let name = &input.ident;
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    let unreachable = quote!(::core::unreachable!());
    let display = (!attributes.no_display).then(|| {
        quote! {
            impl #impl_generics ::core::fmt::Display for #name #type_generics #where_clause {
                fn fmt(&self, _: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result { #unreachable }
            }
            impl #impl_generics ::std::error::Error for #name #type_generics
            where Self: ::core::fmt::Debug {}
        }
    });
    let body = quote! {
        impl #impl_generics __panpan::DeclareFailures for #name #type_generics #where_clause {
            fn definitions() -> ::std::vec::Vec<__panpan::ErrorDefinition> { #unreachable }
            fn kind(&self) -> __panpan::Kind { #unreachable }
        }
        impl #impl_generics ::core::convert::From<#name #type_generics> for __panpan::Failure
        #where_clause {
            fn from(_: #name #type_generics) -> Self { #unreachable }
        }
        #display
    };
    in_unnamed_constant(attributes, &body)
}

fn in_unnamed_constant(attributes: &EnumAttributes, body: &TokenStream) -> TokenStream {
    let krate = attributes
        .krate
        .clone()
        .unwrap_or_else(|| parse_quote!(::panpan_failure));
    quote! {
        #[doc(hidden)]
        #[allow(deprecated, clippy::all, clippy::nursery, clippy::pedantic, clippy::restriction)]
        const _: () = {
            use #krate::__private as __panpan;
            #body
        };
    }
}

/// The name of the constant with the declaration of a variant.
fn constant(declared: &Declared) -> Ident {
    format_ident!("__{}", declared.code)
}
