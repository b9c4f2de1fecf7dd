//! The implementations, one file per trait. They stand in an unnamed block, so that nothing but the
//! implementations themselves reaches the crate that derives.

mod declare;
mod display;
mod failure;
mod pattern;

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{DeriveInput, parse_quote};

use crate::attr::EnumAttributes;
use crate::valid::{Checked, Own};

/// Everything derived for an enum.
pub(crate) fn expand(checked: &Checked<'_>) -> TokenStream {
    let declarations = declare::declarations(checked);
    let declare = declare::implementation(checked);
    let failure = failure::implementation(checked);
    let display = (!checked.attributes.no_display).then(|| display::implementations(checked));
    let body = quote!(#declarations #declare #failure #display);
    in_block(&checked.attributes, &body)
}

/// Implementations that do nothing, for an input that is refused: whoever uses the type then reads
/// about the mistake alone, not about everything that is missing because of it.
pub(crate) fn fallback(input: &DeriveInput, attributes: &EnumAttributes) -> TokenStream {
    let name = &input.ident;
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    let never = quote!(::core::unreachable!());
    let display = (!attributes.no_display).then(|| {
        quote! {
            impl #impl_generics ::core::fmt::Display for #name #type_generics #where_clause {
                fn fmt(&self, _: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result { #never }
            }
            impl #impl_generics ::std::error::Error for #name #type_generics
            where Self: ::core::fmt::Debug {}
        }
    });
    let body = quote! {
        impl #impl_generics __panpan::DeclareFailures for #name #type_generics #where_clause {
            fn definitions() -> ::std::vec::Vec<__panpan::ErrorDefinition> { #never }
            fn kind(&self) -> __panpan::Kind { #never }
        }
        impl #impl_generics ::core::convert::From<#name #type_generics> for __panpan::Failure
        #where_clause {
            fn from(_: #name #type_generics) -> Self { #never }
        }
        #display
    };
    in_block(attributes, &body)
}

fn in_block(attributes: &EnumAttributes, body: &TokenStream) -> TokenStream {
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

/// The constant that holds a variant's declaration.
fn constant(own: &Own) -> Ident {
    format_ident!("__{}", own.code)
}
