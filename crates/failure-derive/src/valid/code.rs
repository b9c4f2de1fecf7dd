//! Checks the code and facts of a variant against the catalogue.

use panpan_catalogue::{
    DECLARED_JSONRPC_CODE, Facts, FixedFact, Objection, Remedies, check_code, lookup,
};

use super::{add_at, value};
use crate::ast::Variant;
use crate::attr::VariantAttributes;
use crate::items::Parsed;
use crate::problems::Problems;

/// The code, if it is well formed; adds all problems of the code and its facts.
pub(super) fn check(
    variant: &Variant<'_>,
    enum_name: &str,
    problems: &mut Problems,
) -> Option<String> {
    let attributes = &variant.attributes;
    let Some(item) = &attributes.code else {
        if attributes.malformed {
            return None;
        }
        let likely = screaming_snake(&variant.ident.to_string());
        let message = format!(
            "`{}` has no code; write `#[failure(code = \"{likely}\")]`. Callers rely on the code, so \
             it is not derived from the name of the variant",
            variant.ident
        );
        problems.add(variant.ident, message);
        return None;
    };
    let code = item.value.as_ref()?.text.clone();
    if let Err(error) = check_code(&code) {
        let likely = screaming_snake(&code);
        let advice = match check_code(&likely) {
            Ok(()) => format!("; write `{likely}`"),
            Err(_) => String::new(),
        };
        problems.add(&item.tokens, format!("{error}{advice}"));
        return None;
    }
    for objection in checkable_facts(&code, attributes).objections(&code) {
        explain(&code, objection, attributes, enum_name, problems);
    }
    check_delay(&code, variant, problems);
    Some(code)
}

/// The declared facts.
pub(super) fn facts(attributes: &VariantAttributes) -> Facts {
    Facts {
        category: value(&attributes.category).copied(),
        retryable: value(&attributes.retryable).copied(),
        remedies: value(&attributes.remedy).map(|remedies| Remedies::of(remedies)),
        http_status: value(&attributes.http).copied(),
        jsonrpc_code: value(&attributes.jsonrpc).copied(),
    }
}

/// The facts that can be checked. A category that could not be parsed is not missing, so facts that depend on
/// the category are not checked then.
fn checkable_facts(code: &str, attributes: &VariantAttributes) -> Facts {
    let facts = facts(attributes);
    let is_known = lookup(code).is_some();
    let check_retryable = is_known || category_is_clear(attributes);
    let check_remedies = is_known || retryability_is_clear(attributes);
    Facts {
        retryable: facts.retryable.filter(|_| check_retryable),
        remedies: facts.remedies.filter(|_| check_remedies),
        ..facts
    }
}

fn retryability_is_clear(attributes: &VariantAttributes) -> bool {
    category_is_clear(attributes) && is_clear(&attributes.retryable)
}

fn category_is_clear(attributes: &VariantAttributes) -> bool {
    is_clear(&attributes.category) && is_clear(&attributes.http)
}

/// Whether an item is absent or could be parsed.
fn is_clear<T>(item: &Option<Parsed<T>>) -> bool {
    item.is_none() || value(item).is_some()
}

/// Adds an objection at the attribute that has to be changed.
fn explain(
    code: &str,
    objection: Objection,
    attributes: &VariantAttributes,
    enum_name: &str,
    problems: &mut Problems,
) {
    let message = wording(code, &objection, enum_name);
    match objection {
        Objection::Protocol => add_at(&attributes.code, message, problems),
        Objection::Contradiction { fact, .. } => match fact {
            FixedFact::Category => add_at(&attributes.category, message, problems),
            FixedFact::Retryable => add_at(&attributes.retryable, message, problems),
            FixedFact::Remedy => add_at(&attributes.remedy, message, problems),
            FixedFact::JsonRpc => add_at(&attributes.jsonrpc, message, problems),
        },
        Objection::NotRetryable(_) => add_at(&attributes.retryable, message, problems),
        Objection::VainWait | Objection::MissingWait => {
            add_at(&attributes.remedy, message, problems);
        }
        Objection::Status(_) | Objection::FamilyStatus { .. } => {
            add_at(&attributes.http, message, problems);
        }
        Objection::JsonRpc(_) | Objection::TakenNumber { .. } => {
            add_at(&attributes.jsonrpc, message, problems);
        }
    }
}

