//! Parses incoming messages before rmcp does.
//!
//! rmcp keeps only the members it knows. The non-standard `recovery` of a result is moved into `_meta`, where it
//! survives, and a tool that can only be called as a task is marked there. What would make rmcp discard a whole
//! response is repaired: escapes that are half a character, and codes that are no 32-bit integers.

use rmcp::model::{ErrorCode, ErrorData, JsonRpcError, RequestId, ServerJsonRpcMessage};
use serde_json::{Map, Value, json};

/// The member that some gateways put beside the content of a failing result.
const RECOVERY: &str = "\"recovery\"";

/// Its place in the result's `_meta`.
pub(super) const RECOVERY_META_KEY: &str = "dev.panpan/foreign-recovery";

/// The member of a tool that says whether it can be called as a task.
const TASK_SUPPORT: &str = "\"taskSupport\"";

/// Marks a tool, in its `_meta`, that can only be called as a task.
pub(super) const REQUIRES_TASK_META_KEY: &str = "dev.panpan/requires-task";

/// The message in a text; `None` for anything else. Bytes that are not UTF-8 are replaced: a server that writes one
/// name in another charset should not lose its whole response.
pub(super) fn parse(text: &[u8]) -> Option<ServerJsonRpcMessage> {
    if !text.starts_with(b"{") {
        return None;
    }
    let text = String::from_utf8_lossy(text);
    serde_json::from_str(rewrite(&text).as_deref().unwrap_or(&text)).ok()
}

/// A message as text with the members that rmcp would drop moved into `_meta`; `None` if there is
/// nothing to move.
pub(super) fn rewrite(text: &str) -> Option<String> {
    let repaired = without_half_characters(text);
    let text = repaired.as_deref().unwrap_or(text);
    let is_result = text.contains("\"result\"");
    let may_differ = match is_result {
        true => text.contains(RECOVERY) || text.contains(TASK_SUPPORT),
        false => text.contains("\"error\""),
    };
    let rewritten = || {
        let mut document: Value = serde_json::from_str(text).ok()?;
        match is_result {
            true => keep_unknown_members(&mut document)?,
            false => keep_odd_code(&mut document)?,
        }
        Some(document.to_string())
    };
    may_differ.then(rewritten).flatten().or(repaired)
}

/// The member of an error's data with a code that is no 32-bit integer.
const ODD_CODE: &str = "jsonrpc_code";

/// The code that replaces it: one of those that servers define.
const SERVER_ERROR: i32 = -32000;

/// Replaces the code of an error that is no 32-bit integer; the original is kept in the data.
fn keep_odd_code(document: &mut Value) -> Option<()> {
    let error = document.get_mut("error")?.as_object_mut()?;
    let odd = error.get("code").cloned().unwrap_or_default();
    if odd.as_i64().is_some_and(|it| i32::try_from(it).is_ok()) {
        return None;
    }
    let whole = odd.as_f64().filter(|it| it.fract() == 0.0);
    let whole = whole.filter(|it| (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(it));
    #[allow(
        clippy::cast_possible_truncation,
        reason = "it is a whole number in this range"
    )]
    let whole = whole.map(|it| it as i32);
    error.insert("code".to_owned(), whole.unwrap_or(SERVER_ERROR).into());
    error.entry("message").or_insert_with(|| "".into());
    if whole.is_none() && !odd.is_null() {
        let data = error.entry("data").or_insert(Value::Null);
        match data {
            Value::Null => *data = json!({ODD_CODE: odd}),
            Value::Object(data) => {
                data.entry(ODD_CODE).or_insert(odd);
            }
            _ => {}
        }
    }
    Some(())
}

/// The text with U+FFFD instead of escapes that are half a character (lone surrogates), which
/// programs write that cut texts; `None` if there are none.
fn without_half_characters(text: &str) -> Option<String> {
    let mut repaired = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = text[at..].find('\\') {
        at += found;
        let length = match (
            escaped_unit(&text[at..]),
            escaped_unit(text.get(at + 6..).unwrap_or("")),
        ) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                repaired.push_str(&text[copied..at]);
                repaired.push_str("\\ufffd");
                copied = at + 6;
                6
            }
            (Some(_), _) => 6,
            // The backslash and what it escapes, which may have several bytes.
            (None, _) => 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
        };
        at += length;
    }
    repaired.push_str(&text[copied..]);
    (copied > 0).then_some(repaired)
}

