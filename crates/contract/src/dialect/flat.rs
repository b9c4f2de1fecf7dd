//! `flat`: `{success: false, error, code, category, retriable, details?}`.
//!
//! The oldest shape, and the only one that names codes in lower case. An input that does not fit
//! its schema is told by what is wrong with it: something missing, a wrong type, or another value.

use std::borrow::Cow;

use panpan_catalogue::{Category, FlatCategory, codes, for_flat_name};
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Map, Value};

use super::{RESIDUAL, Reply, leads_back};
use crate::failure::{
    Canonical, Draft, Failure, Field, Fields, Inferred, Violation, ViolationKind,
};
use crate::read::{Members, ReadError};

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
    map.serialize_entry("retriable", &failure.retryable())?;
    if let Some(missing) = &missing {
        let mut details = failure.details().cloned().unwrap_or_default();
        details.insert(REQUIRED.to_owned(), missing.clone());
        map.serialize_entry("details", &details)?;
    } else if let Some(details) = failure.details().filter(|details| !details.is_empty()) {
        map.serialize_entry("details", details)?;
    }
    let found = for_flat_name(&name);
    let code_is_told =
        leads_back(found, failure) || (found.is_none() && !failure.kind().is_catalogued());
    let replaced = |name: &str, _: &Value| missing.is_some() && name == REQUIRED;
    let left = Canonical::without(failure, CARRIED.and(Field::Code, code_is_told));
    map.serialize_entry(RESIDUAL, &left.keeping_details(&replaced))?;
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

/// An object is spread beside the flag, unless it has members that would be mistaken for ours.
pub(super) fn success(output: &Value) -> Value {
    let mut map = Map::from_iter([("success".to_owned(), true.into())]);
    match output {
        Value::Object(output)
            if !output.contains_key("success") && !output.contains_key("result") =>
        {
            map.extend(output.clone());
        }
        output => {
            map.insert("result".to_owned(), output.clone());
        }
    }
    map.into()
}

pub(super) fn read(document: Value) -> Result<Reply, ReadError> {
    let mut members = Members::of(document, "")?;
    let success = members
        .flag("success")?
        .ok_or_else(|| members.missing("success", "true or false"))?;
    if success {
        let output = members.take_even_null("result");
        return Ok(Reply::success(
            output.unwrap_or_else(|| members.rest().into()),
        ));
    }
    Ok(Reply::failure(read_failure(members)?))
}

fn read_failure(mut members: Members) -> Result<Failure, ReadError> {
    let name = members.text("code")?;
    let known = name.as_deref().and_then(for_flat_name);
    let mut draft = Draft {
        code: known.map(|known| known.code().into_owned()),
        message: members.text("error")?,
        ..Draft::default()
    };
    if known.is_none() {
        draft.code = name.clone().map(|name| name.to_ascii_uppercase());
    }
    draft.facts.retryable = members.flag("retriable")?;
    let flat_category = members.text("category")?;
    draft.details_of_any_shape(members.take("details"));
    let residual = members.members(RESIDUAL)?;
    draft.keep_foreign(members.rest());
    if let Some(residual) = residual {
        drop_listed(&mut draft, name.as_deref(), residual.peek("code"));
        draft.absorb(residual)?;
    }
    if draft.facts.category.is_none() && known.is_none() {
        let flat = flat_category.as_deref().and_then(FlatCategory::from_word);
        draft.facts.category = flat.map(|flat| category_of(flat, draft.facts.retryable));
        draft.inferred.insert(Inferred::Category);
    }
    Ok(draft.finish())
}

/// The list of missing arguments is made from the violations when an invalid input is written; what
/// the details held under that name before stands in the residual.
fn drop_listed(draft: &mut Draft, name: Option<&str>, code: Option<&Value>) {
    let was_listed =
        name == Some(MISSING) && code.is_some_and(|code| code == codes::INVALID_INPUT.code);
    let Some(details) = draft.details.as_mut().filter(|_| was_listed) else {
        return;
    };
    details.remove(REQUIRED);
    if details.is_empty() {
        draft.details = None;
    }
}

/// The nearest category of a foreign failure.
fn category_of(flat: FlatCategory, retryable: Option<bool>) -> Category {
    match flat {
        _ if retryable == Some(true) => Category::Transient,
        FlatCategory::Validation => Category::Validation,
        FlatCategory::Permission => Category::AuthFail,
        FlatCategory::Resource => Category::ClientError,
        FlatCategory::Execution | FlatCategory::System => Category::Permanent,
    }
}
