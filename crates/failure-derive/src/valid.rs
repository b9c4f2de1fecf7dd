//! Whether what was written may be said, and what is left when it may: every code well formed, every
//! fact in agreement with the catalogue, every placeholder a detail.
//!
//! The rules about codes are the catalogue's; here are the places they point to and the words.

mod code;
mod fields;

use std::collections::HashMap;

use panpan_catalogue::{Effect, Facts};
use syn::{DeriveInput, LitStr};

use crate::ast::{Enum, Field, Variant};
use crate::attr::{EnumAttributes, VariantAttributes};
use crate::items::Said;
use crate::message::Template;
use crate::problems::Problems;

/// An enum with nothing wrong in it.
pub(crate) struct Checked<'a> {
    pub(crate) input: &'a DeriveInput,
    pub(crate) attributes: EnumAttributes,
    pub(crate) variants: Vec<CheckedVariant<'a>>,
}

/// A variant with nothing wrong in it.
pub(crate) struct CheckedVariant<'a> {
    pub(crate) variant: Variant<'a>,
    pub(crate) form: Form,
}

/// The two forms of a variant.
pub(crate) enum Form {
    /// The one field is the failure.
    Transparent,
    /// The variant has a code of its own.
    Own(Box<Own>),
}

/// A code and what is said about it.
pub(crate) struct Own {
    pub(crate) code: String,
    pub(crate) facts: Facts,
    pub(crate) effect: Option<Effect>,
    pub(crate) description: Option<String>,
    pub(crate) message: Option<(Template, LitStr)>,
    pub(crate) retry_after_ms: Option<u64>,
    pub(crate) actions: Vec<LitStr>,
    pub(crate) alternatives: Vec<LitStr>,
}

/// Checks everything; `None` if anything is wrong, now or before.
pub(crate) fn check<'a>(written: Enum<'a>, problems: &mut Problems) -> Option<Checked<'a>> {
    let mut variants = Vec::new();
    let mut owners = HashMap::new();
    for mut variant in written.variants {
        problems.absorb(std::mem::take(&mut variant.problems));
        let form = form(&variant, &written.input.ident.to_string(), problems);
        if let Some(Form::Own(own)) = &form {
            unique(own, &variant, &mut owners, problems);
        }
        variants.extend(form.map(|form| CheckedVariant { variant, form }));
    }
    problems.is_empty().then(|| Checked {
        input: written.input,
        attributes: written.attributes,
        variants,
    })
}

fn form(variant: &Variant<'_>, enum_name: &str, problems: &mut Problems) -> Option<Form> {
    if let Some(transparent) = &variant.attributes.transparent {
        check_transparent(variant, transparent, problems);
        return Some(Form::Transparent);
    }
    fields::check(variant, problems);
    let code = code::check(variant, enum_name, problems);
    let attributes = &variant.attributes;
    let description = said(&attributes.description).map(LitStr::value);
    let own = Own {
        facts: code::facts(attributes),
        effect: said(&attributes.effect).copied(),
        description: description.or_else(|| variant.docs.clone()),
        message: fields::message(variant, problems),
        retry_after_ms: said(&attributes.retry_after_ms).copied(),
        actions: said(&attributes.actions).cloned().unwrap_or_default(),
        alternatives: said(&attributes.alternatives).cloned().unwrap_or_default(),
        code: code?,
    };
    Some(Form::Own(Box::new(own)))
}

/// What was said, if it was said and could be read.
fn said<T>(said: &Option<Said<T>>) -> Option<&T> {
    said.as_ref()?.value.as_ref()
}

fn unique(
    own: &Own,
    variant: &Variant<'_>,
    owners: &mut HashMap<String, String>,
    problems: &mut Problems,
) {
    let name = variant.ident.to_string();
    if let Some(owner) = owners.get(&own.code) {
        let message = format!(
            "{} is the code of `{owner}` already; give `{name}` a code of its own, or make the two \
             one variant with a field for the difference",
            own.code
        );
        if let Some(code) = &variant.attributes.code {
            problems.add(&code.tokens, message);
        }
    } else {
        owners.insert(own.code.clone(), name);
    }
}

fn check_transparent(variant: &Variant<'_>, transparent: &Said<()>, problems: &mut Problems) {
    if let [field] = variant.fields.as_slice() {
        refuse_marks(field, problems);
    } else {
        let message = format!(
            "`transparent` stands on a variant with exactly one field, the inner failure; `{}` has \
             {}",
            variant.ident,
            variant.fields.len()
        );
        problems.add(&transparent.name, message);
    }
    for name in other_names(&variant.attributes) {
        let message = format!(
            "a transparent variant takes everything from the inner failure; remove `{name}`, or \
             remove `transparent` and give the variant a code"
        );
        problems.add(name, message);
    }
}

/// A transparent field is the failure; nothing else can be said about it.
fn refuse_marks(field: &Field<'_>, problems: &mut Problems) {
    let attributes = &field.attributes;
    let marks = [
        &attributes.retry_after_ms,
        &attributes.skip,
        &attributes.source,
    ];
    let names = marks.into_iter().flatten().map(|said| &said.name);
    let renamed = attributes.rename.iter().map(|said| &said.name);
    for name in names.chain(renamed) {
        let message = format!("the field of a transparent variant is the failure; remove `{name}`");
        problems.add(name, message);
    }
}

fn other_names(attributes: &VariantAttributes) -> impl Iterator<Item = &proc_macro2::Ident> {
    let VariantAttributes {
        code,
        category,
        http,
        retryable,
        remedy,
        effect,
        jsonrpc,
        description,
        message,
        retry_after_ms,
        actions,
        alternatives,
        transparent: _,
        garbled: _,
    } = attributes;
    [
        name(code),
        name(category),
        name(http),
        name(retryable),
        name(remedy),
        name(effect),
        name(jsonrpc),
        name(description),
        name(message),
        name(retry_after_ms),
        name(actions),
        name(alternatives),
    ]
    .into_iter()
    .flatten()
}

fn name<T>(said: &Option<Said<T>>) -> Option<&proc_macro2::Ident> {
    said.as_ref().map(|said| &said.name)
}

/// Notes a problem where something was said and could be read.
fn object<T>(said: &Option<Said<T>>, message: String, problems: &mut Problems) {
    if let Some(said) = said.as_ref().filter(|said| said.value.is_some()) {
        problems.add(&said.tokens, message);
    }
}
