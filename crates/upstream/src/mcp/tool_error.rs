//! Converts the failing result of a tool into a failure. JSON-RPC errors are in `rpc_error`.
//!
//! A failure written by a panpan is recovered completely. Third-party errors are parsed by their
//! known shapes; any other text becomes the message of a TOOL_FAILED. Which codes may be passed on
//! is decided in `known_code`.

use std::borrow::Cow;

use jiff::Timestamp;
use panpan_failure::classify::InputMembers;
use panpan_failure::dialect::{
    Dialect, MCP_META_KEY, RESIDUAL, detect, disguised_failure, read_foreign,
};
use panpan_failure::{Failure, Inferred, Kind, Repeat, codes, hint, read, size};
use serde_json::{Value, json};

use super::error_shapes::{self, ToolText};
use super::incoming::RECOVERY_META_KEY;
use super::request_failure::SideEffects;
use super::rpc_error;
use super::write_effect;
use crate::classify::{CombinedStatements, ErrorBody, is_declared_output, stated_kind};
use crate::known_code::with_known_code;
use crate::retry_members::without_retry_members;

/// The longest message taken from a server, in characters.
pub const MESSAGE_CHARACTERS_LIMIT: usize = 4_000;

/// The largest document that is parsed as a failure, in bytes of JSON; of a larger one only the
/// text is used.
pub const FAILURE_BYTES_LIMIT: usize = 1024 * 1024;

/// A failing result, with the facts about its tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct FailingResult<'a> {
    pub(super) server: &'a str,
    pub(super) result: &'a Value,
    pub(super) side_effects: SideEffects,
    /// The output schema of the tool, if failures could be mistaken for outputs.
    pub(super) output_schema: Option<&'a Value>,
    /// The members of the input of the tool.
    pub(super) members: &'a InputMembers,
    pub(super) now: Timestamp,
}

