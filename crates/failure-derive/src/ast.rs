//! The enum, its variants and their fields, with parsed attributes.
//! Structs and unions are refused here.

use proc_macro2::Ident;
use quote::format_ident;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DataEnum, DeriveInput, GenericArgument, Index, Member, PathArguments, Type};

use crate::attr::{EnumAttributes, FieldAttributes, VariantAttributes, first_paragraph};
use crate::problems::Problems;

/// An enum.
pub(crate) struct Enum<'a> {
    pub(crate) input: &'a DeriveInput,
    pub(crate) attributes: EnumAttributes,
    pub(crate) variants: Vec<Variant<'a>>,
}

/// A variant.
pub(crate) struct Variant<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) attributes: VariantAttributes,
    pub(crate) docs: Option<String>,
    pub(crate) fields: Vec<Field<'a>>,
    /// The problems of parsing, kept per variant so that problems are reported in the order of the variants.
    pub(crate) problems: Problems,
}

/// A field.
pub(crate) struct Field<'a> {
    /// The name or position of the field.
    pub(crate) member: Member,
    /// The name that patterns bind: unlike any constant or argument around it, with the span of the field, so
    /// that compiler errors point to the field and not to the derive.
    pub(crate) binding: Ident,
    pub(crate) ty: &'a Type,
    pub(crate) attributes: FieldAttributes,
    pub(crate) docs: Option<String>,
}

impl<'a> Enum<'a> {
    /// Parses the input; `None` if it is not an enum with variants.
    pub(crate) fn read(
        input: &'a DeriveInput,
        attributes: EnumAttributes,
        problems: &mut Problems,
    ) -> Option<Self> {
        let data = data(input, problems)?;
        Some(Self {
            input,
            attributes,
            variants: data.variants.iter().map(Variant::read).collect(),
        })
    }
}

impl<'a> Variant<'a> {
    fn read(variant: &'a syn::Variant) -> Self {
        let mut problems = Problems::default();
        let attributes = VariantAttributes::of(&variant.attrs, &mut problems);
        let fields = variant.fields.iter().enumerate();
        Self {
            ident: &variant.ident,
            attributes,
            docs: first_paragraph(&variant.attrs),
            fields: fields
                .map(|(index, field)| Field::read(index, field, &mut problems))
                .collect(),
            problems,
        }
    }

    /// The field of a name or position in a message. A field without a name can be used by its name in the
    /// details, too.
    pub(crate) fn field(&self, name: &str) -> Option<&Field<'a>> {
        let named = self.fields.iter().find(|field| field.name() == name);
        let renamed = || {
            let unnamed = |field: &&Field<'_>| matches!(field.member, Member::Unnamed(_));
            let mut positions = self.fields.iter().filter(unnamed);
            positions.find(|field| field.detail_name().as_deref() == Some(name))
        };
        named.or_else(renamed)
    }
}

impl<'a> Field<'a> {
    fn read(index: usize, field: &'a syn::Field, problems: &mut Problems) -> Self {
        let member = match &field.ident {
            Some(ident) => Member::Named(ident.clone()),
            None => Member::Unnamed(Index::from(index)),
        };
        let name = display(&member);
        Self {
            binding: format_ident!("__field_{name}", span = field.ty.span()),
            member,
            ty: &field.ty,
            attributes: FieldAttributes::of(&field.attrs, problems),
            docs: first_paragraph(&field.attrs),
        }
    }

    /// The name or position, as in a message.
    pub(crate) fn name(&self) -> String {
        display(&self.member)
    }

    /// Whether the field is part of the details.
    pub(crate) fn is_detail(&self) -> bool {
        self.attributes.skip.is_none() && self.attributes.source.is_none()
    }

    /// The name of the field in the details, if it has one.
    pub(crate) fn detail_name(&self) -> Option<String> {
        let renamed = self.attributes.rename.as_ref();
        match (renamed.and_then(|it| it.value.as_ref()), &self.member) {
            (Some(name), _) => Some(name.value()),
            (None, Member::Named(_)) => Some(self.name()),
            (None, Member::Unnamed(_)) => None,
        }
    }

    /// The `T` of a field written as `Option<T>`.
    pub(crate) fn optional(&self) -> Option<&'a Type> {
        let Type::Path(path) = self.ty else {
            return None;
        };
        let last = path.path.segments.last()?;
        let PathArguments::AngleBracketed(arguments) = &last.arguments else {
            return None;
        };
        match arguments.args.first() {
            Some(GenericArgument::Type(inner)) if last.ident == "Option" => Some(inner),
            _ => None,
        }
    }
}

fn display(member: &Member) -> String {
    match member {
        Member::Named(ident) => ident.unraw().to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

fn data<'a>(input: &'a DeriveInput, problems: &mut Problems) -> Option<&'a DataEnum> {
    let other = match &input.data {
        Data::Enum(data) if data.variants.is_empty() => {
            problems.add(
                &input.ident,
                "the enum has no variants; add a variant with `#[failure(code = \"…\")]` for each way \
                 the operation can fail",
            );
            return None;
        }
        Data::Enum(data) => return Some(data),
        Data::Struct(_) => "struct",
        Data::Union(_) => "union",
    };
    let message = format!(
        "`Failure` can only be derived for an enum with one variant per code; turn this {other} into \
         a variant of an enum"
    );
    problems.add(&input.ident, message);
    None
}
