//! A variant's code and facts against the catalogue, and the words for what does not agree.

use panpan_catalogue::{
    DECLARED_JSONRPC_CODE, Facts, FixedFact, Objection, Remedies, check_code, lookup,
};

use super::{object, said};
use crate::ast::Variant;
use crate::attr::VariantAttributes;
use crate::items::Said;
use crate::problems::Problems;

/// The code, if there is a well-formed one; everything wrong with it and its facts is noted.
pub(super) fn check(
    variant: &Variant<'_>,
    enum_name: &str,
    problems: &mut Problems,
) -> Option<String> {
    let attributes = &variant.attributes;
    let Some(written) = &attributes.code else {
        if attributes.garbled {
            return None;
        }
        let likely = screaming(&variant.ident.to_string());
        let message = format!(
            "`{}` has no code; write `#[failure(code = \"{likely}\")]`. Callers rely on it, so it \
             does not follow the name of the variant by itself",
            variant.ident
        );
        problems.add(variant.ident, message);
        return None;
    };
    let code = written.value.as_ref()?.text.clone();
    if let Err(error) = check_code(&code) {
        let likely = screaming(&code);
        let advice = match check_code(&likely) {
            Ok(()) => format!("; write `{likely}`"),
            Err(_) => String::new(),
        };
        problems.add(&written.tokens, format!("{error}{advice}"));
        return None;
    }
    for refusal in judged(&code, attributes).objections(&code) {
        explain(&code, refusal, attributes, enum_name, problems);
    }
    check_delay(&code, variant, problems);
    Some(code)
}

/// What is said about the code.
pub(super) fn facts(attributes: &VariantAttributes) -> Facts {
    Facts {
        category: said(&attributes.category).copied(),
        retryable: said(&attributes.retryable).copied(),
        remedies: said(&attributes.remedy).map(|them| Remedies::of(them)),
        http_status: said(&attributes.http).copied(),
        jsonrpc_code: said(&attributes.jsonrpc).copied(),
    }
}

/// The facts as far as they can be judged: a category that could not be read is not one that is
/// missing, and nothing is concluded from it. The catalogue judges each fact by itself.
fn judged(code: &str, attributes: &VariantAttributes) -> Facts {
    let facts = facts(attributes);
    let is_known = lookup(code).is_some();
    let claim_is_judged = is_known || category_is_clear(attributes);
    let remedies_are_judged = is_known || retryability_is_clear(attributes);
    Facts {
        retryable: facts.retryable.filter(|_| claim_is_judged),
        remedies: facts.remedies.filter(|_| remedies_are_judged),
        ..facts
    }
}

fn retryability_is_clear(attributes: &VariantAttributes) -> bool {
    category_is_clear(attributes) && is_clear(&attributes.retryable)
}

fn category_is_clear(attributes: &VariantAttributes) -> bool {
    is_clear(&attributes.category) && is_clear(&attributes.http)
}

/// Whether it was left out, or could be read.
fn is_clear<T>(written: &Option<Said<T>>) -> bool {
    written.is_none() || said(written).is_some()
}

/// Notes an objection at the attribute that is to be changed.
fn explain(
    code: &str,
    refusal: Objection,
    attributes: &VariantAttributes,
    enum_name: &str,
    problems: &mut Problems,
) {
    let message = wording(code, &refusal, enum_name);
    match refusal {
        Objection::Protocol => object(&attributes.code, message, problems),
        Objection::Contradiction { fact, .. } => match fact {
            FixedFact::Category => object(&attributes.category, message, problems),
            FixedFact::Retryable => object(&attributes.retryable, message, problems),
            FixedFact::Remedy => object(&attributes.remedy, message, problems),
            FixedFact::JsonRpc => object(&attributes.jsonrpc, message, problems),
        },
        Objection::NotRetryable(_) => object(&attributes.retryable, message, problems),
        Objection::VainWait | Objection::MissingWait => {
            object(&attributes.remedy, message, problems);
        }
        Objection::Status(_) | Objection::FamilyStatus { .. } => {
            object(&attributes.http, message, problems);
        }
        Objection::JsonRpc(_) | Objection::TakenNumber { .. } => {
            object(&attributes.jsonrpc, message, problems);
        }
    }
}

