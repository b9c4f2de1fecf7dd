//! `bot`: `{error: {code, category, source, message, context, recovery, debug}}`, made for agents.
//!
//! Also gives the compact form that MCP shows as text.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use uuid::Uuid;

use super::{RESIDUAL, Reply};
use crate::classify::LlmFailure;
use crate::failure::{
    Canonical, Draft, Failure, Field, Fields, Inferred, Text, alternative, sentence,
};
use crate::read::{Members, ReadError};

/// What the shape says when nobody is named.
const SOURCE_UNKNOWN: &str = "system";
/// What the shape says when no operation is named.
const OPERATION_UNKNOWN: &str = "unknown";

const CARRIED: Fields = Fields::of(&[
    Field::Code,
    Field::Message,
    Field::Parameters,
    Field::RetryAfter,
    Field::MaxRetries,
    Field::Adjustments,
    Field::Alternatives,
    Field::Actions,
    Field::Id,
    Field::At,
]);
/// What the compact form leaves to `_meta` besides.
const LEFT_OUT_OF_TEXT: Fields = CARRIED
    .and(Field::Remedy, true)
    .and(Field::Upstream, true)
    .and(Field::Causes, true)
    .and(Field::HttpStatus, true);

pub(super) fn write<S: Serializer>(failure: &Failure, serializer: S) -> Result<S::Ok, S::Error> {
    wrap(
        &BotError {
            failure,
            compact: false,
        },
        serializer,
    )
}

/// The failure for a reader with little room: no parameters, no excerpt, no causes, and no fact that
/// the catalogue fixes anyway.
pub(super) struct Compact<'a>(pub(super) &'a Failure);

impl Serialize for Compact<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        wrap(
            &BotError {
                failure: self.0,
                compact: true,
            },
            serializer,
        )
    }
}

fn wrap<S: Serializer>(error: &BotError<'_>, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry("error", error)?;
    map.end()
}

struct BotError<'a> {
    failure: &'a Failure,
    compact: bool,
}

impl BotError<'_> {
    fn carried(&self) -> Fields {
        let failure = self.failure;
        let told = failure.retryable() == failure.is_recoverable();
        let fields = if self.compact {
            LEFT_OUT_OF_TEXT
        } else {
            CARRIED
        };
        fields
            .and(Field::Source, failure.source() != Some(SOURCE_UNKNOWN))
            .and(
                Field::Operation,
                failure.operation() != Some(OPERATION_UNKNOWN),
            )
            .and(Field::Retryable, told)
    }
}

impl Serialize for BotError<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let failure = self.failure;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("code", failure.code().as_str())?;
        map.serialize_entry("category", failure.kind().domain().word())?;
        map.serialize_entry("source", failure.source().unwrap_or(SOURCE_UNKNOWN))?;
        map.serialize_entry("message", failure.message())?;
        map.serialize_entry("context", &Context(self))?;
        map.serialize_entry("recovery", &Recovery(failure))?;
        if failure.id().is_some() || failure.at().is_some() {
            map.serialize_entry("debug", &Debug(failure))?;
        }
        map.serialize_entry(RESIDUAL, &Canonical::without(failure, self.carried()))?;
        map.end()
    }
}

struct Context<'a>(&'a BotError<'a>);

impl Serialize for Context<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let BotError { failure, compact } = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(
            "operation",
            failure.operation().unwrap_or(OPERATION_UNKNOWN),
        )?;
        if let Some(parameters) = failure.parameters().filter(|_| !compact) {
            map.serialize_entry("parameters", parameters)?;
        }
        map.end()
    }
}

struct Recovery<'a>(&'a Failure);

impl Serialize for Recovery<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let recovery = self.0.recovery();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("is_retryable", &self.0.is_recoverable())?;
        let strategy = Strategy(recovery);
        if !strategy.is_empty() {
            map.serialize_entry("retry_strategy", &strategy)?;
        }
        if !recovery.alternatives.is_empty() {
            map.serialize_entry("alternatives", &recovery.alternatives)?;
        }
        if !recovery.required_actions.is_empty() {
            map.serialize_entry("required_actions", &recovery.required_actions)?;
        }
        map.end()
    }
}

struct Strategy<'a>(&'a crate::failure::Recovery);

impl Strategy<'_> {
    fn is_empty(&self) -> bool {
        self.0.retry_after_ms.is_none()
            && self.0.max_retries.is_none()
            && self.0.parameter_adjustments.is_empty()
    }
}

impl Serialize for Strategy<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(delay_ms) = self.0.retry_after_ms {
            map.serialize_entry("suggested_delay", &delay_ms)?;
        }
        if let Some(max_retries) = self.0.max_retries {
            map.serialize_entry("max_retries", &max_retries)?;
        }
        if !self.0.parameter_adjustments.is_empty() {
            map.serialize_entry("parameter_adjustments", &self.0.parameter_adjustments)?;
        }
        map.end()
    }
}

