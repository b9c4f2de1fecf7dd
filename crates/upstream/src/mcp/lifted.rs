//! From what a server says about a failure to a failure.
//!
//! Our own are recovered whole. Those of others are lifted from the shapes that are known; what has none
//! is the message of a TOOL_FAILED. What may be answered at all is decided in `known_code`.

use std::borrow::Cow;

use jiff::Timestamp;
use panpan_failure::classify::{Condition, InputMembers, statements};
use panpan_failure::dialect::{
    Dialect, MCP_META_KEY, RESIDUAL, detect, disguised_failure, read_foreign,
};
use panpan_failure::{Failure, Inferred, Repeat, Upstream, codes, hint, read};
use serde_json::{Value, json};

use super::error::Refusal;
use super::foreign::RECOVERY_META_KEY;
use super::shapes;
use super::trouble::Stake;
use crate::classify::{CombinedStatements, is_declared_output};
use crate::known_code::with_known_code;
use crate::retry_members::without_retry_members;

/// The longest text of a server that becomes a message, in characters.
pub const MESSAGE_CHARACTERS_LIMIT: usize = 4_000;

/// The largest document that is read as a failure, in bytes of JSON; of a larger one only its text counts.
pub const FAILURE_BYTES_LIMIT: usize = 1024 * 1024;

/// What to do where a tool wants its caller to be signed in. Many servers have a tool for that.
const SIGN_IN: &str = "Sign in with a tool of the same server if it has one, then call again; else ask the person \
                       responsible for this tool to renew its credential";

/// A failing result, and what is known of its tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failing<'a> {
    pub(super) server: &'a str,
    pub(super) result: &'a Value,
    pub(super) stake: Stake,
    /// What its successes look like, if it says so.
    pub(super) output_schema: Option<&'a Value>,
    pub(super) now: Timestamp,
}

impl Failing<'_> {
    /// Whether a result that calls itself a success is exactly a failure: its structured content, or else
    /// its only block.
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
                .is_some_and(|it| self.is_undeclared_failure(&it))
    }

    fn is_undeclared_failure(&self, document: &Value) -> bool {
        let is_output = |schema| is_declared_output(document, schema);
        disguised_failure(document).is_some() && !self.output_schema.is_some_and(is_output)
    }

    /// The failure it stands for; `declared` says which codes the tool publishes.
    pub(super) fn failure(&self, declared: impl Fn(&str) -> bool) -> Failure {
        if let Some(own) = self.own() {
            return with_known_code(own, true, self.server, declared);
        }
        let failure = self.listened(self.of_others());
        let effect = self.stake.left_behind(&failure);
        let message = bounded(failure.message());
        let failure = failure.with_effect(effect).with_message(message);
        let code = failure.code().clone();
        let failure = with_known_code(without_retry_members(failure), false, self.server, declared);
        match *failure.code() == code {
            true => failure,
            false => with_own_code(failure),
        }
    }

    /// What the sentences of a failure state for certain. Of a tool that failed in no known way, what they say has
    /// happened and when to come back is the best that is known.
    fn listened(&self, failure: Failure) -> Failure {
        let heard = CombinedStatements {
            received: statements(failure.message(), &InputMembers::default()),
            declared: None,
        };
        let is_known = failure.code().as_str() != codes::TOOL_FAILED.code;
        let is_refused = failure.repeat() == Some(Repeat::Refused);
        let code = heard.code().filter(|it| !is_refused || !it.retryable);
        let failure = match code {
            // The effect stays open: that something passes does not say that nothing was done.
            Some(entry) if !is_known => {
                let failure = failure.restated(entry.into());
                let failure = failure.mark_inferred(Inferred::Code);
                match heard.received.condition {
                    Some(Condition::SignIn) => failure.with_actions([SIGN_IN]),
                    _ => failure,
                }
            }
            _ => failure,
        };
        let remedies = failure.remedies();
        heard.apply_to(failure, &Value::Null, remedies)
    }

    /// A failure written by a panpan: whole in `_meta`, or in the first text block in any dialect.
    fn own(&self) -> Option<Failure> {
        let whole = self.meta(MCP_META_KEY).filter(|it| it.is_object());
        if let Some(whole) = whole.filter(|it| fits(it)) {
            let alone = json!({"isError": true, "content": [], "_meta": {MCP_META_KEY: whole}});
            return spoken(Dialect::Mcp, alone);
        }
        let document = self.json_text()?;
        let dialect = detect(&document).ok().filter(|_| is_own(&document))?;
        spoken(dialect, document)
    }

    fn of_others(&self) -> Failure {
        let text = self.text();
        let text = text.as_deref();
        let structured = self.result.get("structuredContent");
        let structured = structured.filter(|it| it.is_object() && fits(it));
        self.meta(RECOVERY_META_KEY)
            .filter(|recovery| fits(recovery))
            .and_then(|recovery| shapes::recovery_object(recovery, text))
            .or_else(|| self.of_status_code(structured?, text))
            .or_else(|| self.of_document(structured?.clone()))
            .or_else(|| self.of_document(self.json_text()?))
            .or_else(|| shapes::status_in_text(text?, self.server, self.now))
            .or_else(|| shapes::errno_in_text(text?))
            .unwrap_or_else(|| Failure::new(codes::TOOL_FAILED).with_message(silence(text)))
    }

    /// A status alone, which explains the text.
    fn of_status_code(&self, structured: &Value, text: Option<&str>) -> Option<Failure> {
        let members = structured
            .as_object()
            .filter(|members| members.len() == 1)?;
        let status = members.get("status_code")?.as_u64()?;
        let status = u16::try_from(status).ok()?;
        let failure = shapes::of_status(status, text.unwrap_or_default(), self.server, self.now);
        failure.map(|failure| match text {
            Some(text) => failure.with_message(bounded(text)),
            None => failure,
        })
    }

    fn of_document(&self, document: Value) -> Option<Failure> {
        if let Some(failure) = shapes::envelope(&document) {
            return Some(failure);
        }
        let hint = hint::from_body(&document, self.now);
        let failure = detect(&document)
            .ok()
            .filter(|dialect| *dialect != Dialect::Mcp)
            .and_then(|dialect| spoken(dialect, document.clone()))
            .or_else(|| read_foreign(document.clone(), None))
            .or_else(|| shapes::in_our_words(&document, hint.is_some()))?;
        let stated = failure.stated_retry_after_ms().is_some() || !failure.retryable();
        Some(match hint.filter(|_| !stated) {
            Some(hint) => failure.with_retry_after_ms(hint.delay_ms),
            None => failure,
        })
    }

    fn meta(&self, key: &str) -> Option<&Value> {
        self.result.get("_meta")?.get(key)
    }

    /// All it says in words: a tool that works in steps tells of each in a block of its own.
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

    /// The document the first text is.
    fn json_text(&self) -> Option<Value> {
        let text = self.texts().next()?.trim();
        let document = text
            .starts_with('{')
            .then(|| read::document_within(text.as_bytes(), FAILURE_BYTES_LIMIT));
        document?.ok()
    }
}