fn wording(code: &str, refusal: &Objection, enum_name: &str) -> String {
    match refusal {
        Objection::Protocol => format!(
            "{code} is given by the protocol itself, never by an operation; choose a code of your \
             own, such as `{}`",
            own_code(enum_name, code)
        ),
        Objection::Contradiction { fact, fixed, .. } => {
            let name = attribute(*fact);
            format!(
                "the catalogue fixes `{name}` of {code} as {fixed}; remove `{name}`, or choose a \
                 code of your own"
            )
        }
        Objection::NotRetryable(category) => format!(
            "{code} is in category {category}, which is never retryable; choose a retryable \
             category such as `TRANSIENT`, or remove `retryable`"
        ),
        Objection::VainWait => format!(
            "{code} is not retryable, so waiting cannot help; write another remedy in place of \
             `wait`, or choose a retryable category such as `TRANSIENT`"
        ),
        Objection::MissingWait => format!(
            "{code} is retryable, so waiting is one of its remedies; add `wait`, remove `remedy`, \
             or write `retryable = false`"
        ),
        Objection::Status(status) => {
            format!("{status} is not the status of a failure; write one from 400 to 599")
        }
        Objection::FamilyStatus { named, declared } => format!(
            "{code} speaks of status {named}, not {declared}; remove `http`, or choose a code of \
             your own"
        ),
        Objection::JsonRpc(number) => format!(
            "{number} is reserved in JSON-RPC; write {DECLARED_JSONRPC_CODE} or above, or remove \
             `jsonrpc`"
        ),
        Objection::TakenNumber { number, owner } => format!(
            "{number} is the number of {owner}; write another one of {DECLARED_JSONRPC_CODE} or \
             above, or remove `jsonrpc`"
        ),
    }
}

/// What the attribute of a fact is called.
fn attribute(fact: FixedFact) -> &'static str {
    match fact {
        FixedFact::JsonRpc => "jsonrpc",
        fact => fact.member(),
    }
}

/// A delay promises that the identical call may succeed later.
fn check_delay(code: &str, variant: &Variant<'_>, problems: &mut Problems) {
    let attributes = &variant.attributes;
    let (retryable, other_way) = match lookup(code) {
        Some(known) => (known.retryable(), "a code of your own"),
        None => (
            facts(attributes).implied_retryable() || !category_is_clear(attributes),
            "a retryable category such as `TRANSIENT`",
        ),
    };
    if retryable {
        return;
    }
    let message = format!(
        "{code} is not retryable, so no delay makes the identical call succeed; remove \
         `retry_after_ms`, or choose {other_way}"
    );
    object(&attributes.retry_after_ms, message.clone(), problems);
    for field in &variant.fields {
        object(&field.attributes.retry_after_ms, message.clone(), problems);
    }
}

/// `ReadFileError` and `NOT_FOUND` make `READ_FILE_NOT_FOUND`.
fn own_code(enum_name: &str, code: &str) -> String {
    let subject = ["Error", "Failure"]
        .iter()
        .find_map(|suffix| enum_name.strip_suffix(suffix))
        .filter(|subject| !subject.is_empty())
        .unwrap_or(enum_name);
    format!("{}_{code}", screaming(subject))
}

/// `FileNotFound` as `FILE_NOT_FOUND`.
fn screaming(name: &str) -> String {
    panpan_catalogue::code_from_name(name.trim_start_matches("r#"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_codes() {
        assert_eq!(screaming("r#Type"), "TYPE");
        assert_eq!(
            own_code("ReadFileError", "NOT_FOUND"),
            "READ_FILE_NOT_FOUND"
        );
        assert_eq!(own_code("Error", "TIMEOUT"), "ERROR_TIMEOUT");
    }
}
