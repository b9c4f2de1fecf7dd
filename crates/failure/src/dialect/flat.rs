//! `flat`: `{success: false, error, code, category, retriable, details?}`.
//!
//! The oldest dialect, and the only one with codes in lower case. The code of an invalid input depends on its
//! violations: a missing argument, a wrong type or another invalid value.

use std::borrow::Cow;

use panpan_catalogue::{Category, FlatCategory, codes, for_flat_name};
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Map, Value};

use super::foreign::{joined_messages, message};
use super::{RESIDUAL, Reply, maps_back};
use crate::failure::{
    Canonical, Draft, Failure, Field, Fields, Inferred, Violation, ViolationKind,
};
use crate::read::{Members, ReadError};
use panpan_redact::Redactor;

const CARRIED: Fields = Fields::of(&[Field::Message, Field::Retryable]);
/// The member of the details that lists missing arguments.
const REQUIRED: &str = "required";

pub(super) fn write<S: Serializer>(failure: &Failure, serializer: S) -> Result<S::Ok, S::Error> {
    let name = name_of(failure);
    let missing = (is_invalid_input(failure) && name == MISSING).then(|| missing_fields(failure));
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("success", &false)?;
    map.serialize_entry("error", failure.message())?;
    map.serialize_entry("code", &name)?;
    map.serialize_entry("category", failure.kind().flat_category().word())?;
    map.serialize_entry("retriable", &failure.may_repeat())?;
    if let Some(missing) = &missing {
        let mut details = failure.details().cloned().unwrap_or_default();
        details.insert(REQUIRED.to_owned(), missing.clone());
        map.serialize_entry("details", &details)?;
    } else if let Some(details) = failure.details().filter(|details| !details.is_empty()) {
        map.serialize_entry("details", details)?;
    }
    let known = for_flat_name(&name);
    let name_gives_code =
        maps_back(known, failure) || (known.is_none() && !failure.kind().is_catalogued());
    let replaced = |name: &str, _: &Value| missing.is_some() && name == REQUIRED;
    let residual = Canonical::without(failure, CARRIED.and(Field::Code, name_gives_code));
    map.serialize_entry(RESIDUAL, &residual.keeping_details(&replaced))?;
    map.end()
}

const MISSING: &str = "missing_argument";

fn name_of(failure: &Failure) -> Cow<'static, str> {
    if !is_invalid_input(failure) {
        return failure.kind().flat_name();
    }
    let any = |kind| {
        failure
            .violations()
            .iter()
            .any(|violation| violation.kind == kind)
    };
    if any(ViolationKind::Missing) {
        MISSING.into()
    } else if any(ViolationKind::Type) {
        "invalid_type".into()
    } else {
        failure.kind().flat_name()
    }
}

fn is_invalid_input(failure: &Failure) -> bool {
    failure.code().as_str() == codes::INVALID_INPUT.code
}

fn missing_fields(failure: &Failure) -> Value {
    let missing = failure
        .violations()
        .iter()
        .filter(|violation| violation.kind == ViolationKind::Missing);
    missing.map(Violation::field).collect()
}

/// Merges an object with the flag, unless it has a member `success` or `result`.
pub(super) fn success(output: Value) -> Value {
    let mut map = Map::from_iter([("success".to_owned(), true.into())]);
    match output {
        Value::Object(output)
            if !output.contains_key("success") && !output.contains_key("result") =>
        {
            map.extend(output);
        }
        output => {
            map.insert("result".to_owned(), output);
        }
    }
    map.into()
}

pub(super) fn read(document: Value) -> Result<Reply, ReadError> {
    let mut members = Members::of(document, "")?;
    if members.required("success", "true or false", |it| it.flag())? {
        let output = members.take_nullable("result");
        return Ok(Reply::success(
            output.unwrap_or_else(|| members.rest().into()),
        ));
    }
    Ok(Reply::failure(read_failure(members)?))
}

