//! `mcp`: a CallToolResult of the Model Context Protocol.
//!
//! Many clients show a model only the first text block, so that block is the agent view. The whole
//! failure is in `_meta`, for programs.
//! Failures have no `structuredContent`, because deployed clients check it against the output schema of the tool
//! and discard the result.

use serde_json::{Map, Value, json};

use super::{Dialect, MCP_META_KEY, Reply, agent_view, detect};
use crate::failure::{Canonical, Draft, Failure, Fields, Redacted};
use crate::read::{self, Members, ReadError};
use crate::write::written;

written! {
    pub(super) FailedResult(failure: Redacted) {
        "content" => Some([TextBlock(&agent_view(failure, &|_| None))]),
        "isError" => Some(true),
        "_meta" => Some(Meta(failure)),
    }
}

written! {
    TextBlock(text: str) {
        "type" => Some("text"),
        "text" => Some(text),
    }
}

written! {
    Meta(failure: Failure) {
        MCP_META_KEY => Some(Canonical::whole(failure)),
    }
}

/// Writes the output as text and as structured content, because clients read one or the other.
pub(super) fn success(output: Value) -> Value {
    let text = match &output {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    json!({
        "content": [{"type": "text", "text": text}],
        "structuredContent": output,
        "isError": false,
    })
}

pub(super) fn read(document: Value) -> Result<Reply, ReadError> {
    let mut members = Members::of(document, "")?;
    if members.peek("content").is_none() && members.peek("structuredContent").is_none() {
        return Err(members.missing("content", "a list of content blocks"));
    }
    let failed = members.lenient_flag("isError").unwrap_or_default();
    let text = first_text(&mut members);
    if !failed {
        let structured = members.take_nullable("structuredContent");
        return Ok(Reply::success(
            structured.or(text.map(Value::String)).unwrap_or_default(),
        ));
    }
    let whole = members
        .lenient_members("_meta")
        .and_then(|mut meta| meta.lenient_members(MCP_META_KEY));
    if let Some(whole) = whole {
        let mut draft = Draft::default();
        draft.absorb(whole, Fields::default())?;
        return Ok(Reply::failure(draft.finish()));
    }
    Ok(Reply::failure(read_foreign(
        text,
        members.take("structuredContent"),
    )))
}

fn first_text(members: &mut Members) -> Option<String> {
    let blocks = members.take("content")?;
    blocks
        .as_array()?
        .iter()
        .find_map(|block| block.get("text")?.as_str())
        .map(str::to_owned)
}

/// A third-party failure: in any dialect, otherwise with the text as the message.
fn read_foreign(text: Option<String>, structured: Option<Value>) -> Failure {
    let from_text = || {
        text.as_deref()
            .and_then(|text| read::document(text.as_bytes()).ok())
    };
    if let Some(failure) = structured.clone().or_else(from_text).and_then(in_a_dialect) {
        return failure;
    }
    let mut draft = Draft {
        message: text,
        ..Draft::default()
    };
    if let Some(structured) = structured {
        draft.keep_foreign(Map::from_iter([(
            "structured_content".to_owned(),
            structured,
        )]));
    }
    draft.finish()
}

fn in_a_dialect(document: Value) -> Option<Failure> {
    let dialect = detect(&document)
        .ok()
        .filter(|dialect| *dialect != Dialect::Mcp)?;
    dialect.read(document).ok()?.outcome.err()
}
