//! Checks a parsed enum: every code is well formed, every fact agrees with the catalogue, every placeholder is a
//! detail.
//!
//! The rules about codes are in the catalogue; here are their positions in the source and their messages.

mod code;
mod fields;

use std::collections::HashMap;

use panpan_catalogue::{Effect, Facts};
use syn::{DeriveInput, LitStr};

use crate::ast::{Enum, Field, Variant};
use crate::attr::EnumAttributes;
use crate::items::Parsed;
use crate::message::Template;
use crate::problems::Problems;

/// A valid enum.
pub(crate) struct Checked<'a> {
    pub(crate) input: &'a DeriveInput,
    pub(crate) attributes: EnumAttributes,
    pub(crate) variants: Vec<CheckedVariant<'a>>,
}

/// A valid variant.
pub(crate) struct CheckedVariant<'a> {
    pub(crate) variant: Variant<'a>,
    pub(crate) form: Form,
}

/// The two forms of a variant.
pub(crate) enum Form {
    /// The only field is the failure.
    Transparent,
    /// The variant declares its own code.
    Declared(Box<Declared>),
}

/// A declared code with its attributes.
pub(crate) struct Declared {
    pub(crate) code: String,
    pub(crate) facts: Facts,
    pub(crate) effect: Option<Effect>,
    pub(crate) description: Option<String>,
    pub(crate) message: Option<(Template, LitStr)>,
    pub(crate) retry_after_ms: Option<u64>,
    pub(crate) actions: Vec<LitStr>,
    pub(crate) alternatives: Vec<LitStr>,
}

/// Checks the enum; `None` if there is any problem, including earlier ones.
pub(crate) fn check<'a>(parsed: Enum<'a>, problems: &mut Problems) -> Option<Checked<'a>> {
    let mut variants = Vec::new();
    let mut owners = HashMap::new();
    for mut variant in parsed.variants {
        problems.absorb(std::mem::take(&mut variant.problems));
        let form = form(&variant, &parsed.input.ident.to_string(), problems);
        if let Some(Form::Declared(declared)) = &form {
            check_unique(declared, &variant, &mut owners, problems);
        }
        variants.extend(form.map(|form| CheckedVariant { variant, form }));
    }
    problems.is_empty().then(|| Checked {
        input: parsed.input,
        attributes: parsed.attributes,
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
    let description = value(&attributes.description).map(LitStr::value);
    let declared = Declared {
        facts: code::facts(attributes),
        effect: value(&attributes.effect).copied(),
        description: description.or_else(|| variant.docs.clone()),
        message: fields::message(variant, problems),
        retry_after_ms: value(&attributes.retry_after_ms).copied(),
        actions: value(&attributes.actions).cloned().unwrap_or_default(),
        alternatives: value(&attributes.alternatives).cloned().unwrap_or_default(),
        code: code?,
    };
    Some(Form::Declared(Box::new(declared)))
}

/// The value of an item that is present and could be parsed.
fn value<T>(item: &Option<Parsed<T>>) -> Option<&T> {
    item.as_ref()?.value.as_ref()
}

fn check_unique(
    declared: &Declared,
    variant: &Variant<'_>,
    owners: &mut HashMap<String, String>,
    problems: &mut Problems,
) {
    let name = variant.ident.to_string();
    if let Some(owner) = owners.get(&declared.code) {
        let message = format!(
            "duplicate code {}, already used by `{owner}`; give `{name}` another code, or merge the two \
             variants and add a field for the difference",
            declared.code
        );
        if let Some(code) = &variant.attributes.code {
            problems.add(&code.tokens, message);
        }
    } else {
        owners.insert(declared.code.clone(), name);
    }
}

fn check_transparent(variant: &Variant<'_>, transparent: &Parsed<()>, problems: &mut Problems) {
    if let [field] = variant.fields.as_slice() {
        refuse_attributes(field, problems);
    } else {
        let message = format!(
            "`transparent` needs a variant with exactly one field, the inner failure; `{}` has {}",
            variant.ident,
            variant.fields.len()
        );
        problems.add(&transparent.name, message);
    }
    for name in (variant.attributes.names.iter()).filter(|it| **it != transparent.name) {
        let message = format!(
            "a transparent variant takes `{name}` from the inner failure; remove `{name}`, or remove \
             `transparent` and give the variant a code"
        );
        problems.add(name, message);
    }
}

/// A transparent field is the failure and has no attributes.
fn refuse_attributes(field: &Field<'_>, problems: &mut Problems) {
    for name in &field.attributes.names {
        let message = format!(
            "the field of a transparent variant is the failure and has no attributes; remove `{name}`"
        );
        problems.add(name, message);
    }
}

/// Adds a problem at an item that is present and could be parsed.
fn add_at<T>(item: &Option<Parsed<T>>, message: String, problems: &mut Problems) {
    if let Some(item) = item.as_ref().filter(|item| item.value.is_some()) {
        problems.add(&item.tokens, message);
    }
}
