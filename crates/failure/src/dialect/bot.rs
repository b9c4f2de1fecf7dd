//! `bot`: `{error: {code, category, source, message, context, recovery, debug}}`, made for agents.
//!
//! `is_retryable` means that the call may be repeated, or that its input can be corrected.

use panpan_catalogue::Category;
use serde_json::Value;
use uuid::Uuid;

use super::{RESIDUAL, Reply, agent};
use crate::classify::LlmFailure;
use crate::failure::{Alternative, Canonical, Draft, Failure, Field, Fields, Inferred, Recovery};
use crate::read::{Members, ReadError};
use crate::write::{Text, non_empty, written};

/// The source, if none is known.
const SOURCE_UNKNOWN: &str = "system";
/// The operation, if none is known.
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

written! {
    pub(super) BotError(failure: Failure) {
        "code" => Some(failure.code().as_str()),
        "category" => Some(failure.kind().domain().word()),
        "source" => Some(failure.source().unwrap_or(SOURCE_UNKNOWN)),
        "message" => Some(failure.message()),
        "context" => Some(Context(failure)),
        "recovery" => Some(Advice(failure)),
        "debug" => (failure.id().is_some() || failure.at().is_some()).then_some(Debug(failure)),
        RESIDUAL => Some(Canonical::without(failure, carried(failure))),
    }
}

fn carried(failure: &Failure) -> Fields {
    let names_source = failure.source() != Some(SOURCE_UNKNOWN);
    let names_operation = failure.operation() != Some(OPERATION_UNKNOWN);
    CARRIED
        .and(Field::Source, names_source)
        .and(Field::Operation, names_operation)
}

written! {
    Context(failure: Failure) {
        "operation" => Some(failure.operation().unwrap_or(OPERATION_UNKNOWN)),
        "parameters" => failure.parameters(),
    }
}

written! {
    Advice(failure: Failure) {
        "is_retryable" => Some(failure.is_recoverable()),
        "retry_strategy" => Some(Strategy(failure.recovery())).filter(|it| !it.is_empty()),
        "alternatives" => non_empty(&failure.recovery().alternatives),
        "required_actions" => non_empty(&failure.recovery().required_actions),
    }
}

written! {
    Strategy(it: Recovery) {
        "suggested_delay" => it.retry_after_ms,
        "max_retries" => it.max_retries,
        "parameter_adjustments" => Some(&it.parameter_adjustments).filter(|it| !it.is_empty()),
    }
}

impl Strategy<'_> {
    fn is_empty(&self) -> bool {
        self.0.retry_after_ms.is_none()
            && self.0.max_retries.is_none()
            && self.0.parameter_adjustments.is_empty()
    }
}

written! {
    Debug(failure: Failure) {
        "error_id" => failure.id().map(|id| Text(id.hyphenated())),
        "timestamp" => failure.at().map(Text),
    }
}

/// Whether a document has the shape of a failure; any other document is an output.
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
    let from_model_provider = members.peek("type").is_some_and(|kind| kind == "error");
    let error = members.required("error", "an object", |it| it.members())?;
    if agent::is_view(&error) {
        return Ok(Reply::failure(agent::read(error)));
    }
    Ok(Reply::failure(read_error(error, from_model_provider)?))
}

fn read_error(mut error: Members, from_model_provider: bool) -> Result<Failure, ReadError> {
    let mut draft = Draft {
        message: error.lenient_text("message"),
        ..Draft::default()
    };
    let is_ours = ["recovery", "context", "source", RESIDUAL]
        .iter()
        .any(|name| error.peek(name).is_some());
    draft.code = error
        .lenient_text("code")
        .or_else(|| error.lenient_as("code", |code| code.as_i64().map(|code| code.to_string())));
    if !is_ours {
        read_provider_codes(&mut draft, &mut error, from_model_provider);
    }
    draft.parts.source = error
        .lenient_text("source")
        .filter(|source| source != SOURCE_UNKNOWN);
    if is_ours {
        // The category of this dialect is a functional area; the code or the residual has the category.
        error.take("category");
    }
    if let Some(context) = error.lenient_members("context") {
        read_context(&mut draft, context);
    }
    if let Some(recovery) = error.lenient_members("recovery") {
        read_recovery(&mut draft, recovery);
    }
    if let Some(debug) = error.lenient_members("debug") {
        read_debug(&mut draft, debug);
    }
    let residual = error.peek(RESIDUAL).is_some_and(Value::is_object);
    if !residual {
        read_cautiously(&mut draft);
    }
    draft.finish_with(error, CARRIED)
}

