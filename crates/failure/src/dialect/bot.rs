//! `bot`: `{error: {code, category, source, message, context, recovery, debug}}`, made for agents.
//!
//! `is_retryable` says that the call may be repeated, or that its input can be corrected.

use panpan_catalogue::Category;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use uuid::Uuid;

use super::{RESIDUAL, Reply, agent};
use crate::classify::LlmFailure;
use crate::failure::{Alternative, Canonical, Draft, Failure, Field, Fields, Inferred, Text};
use crate::read::{Members, ReadError};

/// What the shape says when nobody is named.
const SOURCE_UNKNOWN: &str = "system";
/// What the shape says when no operation is named.
const OPERATION_UNKNOWN: &str = "unknown";

const CARRIED: Fields = Fields::of(&[
    Field::Code,
    Field::Message,
    Field::Retryable,
    Field::Parameters,
    Field::RetryAfter,
    Field::MaxRetries,
    Field::Adjustments,
    Field::Alternatives,
    Field::Actions,
    Field::Id,
    Field::At,
]);
pub(super) fn write<S: Serializer>(failure: &Failure, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry("error", &BotError(failure))?;
    map.end()
}

struct BotError<'a>(&'a Failure);

impl Serialize for BotError<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let failure = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("code", failure.code().as_str())?;
        map.serialize_entry("category", failure.kind().domain().word())?;
        map.serialize_entry("source", failure.source().unwrap_or(SOURCE_UNKNOWN))?;
        map.serialize_entry("message", failure.message())?;
        map.serialize_entry("context", &Context(failure))?;
        map.serialize_entry("recovery", &Recovery(failure))?;
        if failure.id().is_some() || failure.at().is_some() {
            map.serialize_entry("debug", &Debug(failure))?;
        }
        map.serialize_entry(RESIDUAL, &Canonical::without(failure, carried(failure)))?;
        map.end()
    }
}

fn carried(failure: &Failure) -> Fields {
    let names_source = failure.source() != Some(SOURCE_UNKNOWN);
    let names_operation = failure.operation() != Some(OPERATION_UNKNOWN);
    CARRIED
        .and(Field::Source, names_source)
        .and(Field::Operation, names_operation)
}

struct Context<'a>(&'a Failure);

impl Serialize for Context<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let operation = self.0.operation().unwrap_or(OPERATION_UNKNOWN);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("operation", operation)?;
        if let Some(parameters) = self.0.parameters() {
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
    let of_a_model = members.peek("type").is_some_and(|kind| kind == "error");
    let error = members
        .members("error")?
        .ok_or_else(|| members.missing("error", "an object"))?;
    if agent::is_view(&error) {
        return Ok(Reply::failure(agent::read(error)));
    }
    Ok(Reply::failure(read_error(error, of_a_model)?))
}

fn read_error(mut error: Members, of_a_model: bool) -> Result<Failure, ReadError> {
    let mut draft = Draft {
        message: error.told_text("message"),
        ..Draft::default()
    };
    let is_ours = ["recovery", "context", "source", RESIDUAL]
        .iter()
        .any(|name| error.peek(name).is_some());
    draft.code = error
        .told_text("code")
        .or_else(|| error.told("code", |code| code.as_i64().map(|code| code.to_string())));
    if !is_ours {
        read_provider_words(&mut draft, &mut error, of_a_model);
    }
    draft.source = error
        .told_text("source")
        .filter(|source| source != SOURCE_UNKNOWN);
    if is_ours {
        // The category of this shape is a functional area; the code or the residual knows the class.
        error.take("category");
    }
    if let Some(context) = error.told_members("context") {
        read_context(&mut draft, context);
    }
    if let Some(recovery) = error.told_members("recovery") {
        read_recovery(&mut draft, recovery);
    }
    if let Some(debug) = error.told_members("debug") {
        read_debug(&mut draft, debug);
    }
    let residual = error.peek(RESIDUAL).is_some_and(Value::is_object);
    if !residual {
        read_cautiously(&mut draft);
    }
    draft.finish_with(error, CARRIED)
}

