//! Checks the fields of a variant, and its message against them.

use std::collections::HashSet;

use syn::{LitStr, Member};

use super::{add_at, value};
use crate::ast::{Field, Variant};
use crate::message::Template;
use crate::problems::{Problems, nearest};

/// Adds the problems of the fields.
pub(super) fn check(variant: &Variant<'_>, problems: &mut Problems) {
    let mut names = HashSet::new();
    for field in &variant.fields {
        check_attributes(field, problems);
        check_name(field, &mut names, problems);
    }
    check_once(variant, "retry_after_ms", problems, |field| {
        field.attributes.retry_after_ms.is_some()
    });
    check_once(variant, "source", problems, |field| {
        field.attributes.source.is_some()
    });
}

/// The parsed message; adds a problem for each placeholder that is not a detail.
pub(super) fn message(
    variant: &Variant<'_>,
    problems: &mut Problems,
) -> Option<(Template, LitStr)> {
    let literal = value(&variant.attributes.message)?;
    let template = Template::read(&literal.value());
    let template = problems.keep(template.map_err(|it| syn::Error::new(literal.span(), it)))?;
    for (name, _) in template.fields() {
        if let Some(problem) = placeholder_problem(name, variant) {
            problems.add(literal, problem);
        }
    }
    Some((template, literal.clone()))
}

fn placeholder_problem(name: &str, variant: &Variant<'_>) -> Option<String> {
    let Some(field) = variant.field(name) else {
        let names: Vec<String> = variant.fields.iter().map(Field::name).collect();
        let advice = match nearest(name, names.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "add the field, or write the text without it".to_owned(),
        };
        return Some(format!(
            "`{}` has no field `{name}`; {advice}",
            variant.ident
        ));
    };
    let reason = if field.attributes.source.is_some() {
        "a source"
    } else if field.attributes.skip.is_some() {
        "skipped"
    } else {
        return None;
    };
    Some(format!(
        "`{name}` is {reason}, and a message can only show fields in the details; remove \
         `{{{name}}}` from the message, or keep the field in the details"
    ))
}

fn check_attributes(field: &Field<'_>, problems: &mut Problems) {
    let attributes = &field.attributes;
    if attributes.source.is_some() {
        let message = "a source is never in the details; remove `skip`".to_owned();
        add_at(&attributes.skip, message, problems);
        let message = "a source is an error, not a delay; mark another field".to_owned();
        add_at(&attributes.retry_after_ms, message, problems);
    }
    if !field.is_detail() {
        let message =
            "the field is not in the details, so `rename` has no effect; remove it".to_owned();
        add_at(&attributes.rename, message, problems);
    }
}

fn check_name(field: &Field<'_>, names: &mut HashSet<String>, problems: &mut Problems) {
    if !field.is_detail() {
        return;
    }
    match field.detail_name() {
        Some(name) if !names.insert(name.clone()) => {
            let message = format!(
                "duplicate name `{name}` in the details; rename one of the fields with \
                 `#[failure(rename = \"…\")]`"
            );
            match (&field.attributes.rename, &field.member) {
                (Some(rename), _) => problems.add(&rename.tokens, message),
                (None, member) => problems.add(member, message),
            }
        }
        None if field.attributes.rename.is_none() => {
            let message = "the field needs a name in the details; write \
                           `#[failure(rename = \"path\")]`, use a variant with named fields, or leave \
                           the field out with `#[failure(skip)]`";
            problems.add(field.ty, message);
        }
        _ => {}
    }
}

fn check_once(
    variant: &Variant<'_>,
    attribute: &str,
    problems: &mut Problems,
    marked: fn(&Field<'_>) -> bool,
) {
    let mut marked = variant.fields.iter().filter(|field| marked(field));
    let Some(first) = marked.next() else {
        return;
    };
    for again in marked {
        let message = format!(
            "duplicate `{attribute}`, already on `{}`; remove one of them",
            first.name()
        );
        match &again.member {
            Member::Named(ident) => problems.add(ident, message),
            Member::Unnamed(_) => problems.add(again.ty, message),
        }
    }
}
