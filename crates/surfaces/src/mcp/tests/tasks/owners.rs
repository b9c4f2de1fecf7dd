//! Whose state a task uses, and which tools run only as tasks.

use panpan_runtime::StateOwner;

use super::stateless::{created, reached};
use super::*;
use crate::mcp::ToolForm;

async fn of_state(context: Context, _: Arc<Value>) -> Result<Value, Failure> {
    let owner = context.state_owner();
    let has_session = matches!(owner, StateOwner::Session(_));
    Ok(json!({"owner": format!("{owner:?}"), "has_session": has_session}))
}

#[tokio::test]
async fn a_task_uses_the_state_of_the_session_that_created_it() {
    let operations = Registry::builder().register(query("shop/owner"), of_state);
    let http = HttpClient::to(with_tasks(operations), HttpSettings::default()).await;
    let mut owners = Vec::new();
    for client in [
        http.session().await,
        http.session().await,
        http.by("anna").session().await,
    ] {
        let params = json!({"name": "shop__owner", "arguments": {}});
        let direct = client.post(&request("tools/call", params)).await;
        let direct = direct.message().await["result"]["structuredContent"].take();
        let id = session::created(&client, "shop__owner", json!({})).await;
        let result = session::about(&client, "tasks/result", &id).await;
        assert_eq!(result["result"]["structuredContent"], direct, "{result}");
        owners.push(direct);
    }
    assert!(owners[0]["has_session"] == true && owners[0] != owners[1]);
    assert_eq!(owners[2]["has_session"], false);
    // Without a session, clients without a token share their state.
    let id = created(&http, "shop__owner", json!({})).await;
    let task = reached(&http, &id, "completed").await;
    let owner = &task["result"]["structuredContent"]["owner"];
    assert_eq!(owner, "Anyone");
}

#[tokio::test]
async fn a_tool_that_runs_only_as_a_task_is_not_called_in_another_way() {
    let searching = HttpSettings {
        form: ToolForm::Search,
        ..HttpSettings::default()
    };
    let http = HttpClient::to(with_tasks(operations()), searching).await;
    let call = json!({"operation": "shop/job"});
    for (tool, arguments) in [("call", call.clone()), ("batch", json!({"calls": [call]}))] {
        let params = json!({"name": tool, "arguments": arguments});
        let answer = http.modern("tools/call", params).await.message().await;
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("runs only as a task"), "{answer}");
    }
    let mut initialize = super::super::http_client::initialize(json!({}));
    initialize["params"]["protocolVersion"] = json!("2025-06-18");
    let older = http.session_of(&initialize).await;
    let refused = session::sent(&older, "tools/call", json!({"name": "shop__job"})).await;
    assert_eq!(refused["error"]["code"], -32601, "{refused}");
}
