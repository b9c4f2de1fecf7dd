//! Emits `Display`, which shows the message, and `Error`, which returns the source.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::LitStr;
use syn::spanned::Spanned;

use super::constant;
use super::pattern::{Bounds, binding, inner};
use crate::ast::Field;
use crate::message::{Piece, Template, format_trait};
use crate::valid::{Checked, CheckedVariant, Declared, Form};

/// The message of a variant.
pub(super) enum Text {
    /// A fixed text.
    Fixed(LitStr),
    /// The default message of the declaration.
    Default,
    /// The arguments of `format!(…)`.
    Format(TokenStream),
}

/// `impl Display for Enum` and `impl Error for Enum`.
pub(super) fn implementations(checked: &Checked<'_>) -> TokenStream {
    let display = display(checked);
    let error = error(checked);
    quote!(#display #error)
}

/// The message of a variant.
pub(super) fn text(variant: &CheckedVariant<'_>, declared: &Declared) -> Text {
    let Some((template, literal)) = &declared.message else {
        return Text::Default;
    };
    let mut format = String::new();
    let mut fixed = String::new();
    for piece in &template.pieces {
        match piece {
            Piece::Text(text) => {
                fixed.push_str(text);
                format.push_str(&text.replace('{', "{{").replace('}', "}}"));
            }
            Piece::Field { name, format: spec } => {
                let binding = variant.variant.field(name).map(|field| &field.binding);
                let binding = binding.map(Ident::to_string).unwrap_or_default();
                let colon = if spec.is_empty() { "" } else { ":" };
                format.push_str(&format!("{{{binding}{colon}{spec}}}"));
            }
        }
    }
    let bindings = used(variant, template).map(|field| &field.binding);
    let mut bindings: Vec<_> = bindings.collect();
    if bindings.is_empty() {
        return Text::Fixed(LitStr::new(&fixed, literal.span()));
    }
    bindings.sort();
    bindings.dedup();
    let format = LitStr::new(&format, literal.span());
    Text::Format(quote!(#format, #(#bindings = #bindings),*))
}

/// Adds the bounds for formatting the message.
pub(super) fn require_formats(
    variant: &CheckedVariant<'_>,
    declared: &Declared,
    bounds: &mut Bounds<'_>,
) {
    let Some((template, _)) = &declared.message else {
        return;
    };
    for (name, format) in template.fields() {
        if let Some(field) = variant.variant.field(name) {
            let name = Ident::new(format_trait(format), Span::call_site());
            bounds.require(field.ty, &quote!(::core::fmt::#name));
        }
    }
}

/// The error of a source field, as an option.
pub(super) fn source(field: &Field<'_>) -> TokenStream {
    let value = &field.binding;
    let span = field.ty.span();
    match field.optional() {
        Some(_) => quote_spanned! {span=> {
            use __panpan::AsSource as _;
            #value.as_ref().map(|__source| __source.as_source())
        }},
        None => quote_spanned! {span=> {
            use __panpan::AsSource as _;
            ::core::option::Option::Some(#value.as_source())
        }},
    }
}

fn used<'v, 'a>(
    variant: &'v CheckedVariant<'a>,
    template: &'v Template,
) -> impl Iterator<Item = &'v Field<'a>> {
    template
        .fields()
        .filter_map(|(name, _)| variant.variant.field(name))
}

fn display(checked: &Checked<'_>) -> TokenStream {
    let name = &checked.input.ident;
    let mut bounds = Bounds::of(checked);
    for variant in &checked.variants {
        match &variant.form {
            Form::Transparent => bounds.require(inner(variant).ty, &quote!(::core::fmt::Display)),
            Form::Declared(declared) => require_formats(variant, declared, &mut bounds),
        }
    }
    let generics = bounds.generics();
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let arms = checked.variants.iter().map(display_arm);
    quote! {
        #[automatically_derived]
        impl #impl_generics ::core::fmt::Display for #name #type_generics #where_clause {
            fn fmt(&self, __formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                match self { #(#arms)* }
            }
        }
    }
}

fn display_arm(variant: &CheckedVariant<'_>) -> TokenStream {
    let by = TokenStream::new();
    let pattern = |fields: Vec<_>| binding(&quote!(Self), variant, &by, fields);
    match &variant.form {
        Form::Transparent => {
            let field = inner(variant);
            let (pattern, value) = (pattern(vec![field]), &field.binding);
            quote_spanned! {field.ty.span()=>
                #pattern => ::core::fmt::Display::fmt(#value, __formatter),
            }
        }
        Form::Declared(declared) => {
            let template = declared.message.as_ref().map(|(template, _)| template);
            let fields = template.into_iter().flat_map(|it| used(variant, it));
            let pattern = pattern(fields.collect());
            let constant = constant(declared);
            match text(variant, declared) {
                Text::Fixed(text) => quote!(#pattern => __formatter.write_str(#text),),
                Text::Default => quote!(#pattern => __formatter.write_str(&#constant.message()),),
                Text::Format(arguments) => {
                    quote!(#pattern => ::core::write!(__formatter, #arguments),)
                }
            }
        }
    }
}

fn error(checked: &Checked<'_>) -> TokenStream {
    let name = &checked.input.ident;
    let (_, type_generics, _) = checked.input.generics.split_for_impl();
    let mut bounds = Bounds::of(checked);
    if bounds.are_needed() {
        bounds.push(
            syn::parse_quote!(#name #type_generics: ::core::fmt::Debug + ::core::fmt::Display),
        );
    }
    for field in checked.variants.iter().filter_map(source_field) {
        let ty = field.optional().unwrap_or(field.ty);
        bounds.require(ty, &quote!(::std::error::Error + 'static));
    }
    let generics = bounds.generics();
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let source = source_method(checked);
    quote! {
        #[automatically_derived]
        impl #impl_generics ::std::error::Error for #name #type_generics #where_clause {
            #source
        }
    }
}

/// The source field of a variant.
fn source_field<'v, 'a>(variant: &'v CheckedVariant<'a>) -> Option<&'v Field<'a>> {
    match variant.form {
        Form::Transparent => Some(inner(variant)),
        Form::Declared(_) => {
            let mut fields = variant.variant.fields.iter();
            fields.find(|field| field.attributes.source.is_some())
        }
    }
}

/// The method `source`, if any variant has a source.
fn source_method(checked: &Checked<'_>) -> Option<TokenStream> {
    checked.variants.iter().find_map(source_field)?;
    let arms = checked.variants.iter().map(|variant| {
        let field = source_field(variant);
        let pattern = binding(&quote!(Self), variant, &TokenStream::new(), field);
        let value = match (field, &variant.form) {
            (Some(field), Form::Declared(_)) => source(field),
            (Some(field), Form::Transparent) => {
                let value = &field.binding;
                quote_spanned!(field.ty.span()=> ::std::error::Error::source(#value))
            }
            (None, _) => quote!(::core::option::Option::None),
        };
        quote!(#pattern => #value,)
    });
    Some(quote! {
        fn source(&self) -> ::core::option::Option<&(dyn ::std::error::Error + 'static)> {
            match self { #(#arms)* }
        }
    })
}
