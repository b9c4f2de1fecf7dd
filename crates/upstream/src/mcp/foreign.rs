//! Messages as they come off the wire.
//!
//! The library keeps only what it knows of a result. What others write beside it about a failure is put
//! where it is kept, before the library reads the message.

use rmcp::model::ServerJsonRpcMessage;
use serde_json::{Map, Value};

/// The member some gateways put beside the content of a failing result.
const RECOVERY: &str = "\"recovery\"";

/// Where it is found afterwards, in the result's `_meta`.
pub(super) const RECOVERY_META_KEY: &str = "dev.panpan/foreign-recovery";

/// The message a text is; `None` for anything else.
pub(super) fn message(text: &[u8]) -> Option<ServerJsonRpcMessage> {
    let text = std::str::from_utf8(text).ok()?;
    if !text.starts_with('{') {
        return None;
    }
    if !text.contains(RECOVERY) {
        return serde_json::from_str(text).ok();
    }
    let mut document: Value = serde_json::from_str(text).ok()?;
    keep_recovery(&mut document);
    serde_json::from_value(document).ok()
}

/// A message as text, with what is beside its content put where it is kept; `None` where nothing is.
pub(super) fn rewritten(text: &str) -> Option<String> {
    if !text.contains(RECOVERY) {
        return None;
    }
    let mut document: Value = serde_json::from_str(text).ok()?;
    keep_recovery(&mut document)?;
    Some(document.to_string())
}

fn keep_recovery(document: &mut Value) -> Option<()> {
    let result = document.get_mut("result")?.as_object_mut()?;
    if result.get("isError") != Some(&Value::Bool(true)) {
        return None;
    }
    let recovery = result.get("recovery")?.clone();
    let meta = result
        .entry("_meta")
        .or_insert_with(|| Value::Object(Map::new()));
    meta.as_object_mut()?
        .insert(RECOVERY_META_KEY.to_owned(), recovery);
    Some(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_gateway_says_beside_the_content_is_kept() {
        let result = json!({"content": [], "isError": true, "recovery": {"retry": false}});
        let text = json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string();
        let read = serde_json::to_value(message(text.as_bytes()).unwrap()).unwrap();
        assert_eq!(
            read["result"]["_meta"][RECOVERY_META_KEY],
            json!({"retry": false})
        );
    }

    #[test]
    fn only_messages_are_read() {
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
            assert_eq!(message(text.as_bytes()).is_some(), is_one, "{text}");
        }
    }
}