impl FailingResult<'_> {
    /// Whether a result without `isError` contains exactly a failure: as its structured content, or
    /// else as its only block.
    pub(super) fn is_disguised(&self) -> bool {
        let structured = self
            .result
            .get("structuredContent")
            .filter(|it| !it.is_null());
        if let Some(structured) = structured {
            return self.is_undeclared_failure(structured);
        }
        let blocks = self.result.get("content").and_then(Value::as_array);
        blocks.is_some_and(|it| it.len() == 1)
            && self
                .json_text()
                .is_some_and(|it| self.may_be_disguised(&it) && self.is_undeclared_failure(&it))
    }

    /// Whether a text can be a failure. What a read-only tool returns may be the failure of something
    /// else, so that it counts only with the flag of a failed call.
    fn may_be_disguised(&self, document: &Value) -> bool {
        let is_flagged = ["success", "ok"]
            .iter()
            .any(|flag| document.get(flag) == Some(&Value::Bool(false)));
        is_flagged || is_from_panpan(document) || self.side_effects != SideEffects::ReadOnly
    }

    fn is_undeclared_failure(&self, document: &Value) -> bool {
        let is_output = |schema| is_declared_output(document, schema);
        disguised_failure(document).is_some() && !self.output_schema.is_some_and(is_output)
    }

    /// The failure; `declared` tells which codes the tool publishes.
    pub(super) fn failure(&self, declared: impl Fn(&str) -> bool) -> Failure {
        if let Some(failure) = self.panpan_failure() {
            return with_known_code(failure, true, self.server, declared);
        }
        let failure = self.third_party(&declared);
        let failure = match self.is_declared(&failure, &declared) {
            true => failure,
            false => self.with_proven_effect(failure),
        };
        let failure = with_statements(failure, self.now);
        let effect = self.side_effects.effect_of(&failure);
        let message = bounded(failure.message());
        let failure = failure.with_effect(effect).with_message(message);
        let code = failure.code().clone();
        let failure = with_known_code(without_retry_members(failure), false, self.server, declared);
        match *failure.code() == code {
            true => failure,
            false => with_tool_code(failure),
        }
    }

    /// Whether the tool stated a code that it publishes. It knows its effect.
    fn is_declared(&self, failure: &Failure, declared: &impl Fn(&str) -> bool) -> bool {
        declared(failure.code().as_str()) && !failure.inferred().contains(&Inferred::Code)
    }

    fn with_proven_effect(&self, failure: Failure) -> Failure {
        let structured = self.result.get("structuredContent");
        let written = self.json_text();
        let documents: Vec<&Value> = structured.into_iter().chain(&written).collect();
        write_effect::with_proven_effect(failure, &documents)
    }

    /// A failure written by a panpan: complete in `_meta`, or in the first text block in any
    /// dialect.
    fn panpan_failure(&self) -> Option<Failure> {
        let complete = self.meta(MCP_META_KEY).filter(|it| it.is_object());
        if let Some(complete) = complete.filter(|it| fits(it)) {
            let bare = json!({"isError": true, "content": [], "_meta": {MCP_META_KEY: complete}});
            return read_dialect(Dialect::Mcp, bare);
        }
        let document = self.json_text()?;
        let dialect = detect(&document)
            .ok()
            .filter(|_| is_from_panpan(&document))?;
        read_dialect(dialect, document)
    }

    fn third_party(&self, declared: &impl Fn(&str) -> bool) -> Failure {
        let text = self.text();
        let text = text.as_deref();
        let structured = self.result.get("structuredContent");
        let structured = structured.filter(|it| it.is_object() && fits(it));
        self.meta(RECOVERY_META_KEY)
            .filter(|recovery| fits(recovery))
            .and_then(|recovery| error_shapes::recovery_object(recovery, text))
            .or_else(|| self.status_failure(structured?, text))
            .or_else(|| self.document_failure(structured?, None, declared))
            .or_else(|| self.document_failure(&self.json_text()?, text, declared))
            .or_else(|| rpc_error::in_text(text?, self.tool()))
            .or_else(|| error_shapes::in_text(text?, self.tool()))
            .unwrap_or_else(|| Failure::new(codes::TOOL_FAILED).with_message(text_message(text)))
    }

    fn tool(&self) -> ToolText<'_> {
        ToolText {
            server: self.server,
            members: self.members,
            now: self.now,
        }
    }

    /// A bare status, which explains the text.
    fn status_failure(&self, structured: &Value, text: Option<&str>) -> Option<Failure> {
        let members = structured
            .as_object()
            .filter(|members| members.len() == 1)?;
        let status = members.get("status_code")?.as_u64()?;
        let status = u16::try_from(status).ok()?;
        let failure =
            error_shapes::from_status(status, text.unwrap_or_default(), self.server, self.now);
        failure.map(|failure| match text {
            Some(text) => failure.with_message(bounded(text)),
            None => failure,
        })
    }

    /// The failure in a document, which is the text if there is one.
    fn document_failure(
        &self,
        document: &Value,
        text: Option<&str>,
        declared: &impl Fn(&str) -> bool,
    ) -> Option<Failure> {
        if let Some(failure) = error_shapes::envelope(document) {
            return Some(failure);
        }
        let hint = hint::from_body(document, self.now);
        let failure = self
            .classified(document, declared)
            .or_else(|| self.message_failure(document))
            .or_else(|| error_shapes::own_vocabulary(document, hint.is_some()))?;
        // A title of the catalogue says less than the document.
        let is_untold =
            failure.inferred().contains(&Inferred::Message) && failure.kind().is_catalogued();
        let failure = match is_untold {
            true => {
                let raw = text.map_or_else(|| document.to_string(), str::to_owned);
                failure.with_message(bounded(&raw))
            }
            false => failure,
        };
        let is_stated = failure.stated_retry_after_ms().is_some() || !failure.retryable();
        Some(match hint.filter(|_| !is_stated) {
            Some(hint) => failure.with_retry_after_ms(hint.delay_ms),
            None => failure,
        })
    }

    /// The failure that the members of a document state: by a code that callers know, by an HTTP
    /// status, or by another code.
    fn classified(&self, document: &Value, declared: &impl Fn(&str) -> bool) -> Option<Failure> {
        let dialect = detect(document).ok().filter(|it| *it != Dialect::Mcp);
        let read = dialect.and_then(|it| read_dialect(it, document.clone()));
        let is_known = |it: &Failure| {
            let is_stated = it.kind().is_catalogued() && !it.inferred().contains(&Inferred::Code);
            is_stated || declared(it.code().as_str())
        };
        if read.as_ref().is_some_and(is_known) {
            return read;
        }
        // Problem details have a place for the status, and more.
        let by_status = || match dialect {
            Some(Dialect::Problem) => None,
            _ => error_shapes::stated_status(document, self.server, self.now),
        };
        let failure = by_status()
            .or(read)
            .or_else(|| read_foreign(document.clone(), None))?;
        let failure = with_stated_kind(failure, document);
        let is_general = failure.code().as_str() == codes::TOOL_FAILED.code;
        let by_message = || error_shapes::in_text(failure.message(), self.tool());
        Some(match is_general.then(by_message).flatten() {
            Some(stated) => stated.with_details(failure.details().cloned().unwrap_or_default()),
            None => failure,
        })
    }

    /// The failure that only the message of a document states. Members of our own vocabulary say
    /// more.
    fn message_failure(&self, document: &Value) -> Option<Failure> {
        let body = ErrorBody::of_json(document);
        if body.retryable.is_some() || body.effect.is_some() {
            return None;
        }
        let failure = error_shapes::in_text(&body.message?, self.tool())?;
        Some(failure.with_details(document.as_object()?.clone()))
    }

    fn meta(&self, key: &str) -> Option<&Value> {
        self.result.get("_meta")?.get(key)
    }

    /// All text blocks, joined: a tool that works in steps reports each in its own block.
    fn text(&self) -> Option<Cow<'_, str>> {
        let mut texts = self.texts();
        let first = texts.next()?;
        let mut joined = Cow::Borrowed(first);
        for text in texts {
            if joined.len() + text.len() >= FAILURE_BYTES_LIMIT {
                break;
            }
            let joined = joined.to_mut();
            joined.push('\n');
            joined.push_str(text);
        }
        Some(joined)
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        let blocks = self.result.get("content").and_then(Value::as_array);
        let blocks = blocks.into_iter().flatten();
        blocks.filter_map(|block| block.get("text")?.as_str())
    }

    /// The first text block, if it is a JSON object.
    fn json_text(&self) -> Option<Value> {
        let text = self.texts().next()?.trim();
        let document = text
            .starts_with('{')
            .then(|| read::document_within(text.as_bytes(), FAILURE_BYTES_LIMIT));
        document?.ok()
    }
}