fn wording(code: &str, objection: &Objection, enum_name: &str) -> String {
    match objection {
        Objection::Protocol => format!(
            "{code} is reserved for the protocol; choose your own code, such as `{}`",
            own_code(enum_name, code)
        ),
        Objection::Contradiction { fact, fixed, .. } => {
            let name = attribute(*fact);
            format!(
                "the catalogue fixes `{name}` of {code} as {fixed}; remove `{name}`, or choose your \
                 own code"
            )
        }
        Objection::NotRetryable(category) => format!(
            "{code} is in category {category}, which is never retryable; choose a retryable \
             category such as `TRANSIENT`, or remove `retryable`"
        ),
        Objection::VainWait => format!(
            "{code} is not retryable, so waiting cannot help; replace `wait` with another remedy, or \
             choose a retryable category such as `TRANSIENT`"
        ),
        Objection::MissingWait => format!(
            "{code} is retryable, so `wait` must be one of its remedies; add `wait`, remove `remedy`, \
             or write `retryable = false`"
        ),
        Objection::Status(status) => {
            format!("{status} is not the status of a failure; write a status from 400 to 599")
        }
        Objection::FamilyStatus { named, declared } => format!(
            "{code} means status {named}, not {declared}; remove `http`, or choose your own code"
        ),
        Objection::JsonRpc(number) => format!(
            "{number} is reserved in JSON-RPC; write {DECLARED_JSONRPC_CODE} or above, or remove \
             `jsonrpc`"
        ),
        Objection::TakenNumber { number, owner } => format!(
            "{number} belongs to {owner}; write another number of {DECLARED_JSONRPC_CODE} or above, or \
             remove `jsonrpc`"
        ),
    }
}

/// The attribute of a fact.
fn attribute(fact: FixedFact) -> &'static str {
    match fact {
        FixedFact::JsonRpc => "jsonrpc",
        fact => fact.member(),
    }
}

/// A delay needs a retryable code.
fn check_delay(code: &str, variant: &Variant<'_>, problems: &mut Problems) {
    let attributes = &variant.attributes;
    let (retryable, alternative) = match lookup(code) {
        Some(known) => (known.retryable(), "your own code"),
        None => (
            facts(attributes).implied_retryable() || !category_is_clear(attributes),
            "a retryable category such as `TRANSIENT`",
        ),
    };
    if retryable {
        return;
    }
    let message = format!(
        "{code} is not retryable, so a delay cannot help; remove `retry_after_ms`, or choose \
         {alternative}"
    );
    add_at(&attributes.retry_after_ms, message.clone(), problems);
    for field in &variant.fields {
        add_at(&field.attributes.retry_after_ms, message.clone(), problems);
    }
}

/// `ReadFileError` and `NOT_FOUND` make `READ_FILE_NOT_FOUND`.
fn own_code(enum_name: &str, code: &str) -> String {
    let subject = ["Error", "Failure"]
        .iter()
        .find_map(|suffix| enum_name.strip_suffix(suffix))
        .filter(|subject| !subject.is_empty())
        .unwrap_or(enum_name);
    format!("{}_{code}", screaming_snake(subject))
}

/// `FileNotFound` as `FILE_NOT_FOUND`.
fn screaming_snake(name: &str) -> String {
    panpan_catalogue::code_from_name(name.trim_start_matches("r#"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_codes() {
        assert_eq!(screaming_snake("r#Type"), "TYPE");
        assert_eq!(
            own_code("ReadFileError", "NOT_FOUND"),
            "READ_FILE_NOT_FOUND"
        );
        assert_eq!(own_code("Error", "TIMEOUT"), "ERROR_TIMEOUT");
    }
}