/// Words only model providers use for a failure.
const OF_MODELS: [&str; 8] = [
    "overloaded_error",
    "context_length_exceeded",
    "string_above_max_length",
    "model_not_found",
    "content_filter",
    "content_policy_violation",
    "insufficient_quota",
    "billing_hard_limit_reached",
];

/// Services write their words for a failure as `code` and `type`. Those of model providers have
/// codes of their own.
fn read_provider_words(draft: &mut Draft, error: &mut Members, of_a_model: bool) {
    let said = error
        .peek("type")
        .and_then(Value::as_str)
        .map(str::to_owned);
    let words: Vec<&str> = [&draft.code, &said]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    let of_a_model = of_a_model || words.iter().any(|word| OF_MODELS.contains(word));
    if let Some(failure) = LlmFailure::of_words(&words).filter(|_| of_a_model) {
        draft.upstream.code = words.first().map(|word| (*word).to_owned());
        draft.code = Some(failure.entry().code.to_owned());
        draft.inferred.insert(Inferred::Code);
    } else if draft.code.is_none() {
        draft.code = error.told_text("type");
    }
}

fn read_context(draft: &mut Draft, mut context: Members) {
    draft.operation = context
        .told_text("operation")
        .filter(|operation| operation != OPERATION_UNKNOWN);
    draft.parameters = context.told_map("parameters");
    draft.keep_foreign(context.rest());
}

fn read_recovery(draft: &mut Draft, mut recovery: Members) {
    draft.facts.retryable = recovery.told_flag("is_retryable");
    draft.true_for_corrections = true;
    let told = &mut draft.recovery;
    if let Some(mut strategy) = recovery.told_members("retry_strategy") {
        told.retry_after_ms = strategy.told("suggested_delay", milliseconds);
        told.max_retries = strategy.told_unsigned("max_retries");
        told.parameter_adjustments = strategy
            .told_map("parameter_adjustments")
            .unwrap_or_default();
    }
    // Written by some directly under `recovery`.
    told.parameter_adjustments.extend(
        recovery
            .told_map("parameter_adjustments")
            .unwrap_or_default(),
    );
    told.alternatives = recovery
        .told_list("alternatives", alternative)
        .unwrap_or_default();
    let sentence = |action: &Value| action.as_str().map(str::to_owned);
    told.required_actions = recovery
        .told_list("required_actions", sentence)
        .unwrap_or_default();
    draft.keep_foreign(recovery.rest());
}

/// Whole milliseconds; a fraction of one counts as one.
fn milliseconds(value: &Value) -> Option<u64> {
    let rounded = || value.as_f64().filter(|number| (0.0..1e15).contains(number));
    value
        .as_u64()
        .or_else(|| rounded().map(|number| number.ceil() as u64))
}

fn alternative(value: &Value) -> Option<Alternative> {
    if let Some(description) = value.as_str() {
        return Some(description.into());
    }
    let text = |name: &str| value.get(name)?.as_str().map(str::to_owned);
    Some(Alternative {
        description: text("description")?,
        example: text("example"),
    })
}

/// In this shape `is_retryable` also means "after a change". Without a delay or a count to go by, the
/// identical call is not taken to be worth repeating.
fn read_cautiously(draft: &mut Draft) {
    let by_repeating =
        draft.recovery.retry_after_ms.is_some() || draft.recovery.max_retries.is_some();
    if draft.facts.retryable == Some(true) && !by_repeating {
        draft.facts.retryable = Some(false);
        draft.facts.category = Some(Category::ClientError);
        draft
            .inferred
            .extend([Inferred::Retryable, Inferred::Category]);
    }
}

/// Ids and times of other makers need not have our form; then they are kept as details.
fn read_debug(draft: &mut Draft, mut debug: Members) {
    draft.id = debug.told("error_id", |id| Uuid::try_parse(id.as_str()?).ok());
    draft.at = debug.told("timestamp", |at| at.as_str()?.parse().ok());
    draft.keep_foreign(debug.rest());
}
