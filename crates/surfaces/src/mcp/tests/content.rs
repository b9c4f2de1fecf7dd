//! MCP-specific members of a contract: content blocks, and arguments repeated in headers.

use super::http_client::HttpClient;
use super::*;
use crate::mcp::HttpSettings;
use panpan_mcp::names::CONTENT_MARK;

async fn http(spec: OperationSpec) -> HttpClient {
    let gateway = gateway(Registry::builder().register(spec, echo));
    HttpClient::to(gateway, HttpSettings::default()).await
}

#[tokio::test]
async fn content_blocks_reach_the_client_and_malformed_ones_as_json() {
    let mut spec = query("test/picture");
    spec.output_schema = json!({
        "type": "object",
        CONTENT_MARK: true,
        "properties": {"content": {"type": "array"}, "structuredContent": {"type": "object"}},
    });
    let http = http(spec).await;
    let list = http.modern("tools/list", json!({})).await.message().await;
    assert!(list["result"]["tools"][0].get("outputSchema").is_none());
    let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
    let text = json!({"type": "text", "text": "a picture"});
    let output = json!({"content": [image, text], "structuredContent": {"width": 1}});
    for answer in http.call_both("test__picture", output.clone()).await {
        let result = &answer["result"];
        assert_eq!(result["content"], output["content"], "{answer}");
        assert_eq!(result["structuredContent"], json!({"width": 1}));
        assert_eq!(result["isError"], json!(false));
    }
    let malformed = json!({"content": [{"type": "image"}]});
    for answer in http.call_both("test__picture", malformed.clone()).await {
        let result = &answer["result"];
        assert_eq!(result["content"][0]["text"], json!(malformed.to_string()));
    }
}

#[tokio::test]
async fn an_argument_has_to_match_the_header_that_repeats_it() {
    let mut spec = query("test/region");
    spec.input_schema = json!({
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    });
    let http = http(spec).await;
    let params = json!({"name": "test__region", "arguments": {"region": "north"}});
    for (header, code) in [
        (Some("north"), None),
        (Some("south"), Some(-32020)),
        (None, Some(-32020)),
    ] {
        let client = match header {
            Some(region) => http.with("Mcp-Param-Region", region),
            None => http.clone(),
        };
        let answer = client
            .modern("tools/call", params.clone())
            .await
            .message()
            .await;
        assert_eq!(
            answer["error"]["code"].as_i64(),
            code,
            "{header:?}: {answer}"
        );
    }
}