/// Codes that only model providers use.
const MODEL_PROVIDER_CODES: [&str; 8] = [
    "overloaded_error",
    "context_length_exceeded",
    "string_above_max_length",
    "model_not_found",
    "content_filter",
    "content_policy_violation",
    "insufficient_quota",
    "billing_hard_limit_reached",
];

/// Services write their codes as `code` and `type`. Codes of model providers map to codes of the catalogue.
fn read_provider_codes(draft: &mut Draft, error: &mut Members, from_model_provider: bool) {
    let kind = error
        .peek("type")
        .and_then(Value::as_str)
        .map(str::to_owned);
    let words: Vec<&str> = [&draft.code, &kind]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    let from_model_provider =
        from_model_provider || words.iter().any(|word| MODEL_PROVIDER_CODES.contains(word));
    if let Some(failure) = LlmFailure::of_words(&words).filter(|_| from_model_provider) {
        draft.parts.upstream.code = words.first().map(|word| (*word).to_owned());
        draft.code = Some(failure.entry().code.to_owned());
        draft.parts.inferred.insert(Inferred::Code);
    } else if draft.code.is_none() {
        draft.code = error.lenient_text("type");
    }
}

fn read_context(draft: &mut Draft, mut context: Members) {
    draft.parts.operation = context
        .lenient_text("operation")
        .filter(|operation| operation != OPERATION_UNKNOWN);
    draft.parts.parameters = context.lenient_map("parameters");
    draft.keep_foreign(context.rest());
}

fn read_recovery(draft: &mut Draft, mut recovery: Members) {
    draft.facts.retryable = recovery.lenient_flag("is_retryable");
    draft.retryable_includes_corrections = true;
    let read = &mut draft.parts.recovery;
    if let Some(mut strategy) = recovery.lenient_members("retry_strategy") {
        read.retry_after_ms = strategy.lenient_as("suggested_delay", milliseconds);
        read.max_retries = strategy.lenient_unsigned("max_retries");
        read.parameter_adjustments = strategy
            .lenient_map("parameter_adjustments")
            .unwrap_or_default();
    }
    // Some services write it directly under `recovery`.
    read.parameter_adjustments.extend(
        recovery
            .lenient_map("parameter_adjustments")
            .unwrap_or_default(),
    );
    read.alternatives = recovery
        .lenient_list("alternatives", alternative)
        .unwrap_or_default();
    let sentence = |action: &Value| action.as_str().map(str::to_owned);
    read.required_actions = recovery
        .lenient_list("required_actions", sentence)
        .unwrap_or_default();
    draft.keep_foreign(recovery.rest());
}

/// Milliseconds, rounded up.
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

/// In this dialect `is_retryable` also means "after a change". Without a delay or a number of retries, the
/// identical call counts as not retryable.
fn read_cautiously(draft: &mut Draft) {
    let states_retry =
        draft.parts.recovery.retry_after_ms.is_some() || draft.parts.recovery.max_retries.is_some();
    if draft.facts.retryable == Some(true) && !states_retry {
        draft.facts.retryable = Some(false);
        draft.facts.category = Some(Category::ClientError);
        let inferred = &mut draft.parts.inferred;
        inferred.extend([Inferred::Retryable, Inferred::Category]);
    }
}

/// Third-party ids and times in another format are kept as details.
fn read_debug(draft: &mut Draft, mut debug: Members) {
    draft.parts.id = debug.lenient_as("error_id", |id| Uuid::try_parse(id.as_str()?).ok());
    draft.parts.at = debug.lenient_as("timestamp", |at| at.as_str()?.parse().ok());
    draft.keep_foreign(debug.rest());
}