/// The unit of UTF-16 in the escape at the beginning of a text.
fn escaped_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

fn keep_unknown_members(document: &mut Value) -> Option<()> {
    let result = document.get_mut("result")?.as_object_mut()?;
    if let Some(Value::Array(tools)) = result.get_mut("tools") {
        tools.iter_mut().for_each(mark_task_only);
        return Some(());
    }
    move_recovery(result)
}

fn mark_task_only(tool: &mut Value) {
    let support = tool.pointer("/execution/taskSupport");
    if support.is_some_and(|it| it == "required")
        && let Some(tool) = tool.as_object_mut()
    {
        add_to_meta(tool, REQUIRES_TASK_META_KEY, Value::Bool(true));
    }
}

fn add_to_meta(members: &mut Map<String, Value>, name: &str, value: Value) -> Option<()> {
    let meta = members.entry("_meta").or_insert_with(|| json!({}));
    meta.as_object_mut()?.insert(name.to_owned(), value);
    Some(())
}

/// The member that marks an error as the replacement of an unreadable response.
const UNREADABLE_KEY: &str = "dev.panpan/unreadable";

/// The request whose response is malformed: with a number that JSON does not allow, or cut
/// off. `only` is the only request in flight, if there is one.
pub(super) fn unreadable_response(line: &[u8], only: Option<RequestId>) -> Option<RequestId> {
    let text = String::from_utf8_lossy(line);
    let has = |name: &str| text.contains(name);
    let is_response = text.starts_with('{')
        && has("\"jsonrpc\"")
        && (has("\"result\"") || has("\"error\""))
        && !has("\"method\"");
    is_response.then(|| top_level_id(&text).or(only)).flatten()
}

/// The message that replaces an unreadable response, so that its request does not wait for ever.
pub(super) fn replacement(id: RequestId) -> ServerJsonRpcMessage {
    let data = json!({UNREADABLE_KEY: true});
    let error = ErrorData::new(
        ErrorCode::PARSE_ERROR,
        "the response is unreadable",
        Some(data),
    );
    ServerJsonRpcMessage::Error(JsonRpcError::new(Some(id), error))
}

/// Whether an error replaces an unreadable response.
pub(super) fn is_replacement(error: &ErrorData) -> bool {
    let data = error.data.as_ref();
    data.is_some_and(|data| data.get(UNREADABLE_KEY).is_some())
}