/// The failure with the code its tool gave it, where it is told by another.
fn with_own_code(failure: Failure) -> Failure {
    let own = failure.upstream().and_then(|it| it.code.clone());
    let is_told = failure.details().is_some_and(|it| it.contains_key("code"));
    match own.filter(|_| !is_told) {
        Some(own) => failure.with_detail("code", own),
        None => failure,
    }
}

fn fits(document: &Value) -> bool {
    document.to_string().len() <= FAILURE_BYTES_LIMIT
}

/// An error of JSON-RPC in place of a result.
pub(super) fn refusal(server: &str, refusal: &Refusal, now: Timestamp) -> Failure {
    let upstream = Upstream::default()
        .provider(server)
        .code(refusal.code.to_string());
    let told = shapes::numbered(refusal, now).or_else(|| {
        let Refusal {
            code,
            message,
            data,
        } = refusal;
        let error = json!({"code": code, "message": message, "data": data});
        let document = json!({"jsonrpc": "2.0", "id": null, "error": error});
        spoken(Dialect::JsonRpc, document)
    });
    let told = told.unwrap_or_else(|| Failure::new(codes::TOOL_FAILED));
    with_known_code(without_retry_members(told), false, server, |_| false)
        .with_message(bounded(&refusal.message))
        .with_upstream(upstream)
}

/// Whether a document holds what only a panpan writes into it, wherever its dialect has room for that.
fn is_own(document: &Value) -> bool {
    let error = document.get("error").unwrap_or(document);
    let data = error.get("data").unwrap_or(error);
    let details = error.get("details").and_then(Value::as_array);
    let metadata = details.into_iter().flatten();
    [document, error, data]
        .into_iter()
        .chain(metadata.filter_map(|detail| detail.get("metadata")))
        .any(|place| place.get(RESIDUAL).is_some())
}

fn spoken(dialect: Dialect, document: Value) -> Option<Failure> {
    dialect.read(document).ok()?.outcome.err()
}

fn silence(text: Option<&str>) -> String {
    match text.map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) => bounded(text),
        None => "the tool failed and said nothing about it".to_owned(),
    }
}

/// A text that is not too long.
pub(super) fn bounded(text: &str) -> String {
    crate::bounded::bounded(text, MESSAGE_CHARACTERS_LIMIT, &Value::Null)
}

#[cfg(test)]
mod tests;
