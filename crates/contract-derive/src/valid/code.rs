//! A variant's code and facts against the catalogue, and the words for what does not agree.

use panpan_catalogue::{
    DECLARED_JSONRPC_CODE, Facts, FixedFact, Objection, Remedies, check_code, lookup,
};

use super::{object, said};
use crate::ast::Variant;
use crate::attr::VariantAttributes;
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
    let judgeable = lookup(code).is_some() || category_is_clear(attributes);
    Facts {
        retryable: facts.retryable.filter(|_| judgeable),
        ..facts
    }
}

fn category_is_clear(attributes: &VariantAttributes) -> bool {
    let readable = |value: bool, written: bool| value || !written;
    readable(
        said(&attributes.category).is_some(),
        attributes.category.is_some(),
    ) && readable(said(&attributes.http).is_some(), attributes.http.is_some())
}

fn explain(
    code: &str,
    refusal: Objection,
    attributes: &VariantAttributes,
    enum_name: &str,
    problems: &mut Problems,
) {
    match refusal {
        Objection::Protocol => {
            let own = own_code(enum_name, code);
            let message = format!(
                "{code} is given by the protocol itself, never by an operation; choose a code of \
                 your own, such as `{own}`"
            );
            object(&attributes.code, message, problems);
        }
        Objection::Contradiction { fact, fixed, .. } => {
            contradiction(code, fact, &fixed, attributes, problems);
        }
        Objection::NotRetryable(category) => {
            let message = format!(
                "{code} is in category {category}, which is never retryable; choose a retryable \
                 category such as `TRANSIENT`, or remove `retryable`"
            );
            object(&attributes.retryable, message, problems);
        }
        Objection::Status(status) => {
            let message =
                format!("{status} is not the status of a failure; write one from 400 to 599");
            object(&attributes.http, message, problems);
        }
        Objection::JsonRpc(number) => {
            let message = format!(
                "{number} is reserved in JSON-RPC; write {DECLARED_JSONRPC_CODE} or above, or \
                 remove `jsonrpc`"
            );
            object(&attributes.jsonrpc, message, problems);
        }
    }
}

fn contradiction(
    code: &str,
    fact: FixedFact,
    fixed: &str,
    attributes: &VariantAttributes,
    problems: &mut Problems,
) {
    let message = |name: &str| {
        format!(
            "the catalogue fixes `{name}` of {code} as {fixed}; remove `{name}`, or choose a code \
             of your own"
        )
    };
    match fact {
        FixedFact::Category => object(&attributes.category, message("category"), problems),
        FixedFact::Retryable => object(&attributes.retryable, message("retryable"), problems),
        FixedFact::Remedy => object(&attributes.remedy, message("remedy"), problems),
        FixedFact::JsonRpc => object(&attributes.jsonrpc, message("jsonrpc"), problems),
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
