//! Hides the parts of an error text that repeat the input: `No results for query: rate limit exceeded` states no rate
//! limit. The message keeps them.

use panpan_failure::Failure;
use serde_json::Value;

use super::tool_error::bounded;

/// The shortest text of an input that is hidden, in bytes. Shorter ones are hardly sentences.
const ECHO_BYTES_MIN: usize = 8;

/// The most texts of an input that are hidden.
const ECHOES_LIMIT: usize = 64;

/// The first of the characters that stand for a text of the input; for private use, so that no server sends them.
const FIRST: u32 = 0xE000;

/// A failing result without the texts of the input.
#[derive(Debug)]
pub(super) struct Hidden {
    pub(super) result: Value,
    /// The texts, each with the character that it means.
    echoes: Vec<(char, String)>,
}

impl Hidden {
    pub(super) fn of(result: &Value, input: &Value) -> Self {
        let mut result = result.clone();
        let mut texts = Vec::new();
        sentences(input, &mut texts);
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        let characters = (FIRST..).filter_map(char::from_u32);
        let echoes: Vec<(char, String)> = characters.zip(texts).take(ECHOES_LIMIT).collect();
        let blocks = result.get_mut("content").and_then(Value::as_array_mut);
        for block in blocks.into_iter().flatten() {
            // The members of a document do not echo the input.
            if let Some(Value::String(text)) = block.get_mut("text")
                && !text.trim_start().starts_with('{')
            {
                // A text that is nothing but such a text states it.
                let whole = text.trim().to_owned();
                for (character, echo) in echoes.iter().filter(|(_, echo)| *echo != whole) {
                    *text = text.replace(echo.as_str(), character.encode_utf8(&mut [0; 4]));
                }
            }
        }
        Self { result, echoes }
    }

    /// The failure with the texts of the input in it.
    pub(super) fn shown(&self, failure: Failure) -> Failure {
        let show = |text: &str| {
            let shown = self.echoes.iter();
            shown.fold(text.to_owned(), |text, (character, echo)| {
                text.replace(*character, echo)
            })
        };
        let message = show(failure.message());
        let upstream = failure.upstream().cloned();
        let failure = match message == failure.message() {
            true => failure,
            false => failure.with_message(bounded(&message)),
        };
        match upstream {
            Some(mut upstream) if upstream.excerpt.is_some() => {
                upstream.excerpt = upstream.excerpt.map(|it| show(&it));
                failure.with_upstream(upstream)
            }
            _ => failure,
        }
    }
}

/// The texts of more than one word in an input.
fn sentences(input: &Value, found: &mut Vec<String>) {
    match input {
        Value::String(text) => {
            let text = text.trim();
            if text.len() >= ECHO_BYTES_MIN && text.contains(char::is_whitespace) {
                found.push(text.to_owned());
            }
        }
        Value::Array(items) => items.iter().for_each(|it| sentences(it, found)),
        Value::Object(members) => members.values().for_each(|it| sentences(it, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use panpan_failure::classify::InputMembers;
    use serde_json::json;

    use super::*;
    use crate::mcp::request_failure::SideEffects;
    use crate::mcp::tool_error::FailingResult;

    #[test]
    fn what_repeats_the_input_is_data() {
        for (text, input, code) in [
            (
                "Could not find exact match for edit:\nreturn 401 Unauthorized",
                json!({"edits": [{"oldText": "return 401 Unauthorized"}]}),
                "TOOL_FAILED",
            ),
            (
                "No results for query: rate limit exceeded",
                json!({"query": "rate limit exceeded"}),
                "TOOL_FAILED",
            ),
            (
                "Text not found in file: database is locked",
                json!({"text": "database is locked"}),
                "TOOL_FAILED",
            ),
            (
                "No matches found for: 403 Forbidden",
                json!({"pattern": "403 Forbidden"}),
                "TOOL_FAILED",
            ),
            // The tool states it itself.
            (
                "Search for red shoes failed: HTTP 403 Forbidden",
                json!({"query": "red shoes"}),
                "ERR_HTTP_403_FORBIDDEN",
            ),
            (
                "HTTP 403 Forbidden",
                json!({"query": "403"}),
                "ERR_HTTP_403_FORBIDDEN",
            ),
        ] {
            let result = json!({"isError": true, "content": [{"type": "text", "text": text}]});
            let hidden = Hidden::of(&result, &input);
            let failing = FailingResult {
                server: "files",
                result: &hidden.result,
                side_effects: SideEffects::ReadOnly,
                output_schema: None,
                members: &InputMembers::default(),
                now: Timestamp::UNIX_EPOCH,
            };
            let failure = hidden.shown(failing.failure(|_| false));
            let found = (failure.code().as_str(), failure.message());
            assert_eq!(found, (code, text));
        }
    }
}