/// The integer `id` in the outermost object of a text that may not be valid JSON.
fn top_level_id(text: &str) -> Option<RequestId> {
    let (mut depth, mut in_string, mut is_escaped, mut started) = (0_usize, false, false, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' if in_string => {
                in_string = false;
                let value = text[at + 1..].trim_start().strip_prefix(':');
                if let (1, "id", Some(value)) = (depth, &text[started..at], value) {
                    let digits = value.trim_start();
                    let end = digits.find(|it: char| !it.is_ascii_digit());
                    let number = digits[..end.unwrap_or(digits.len())].parse();
                    return number.ok().map(RequestId::Number);
                }
            }
            b'"' => (in_string, started) = (true, at + 1),
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

fn move_recovery(result: &mut Map<String, Value>) -> Option<()> {
    if result.get("isError") != Some(&Value::Bool(true)) {
        return None;
    }
    let recovery = result.get("recovery")?.clone();
    add_to_meta(result, RECOVERY_META_KEY, recovery)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn recovery_beside_the_content_is_kept() {
        let result = json!({"content": [], "isError": true, "recovery": {"retry": false}});
        let text = json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string();
        let read = serde_json::to_value(parse(text.as_bytes()).unwrap()).unwrap();
        assert_eq!(
            read["result"]["_meta"][RECOVERY_META_KEY],
            json!({"retry": false})
        );
    }

    #[test]
    fn only_tools_that_require_a_task_are_marked() {
        let tool = |support: &str| json!({"name": support, "inputSchema": {}, "execution": {"taskSupport": support}});
        let tools = json!([tool("required"), tool("optional"), tool("forbidden")]);
        let text = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}).to_string();
        let rewritten: Value = serde_json::from_str(&rewrite(&text).unwrap()).unwrap();
        let read = serde_json::to_value(parse(text.as_bytes()).unwrap()).unwrap();
        for message in [rewritten, read] {
            let marks = [0, 1, 2].map(|at| {
                let meta = &message["result"]["tools"][at]["_meta"];
                meta[REQUIRES_TASK_META_KEY] == json!(true)
            });
            assert_eq!(marks, [true, false, false], "{message}");
        }
    }

    #[test]
    fn an_unreadable_response_is_matched_to_its_request() {
        let only = Some(RequestId::Number(9));
        for (line, expected) in [
            (
                r#"{"jsonrpc":"2.0","id":3,"result":{"value":NaN}}"#,
                Some(3),
            ),
            (
                r#"{"result":{"id":8,"x":NaN},"id" : 4,"jsonrpc":"2.0"}"#,
                Some(4),
            ),
            (
                r#"{"jsonrpc":"2.0","id":5,"error":{"message":"cut o"#,
                Some(5),
            ),
            (
                r#"{"jsonrpc":"2.0","result":{"a\"id":[{"id":1}], NaN"#,
                Some(9),
            ),
            (
                r#"{"level":"error","id":3,"error":"a line of a log"}"#,
                None,
            ),
            (
                r#"{"jsonrpc":"2.0","id":3,"method":"ping","params":{"result":NaN}}"#,
                None,
            ),
            (r#"trace {"jsonrpc":"2.0","id":3,"result":NaN}"#, None),
            ("", None),
        ] {
            let found = unreadable_response(line.as_bytes(), only.clone());
            assert_eq!(found, expected.map(RequestId::Number), "{line}");
        }
    }

    #[test]
    fn bytes_of_another_charset_are_replaced() {
        let line = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"ferm\xe9\"}]}}";
        let read = serde_json::to_value(parse(line).unwrap()).unwrap();
        assert_eq!(read["result"]["content"][0]["text"], "ferm\u{fffd}");
        assert!(parse(b"\xe9{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}").is_none());
    }

    #[test]
    fn half_a_character_is_replaced() {
        for (text, expected) in [
            (r#""a\ud83d""#, Some(r#""a\ufffd""#)),
            (r#""\udc00\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#)),
            (r#""\uD83D\uD83D\uDE00x""#, Some(r#""\ufffd\uD83D\uDE00x""#)),
            (r#""\ud83d\u0041""#, Some(r#""\ufffd\u0041""#)),
            (r#""\ud83d\ude00""#, None),
            (r#""\\ud83d""#, None),
            (r#""\é\u00e9\u12""#, None),
            ("", None),
        ] {
            assert_eq!(without_half_characters(text).as_deref(), expected, "{text}");
        }
        let line = br#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"cut \ud83d"}]}}"#;
        let read = serde_json::to_value(parse(line).unwrap()).unwrap();
        assert_eq!(read["result"]["content"][0]["text"], "cut \u{fffd}");
    }

    #[test]
    fn an_error_with_an_odd_code_keeps_its_message() {
        for (code, expected, kept) in [
            (json!(-32602), -32602, None),
            (json!(-32000.0), -32000, None),
            (
                json!(2_147_942_405_u32),
                SERVER_ERROR,
                Some(json!(2_147_942_405_u32)),
            ),
            (json!(1.5), SERVER_ERROR, Some(json!(1.5))),
            (json!("E_FAIL"), SERVER_ERROR, Some(json!("E_FAIL"))),
            (Value::Null, SERVER_ERROR, None),
        ] {
            let error = json!({"code": code, "message": "access is denied"});
            let text = json!({"jsonrpc": "2.0", "id": 1, "error": error}).to_string();
            let read = serde_json::to_value(parse(text.as_bytes()).unwrap()).unwrap();
            assert_eq!(read["error"]["message"], "access is denied");
            assert_eq!(read["error"]["code"], expected, "{code}");
            assert_eq!(read["error"]["data"].get(ODD_CODE), kept.as_ref(), "{code}");
        }
    }

    #[test]
    fn only_messages_are_parsed() {
        for (text, is_one) in [
            (r#"{"jsonrpc": "2.0", "id": 1, "result": {}}"#, true),
            (
                r#"{"jsonrpc": "2.0", "method": "notifications/x", "params": {"recovery": 1}}"#,
                true,
            ),
            ("listening on stdio", false),
            ("[1]", false),
            ("{", false),
            ("", false),
        ] {
            assert_eq!(parse(text.as_bytes()).is_some(), is_one, "{text}");
        }
    }
}