/// Applies what the sentences of the message state for certain. For an unclassified failure,
/// the condition and the delay in its message are the best information there is.
pub(super) fn with_statements(failure: Failure, now: Timestamp) -> Failure {
    if error_shapes::is_program_output(failure.message()) {
        return failure;
    }
    let members = InputMembers::default();
    let heard = CombinedStatements::of(failure.message(), &members, now, false);
    let is_known = failure.code().as_str() != codes::TOOL_FAILED.code;
    let is_refused = failure.repeat() == Some(Repeat::Refused);
    let code = heard.code().filter(|it| !is_refused || !it.retryable);
    let failure = match code {
        // The effect stays unknown: a passing condition does not mean that nothing was done.
        Some(entry) if !is_known => {
            let failure = failure.restated(entry.into());
            let failure = failure.mark_inferred(Inferred::Code);
            match heard.action() {
                Some(action) => failure.with_actions([action]),
                None => failure,
            }
        }
        _ => failure,
    };
    let remedies = failure.remedies();
    heard.apply_to(failure, &Value::Null, remedies)
}

/// Gives a failure the kind of a code of the document whose meaning is known.
fn with_stated_kind(failure: Failure, document: &Value) -> Failure {
    let codes = ErrorBody::of_json(document).codes;
    let stated = codes.into_iter().find_map(|code| {
        let kind = stated_kind(&code)?;
        Some((code, kind))
    });
    let is_better = |(_, kind): &(String, Kind)| {
        kind.category() != failure.category() || !failure.kind().is_catalogued()
    };
    let Some((code, kind)) = stated.filter(is_better) else {
        return failure;
    };
    let upstream = failure.upstream().cloned().unwrap_or_default().code(code);
    with_tool_code(failure.restated(kind).with_upstream(upstream))
}

/// Keeps the code of the tool as a detail if the failure has another one.
fn with_tool_code(failure: Failure) -> Failure {
    let code = failure.upstream().and_then(|it| it.code.clone());
    let is_present = failure.details().is_some_and(|it| it.contains_key("code"));
    match code.filter(|_| !is_present) {
        Some(code) => failure.with_detail("code", code),
        None => failure,
    }
}

fn fits(document: &Value) -> bool {
    size::fits(document, FAILURE_BYTES_LIMIT)
}

/// Whether a document contains the residual that only a panpan writes, anywhere its dialect allows.
fn is_from_panpan(document: &Value) -> bool {
    let error = document.get("error").unwrap_or(document);
    let data = error.get("data").unwrap_or(error);
    let details = error.get("details").and_then(Value::as_array);
    let metadata = details.into_iter().flatten();
    [document, error, data]
        .into_iter()
        .chain(metadata.filter_map(|detail| detail.get("metadata")))
        .any(|it| it.get(RESIDUAL).is_some())
}

pub(super) fn read_dialect(dialect: Dialect, document: Value) -> Option<Failure> {
    dialect.read(document).ok()?.outcome.err()
}

fn text_message(text: Option<&str>) -> String {
    match text.map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) => bounded(text),
        None => "the tool failed without an error message".to_owned(),
    }
}

/// Text cut to the limit, in its middle.
pub(super) fn bounded(text: &str) -> String {
    crate::bounded::bounded_within(text, MESSAGE_CHARACTERS_LIMIT, &Value::Null)
}

#[cfg(test)]
mod tests;