fn read_failure(mut members: Members) -> Result<Failure, ReadError> {
    let name = members.lenient_text("code");
    let known = name.as_deref().and_then(for_flat_name);
    let mut draft = Draft {
        message: members.lenient_text("error"),
        ..Draft::default()
    };
    draft.code = match (known, &name) {
        (Some(known), _) => Some(known.code().into_owned()),
        (None, Some(name)) if is_flat_name(name) => Some(name.to_ascii_uppercase()),
        (None, _) => name.clone(),
    };
    if draft.message.is_none() {
        read_error_object(&mut draft, &mut members);
    }
    if draft.message.is_none() {
        let errors = members.peek("errors").and_then(joined_messages);
        draft.message = message(&mut members).or(errors);
    }
    draft.facts.retryable = members.lenient_flag("retriable");
    let flat = members.lenient_as("category", |word| FlatCategory::from_word(word.as_str()?));
    draft.details_of_any_shape(members.take("details"));
    let residual = members.peek(RESIDUAL);
    if residual.is_none() && known.is_none() {
        draft.facts.category = flat.map(|flat| category_of(flat, draft.facts.retryable));
        draft.parts.inferred.insert(Inferred::Category);
    }
    let code = residual.and_then(|residual| residual.get("code"));
    drop_generated_list(&mut draft, name.as_deref(), code);
    draft.finish_with(members, CARRIED)
}

/// Whether a name is a code in lower case. A secret that looks like a code is not changed, so that redaction
/// recognises it.
fn is_flat_name(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    name.bytes().all(is_word) && matches!(Redactor::new().text(name), Cow::Borrowed(_))
}

/// Some services write an object in place of the message.
fn read_error_object(draft: &mut Draft, members: &mut Members) {
    let Some(mut error) = members.lenient_members("error") else {
        return;
    };
    draft.message = error.lenient_text("message");
    if draft.code.is_none() {
        draft.code = error
            .lenient_text("code")
            .or_else(|| error.lenient_text("type"));
    }
    draft.keep_foreign(error.rest());
}

/// Drops the list of missing arguments, which is generated from the violations; the original detail of that
/// name is in the residual.
fn drop_generated_list(draft: &mut Draft, name: Option<&str>, code: Option<&Value>) {
    let is_generated =
        name == Some(MISSING) && code.is_some_and(|code| code == codes::INVALID_INPUT.code);
    let Some(details) = draft.parts.details.as_mut().filter(|_| is_generated) else {
        return;
    };
    details.remove(REQUIRED);
    if details.is_empty() {
        draft.parts.details = None;
    }
}

/// The nearest category of a third-party failure.
fn category_of(flat: FlatCategory, retryable: Option<bool>) -> Category {
    match flat {
        _ if retryable == Some(true) => Category::Transient,
        FlatCategory::Validation => Category::Validation,
        FlatCategory::Permission => Category::AuthFail,
        FlatCategory::Resource => Category::ClientError,
        FlatCategory::Execution | FlatCategory::System => Category::Permanent,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_message_of_a_third_party_is_found_under_its_usual_names() {
        for (document, message) in [
            (json!({"success": false, "error": "a", "message": "b"}), "a"),
            (json!({"success": false, "message": "b"}), "b"),
            (json!({"success": false, "detail": "b"}), "b"),
            (
                json!({"success": false, "error": {"code": "A_CODE"}, "message": "b"}),
                "b",
            ),
            (
                json!({"success": false, "errors": ["a", {"message": "b"}, 7, ""]}),
                "a; b",
            ),
            (
                json!({"success": false, "errors": {"title": "a"}}),
                "The tool reported a failure of its own",
            ),
            (
                json!({"success": false}),
                "The tool reported a failure of its own",
            ),
        ] {
            let failure = read(document.clone()).unwrap().outcome.unwrap_err();
            assert_eq!(failure.message(), message, "{document}");
        }
    }
}
