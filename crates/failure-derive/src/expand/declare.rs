//! Emits the constants with the declarations, and `DeclareFailures`.

use std::fmt::Debug;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;

use super::pattern::{Bounds, binding, inner};
use super::{constant, failure};
use crate::ast::Field;
use crate::valid::{Checked, CheckedVariant, Declared, Form};

/// One constant per code.
pub(super) fn declarations(checked: &Checked<'_>) -> TokenStream {
    let declared = checked
        .variants
        .iter()
        .filter_map(|variant| match &variant.form {
            Form::Declared(declared) => Some(declaration(declared)),
            Form::Transparent => None,
        });
    declared.collect()
}

/// `impl DeclareFailures for Enum`.
pub(super) fn implementation(checked: &Checked<'_>) -> TokenStream {
    let name = &checked.input.ident;
    let mut bounds = failure::bounds(checked);
    require_schemas(checked, &mut bounds);
    let generics = bounds.generics();
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let definitions = checked.variants.iter().map(definition);
    let kinds = checked.variants.iter().map(kind);
    quote! {
        #[automatically_derived]
        impl #impl_generics __panpan::DeclareFailures for #name #type_generics #where_clause {
            fn definitions() -> ::std::vec::Vec<__panpan::ErrorDefinition> {
                __panpan::Definitions::default() #(#definitions)* .finish()
            }

            fn kind(&self) -> __panpan::Kind {
                match self { #(#kinds)* }
            }
        }
    }
}

fn declaration(declared: &Declared) -> TokenStream {
    let name = constant(declared);
    let Declared {
        code,
        actions,
        alternatives,
        ..
    } = declared;
    let facts = facts(declared);
    let description = option(declared.description.as_ref());
    let effect = option(declared.effect.map(|it| word("Effect", it)));
    let retry_after_ms = option(declared.retry_after_ms);
    quote! {
        const #name: __panpan::Declaration = __panpan::Declaration {
            code: #code,
            description: #description,
            facts: #facts,
            effect: #effect,
            retry_after_ms: #retry_after_ms,
            actions: &[#(#actions),*],
            alternatives: &[#(#alternatives),*],
        };
    }
}

fn facts(declared: &Declared) -> TokenStream {
    let facts = declared.facts;
    let category = option(facts.category.map(|it| word("Category", it)));
    let retryable = option(facts.retryable);
    let remedies = option(facts.remedies.map(|remedies| {
        let remedies = remedies.iter().map(|it| word("Remedy", it));
        quote!(__panpan::Remedies::of(&[#(#remedies),*]))
    }));
    let http_status = option(facts.http_status);
    let jsonrpc_code = option(facts.jsonrpc_code);
    quote! {
        __panpan::Facts {
            category: #category,
            retryable: #retryable,
            remedies: #remedies,
            http_status: #http_status,
            jsonrpc_code: #jsonrpc_code,
        }
    }
}

/// A value of a vocabulary; its `Debug` is the name of the variant.
fn word(vocabulary: &str, value: impl Debug) -> TokenStream {
    let vocabulary = Ident::new(vocabulary, Span::call_site());
    let variant = Ident::new(&format!("{value:?}"), Span::call_site());
    quote!(__panpan::#vocabulary::#variant)
}

fn option(value: Option<impl ToTokens>) -> TokenStream {
    match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    }
}

fn definition(variant: &CheckedVariant<'_>) -> TokenStream {
    match &variant.form {
        Form::Transparent => {
            let ty = inner(variant).ty;
            quote_spanned!(ty.span()=> .include::<#ty>())
        }
        Form::Declared(declared) => {
            let constant = constant(declared);
            let fields = variant.variant.fields.iter().filter_map(property);
            quote!(.declare(&#constant, __panpan::Details::default() #(#fields)*))
        }
    }
}

fn property(field: &Field<'_>) -> Option<TokenStream> {
    let name = field.detail_name().filter(|_| field.is_detail())?;
    let docs = field.docs.as_deref().unwrap_or_default();
    let span = field.ty.span();
    Some(match (field.optional(), field.ty) {
        (Some(inner), _) => quote_spanned!(span=> .optional::<#inner>(#name, #docs)),
        (None, ty) => quote_spanned!(span=> .required::<#ty>(#name, #docs)),
    })
}

fn kind(variant: &CheckedVariant<'_>) -> TokenStream {
    let this = quote!(Self);
    match &variant.form {
        Form::Transparent => {
            let field = inner(variant);
            let pattern = binding(&this, variant, &TokenStream::new(), [field]);
            let (ty, value) = (field.ty, &field.binding);
            quote!(#pattern => __panpan::inner_kind::<#ty>(#value),)
        }
        Form::Declared(declared) => {
            let pattern = binding(&this, variant, &TokenStream::new(), []);
            let constant = constant(declared);
            quote!(#pattern => #constant.kind(),)
        }
    }
}

fn require_schemas(checked: &Checked<'_>, bounds: &mut Bounds<'_>) {
    let declared = checked
        .variants
        .iter()
        .filter(|it| matches!(it.form, Form::Declared(_)));
    for field in declared
        .flat_map(|it| &it.variant.fields)
        .filter(|it| it.is_detail())
    {
        let ty = field.optional().unwrap_or(field.ty);
        bounds.require(ty, &quote!(__panpan::JsonSchema));
    }
}
