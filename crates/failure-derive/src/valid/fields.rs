//! A variant's fields among themselves, and its message against them.

use std::collections::HashSet;

use syn::{LitStr, Member};

use super::{object, said};
use crate::ast::{Field, Variant};
use crate::message::Template;
use crate::problems::{Problems, nearest};

/// Notes what is wrong with the fields.
pub(super) fn check(variant: &Variant<'_>, problems: &mut Problems) {
    let mut names = HashSet::new();
    for field in &variant.fields {
        check_marks(field, problems);
        check_name(field, &mut names, problems);
    }
    check_once(variant, "retry_after_ms", problems, |field| {
        field.attributes.retry_after_ms.is_some()
    });
    check_once(variant, "source", problems, |field| {
        field.attributes.source.is_some()
    });
}

/// The message cut at its placeholders, if each of them is a detail.
pub(super) fn message(
    variant: &Variant<'_>,
    problems: &mut Problems,
) -> Option<(Template, LitStr)> {
    let literal = said(&variant.attributes.message)?;
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
        "a source, which is shown as a cause"
    } else if field.attributes.skip.is_some() {
        "skipped"
    } else {
        return None;
    };
    Some(format!(
        "`{name}` is {reason}, and a message shows only what the details hold too; remove \
         `{{{name}}}` from the message, or keep the field among the details"
    ))
}

fn check_marks(field: &Field<'_>, problems: &mut Problems) {
    let attributes = &field.attributes;
    if attributes.source.is_some() {
        let message = "a source is never among the details; remove `skip`".to_owned();
        object(&attributes.skip, message, problems);
        let message = "a source is an error and not a delay; mark another field".to_owned();
        object(&attributes.retry_after_ms, message, problems);
    }
    if !field.is_detail() {
        let message =
            "the field is not among the details, so its name there means nothing; remove \
                       `rename`"
                .to_owned();
        object(&attributes.rename, message, problems);
    }
}

fn check_name(field: &Field<'_>, names: &mut HashSet<String>, problems: &mut Problems) {
    if !field.is_detail() {
        return;
    }
    match field.detail_name() {
        Some(name) if !names.insert(name.clone()) => {
            let message = format!(
                "two fields are named `{name}` in the details; rename one of them with \
                 `#[failure(rename = \"…\")]`"
            );
            match (&field.attributes.rename, &field.member) {
                (Some(rename), _) => problems.add(&rename.tokens, message),
                (None, member) => problems.add(member, message),
            }
        }
        None if field.attributes.rename.is_none() => {
            let message = "a caller reads the details by name, and this field has none; write \
                           `#[failure(rename = \"path\")]` with a telling name, use a variant with \
                           named fields, or leave the field out with `#[failure(skip)]`";
            problems.add(field.ty, message);
        }
        _ => {}
    }
}

fn check_once(
    variant: &Variant<'_>,
    mark: &str,
    problems: &mut Problems,
    marked: fn(&Field<'_>) -> bool,
) {
    let mut marked = variant.fields.iter().filter(|field| marked(field));
    let Some(first) = marked.next() else {
        return;
    };
    for again in marked {
        let message = format!(
            "`{}` is marked `{mark}` already, and a failure has one; remove the mark from one of \
             the two",
            first.name()
        );
        match &again.member {
            Member::Named(ident) => problems.add(ident, message),
            Member::Unnamed(_) => problems.add(again.ty, message),
        }
    }
}