struct Debug<'a>(&'a Failure);

impl Serialize for Debug<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(id) = self.0.id() {
            map.serialize_entry("error_id", &Text(id.hyphenated()))?;
        }
        if let Some(at) = self.0.at() {
            map.serialize_entry("timestamp", &Text(at))?;
        }
        map.end()
    }
}

/// Whether a document has the shape of a failure; everything else is a bare output.
pub(super) fn is_failure(document: &Value) -> bool {
    let error = document.get("error").and_then(Value::as_object);
    error.is_some_and(|error| {
        ["code", "type", "message"]
            .iter()
            .any(|name| error.contains_key(*name))
    })
}

pub(super) fn read(document: Value) -> Result<Reply, ReadError> {
    if !is_failure(&document) {
        return Ok(Reply::success(document));
    }
    let mut members = Members::of(document, "")?;
    let error = members
        .members("error")?
        .ok_or_else(|| members.missing("error", "an object"))?;
    Ok(Reply::failure(read_error(error)?))
}

fn read_error(mut error: Members) -> Result<Failure, ReadError> {
    let mut draft = Draft {
        message: error.text("message")?,
        ..Draft::default()
    };
    read_code(&mut draft, &mut error)?;
    draft.source = error
        .text("source")?
        .filter(|source| source != SOURCE_UNKNOWN);
    let residual = error.members(RESIDUAL)?;
    // The category of this shape is a functional area; the code or the residual knows the class.
    error.take("category");
    if let Some(context) = error.members("context")? {
        read_context(&mut draft, context)?;
    }
    if let Some(recovery) = error.members("recovery")? {
        read_recovery(&mut draft, recovery)?;
    }
    if let Some(debug) = error.members("debug")? {
        read_debug(&mut draft, debug);
    }
    draft.keep_foreign(error.rest());
    if let Some(residual) = residual {
        draft.absorb(residual)?;
    }
    Ok(draft.finish())
}

/// Model providers write their words for a failure as `code` and `type`, and some write numbers.
fn read_code(draft: &mut Draft, error: &mut Members) -> Result<(), ReadError> {
    let ours = ["recovery", "context", "source", RESIDUAL]
        .iter()
        .any(|name| error.peek(name).is_some());
    if error.peek("code").is_some_and(Value::is_number) {
        draft.code = error.take("code").map(|number| number.to_string());
        return Ok(());
    }
    draft.code = error.text("code")?;
    if ours {
        return Ok(());
    }
    let said = error.text("type")?;
    let words: Vec<&str> = [&draft.code, &said]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    if let Some(failure) = LlmFailure::of_words(&words) {
        draft.upstream.code = words.first().map(|word| (*word).to_owned());
        draft.code = Some(failure.entry().code.to_owned());
        draft.inferred.insert(Inferred::Code);
    } else if draft.code.is_none() {
        draft.code = said;
    }
    Ok(())
}

fn read_context(draft: &mut Draft, mut context: Members) -> Result<(), ReadError> {
    draft.operation = context
        .text("operation")?
        .filter(|operation| operation != OPERATION_UNKNOWN);
    draft.parameters = context.map("parameters")?;
    draft.keep_foreign(context.rest());
    Ok(())
}

fn read_recovery(draft: &mut Draft, mut recovery: Members) -> Result<(), ReadError> {
    draft.facts.retryable = recovery.flag("is_retryable")?;
    let told = &mut draft.recovery;
    if let Some(mut strategy) = recovery.members("retry_strategy")? {
        told.retry_after_ms = strategy.unsigned("suggested_delay")?;
        told.max_retries = strategy.unsigned("max_retries")?;
        told.parameter_adjustments = strategy.map("parameter_adjustments")?.unwrap_or_default();
    }
    // Written by some directly under `recovery`.
    told.parameter_adjustments
        .extend(recovery.map("parameter_adjustments")?.unwrap_or_default());
    told.alternatives = recovery
        .list("alternatives", alternative)?
        .unwrap_or_default();
    told.required_actions = recovery
        .list("required_actions", sentence)?
        .unwrap_or_default();
    Ok(())
}

/// Ids and times of other makers need not have our form; then they are kept as details.
fn read_debug(draft: &mut Draft, mut debug: Members) {
    draft.id = taken_if(&mut debug, "error_id", |text| Uuid::try_parse(text).ok());
    draft.at = taken_if(&mut debug, "timestamp", |text| text.parse().ok());
    draft.keep_foreign(debug.rest());
}

fn taken_if<T>(members: &mut Members, name: &str, read: impl Fn(&str) -> Option<T>) -> Option<T> {
    let found = members.peek(name).and_then(Value::as_str).and_then(read);
    if found.is_some() {
        members.take(name);
    }
    found
}
