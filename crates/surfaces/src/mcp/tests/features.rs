//! Resources, prompts and completion exist only if the gateway has a `Library`.

use panpan_failure::codes;
use panpan_mcp::library::{Changes, Freshness, List, Offer, Request};
use panpan_runtime::BoxFuture;
use rmcp::model::{ClientRequest, CustomRequest};
use rmcp::service::RunningService;
use rmcp::{RoleClient, ServiceError};
use tokio::sync::watch;

use super::*;
use crate::caller::Caller;
use crate::library::{Library, RequestSource};

use super::http_client::HttpClient;
use crate::mcp::HttpSettings;

const SECRET: &str = "sk-live-abcdefghijklmnopqrstuvwxyz012345";

/// A library with one item of each kind.
#[derive(Debug)]
struct TestLibrary(Offer, watch::Sender<Changes>);

impl Library for TestLibrary {
    fn offer(&self) -> Offer {
        self.0
    }

    fn freshness(&self, list: List) -> Option<Freshness> {
        (list == List::Prompts).then_some(Freshness {
            ttl_ms: 700,
            is_public: true,
        })
    }

    fn changes(&self, _: &Caller) -> watch::Receiver<Changes> {
        self.1.subscribe()
    }

    fn request<'a>(
        &'a self,
        _: &'a Caller,
        request: Request,
        source: RequestSource,
    ) -> BoxFuture<'a, Result<Value, Failure>> {
        let result = match request {
            Request::List(List::Resources) => Ok(json!([{"uri": "test://one", "name": "one"}])),
            Request::List(List::Templates) => {
                Ok(json!([{"uriTemplate": "test://{name}", "name": "any"}]))
            }
            Request::List(_) => Ok(json!([{"name": "one__greet"}])),
            Request::Read(uri) => match uri.as_str() {
                "test://one" => Ok(json!({"contents": [{"uri": uri, "text": "hi"}]})),
                "test://odd" => Ok(json!({"pages": 3})),
                _ => Err(Failure::new(codes::ARTIFACT_NOT_FOUND)
                    .with_message(format!("nothing there, with {SECRET}"))),
            },
            Request::Prompt { name, arguments } => {
                let mut text = format!("{name} {}", Value::from(arguments));
                if !source.meta.is_empty() {
                    text.push_str(&Value::from(source.meta).to_string());
                }
                let content = json!({"type": "text", "text": text});
                Ok(json!({"messages": [{"role": "user", "content": content}]}))
            }
            Request::Complete(params) => {
                let meta = params.meta.is_some().to_string();
                Ok(json!({"completion": {"values": [params.argument.value, meta]}}))
            }
            _ => Ok(Value::Null),
        };
        Box::pin(async { result })
    }
}

async fn client(library: Option<Offer>) -> RunningService<RoleClient, ()> {
    let gateway = gateway(Registry::builder().register(query("test/echo"), echo));
    if let Some(offer) = library {
        gateway.set_library(Arc::new(TestLibrary(offer, watch::Sender::default())));
    }
    ().serve(served(gateway)).await.unwrap()
}

async fn answered(
    client: &RunningService<RoleClient, ()>,
    method: &str,
    params: Value,
) -> Result<Value, (i32, Value)> {
    let request = ClientRequest::CustomRequest(CustomRequest::new(method, Some(params)));
    match client.send_request(request).await {
        Ok(result) => Ok(serde_json::to_value(result).unwrap()),
        Err(ServiceError::McpError(error)) => {
            let written = serde_json::to_value(&error).unwrap();
            Err((error.code.0, written))
        }
        Err(other) => panic!("{other}"),
    }
}

const ALL: Offer = Offer {
    resources: true,
    prompts: true,
    completions: true,
    logging: true,
    subscriptions: true,
};

#[tokio::test]
async fn only_capabilities_of_the_library_are_declared() {
    let some = Offer {
        prompts: true,
        ..Offer::default()
    };
    for (library, resources, prompts, completions) in [
        (None, false, false, false),
        (Some(Offer::default()), false, false, false),
        (Some(some), false, true, false),
        (Some(ALL), true, true, true),
    ] {
        let client = client(library).await;
        let offered = client.peer_info().unwrap().capabilities.clone();
        let found = (
            offered.resources.is_some(),
            offered.prompts.is_some(),
            offered.completions.is_some(),
        );
        assert_eq!(found, (resources, prompts, completions), "{library:?}");
        assert!(offered.tools.is_some());
    }
}

#[tokio::test]
async fn without_a_library_the_methods_are_unknown() {
    let client = client(None).await;
    for (method, params) in [
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "test://one"})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "greet"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "a", "value": ""}}),
        ),
    ] {
        let (code, _) = answered(&client, method, params).await.unwrap_err();
        assert_eq!(code, -32601, "{method}");
    }
}

#[tokio::test]
async fn results_of_the_library_are_passed_on() {
    let client = client(Some(ALL)).await;
    let asked = json!({
        "ref": {"type": "ref/prompt", "name": "one__greet"},
        "argument": {"name": "who", "value": "A"},
        "_meta": {"mine": 1},
    });
    for (method, params, pointer, expected) in [
        (
            "resources/list",
            json!({}),
            "/resources/0/uri",
            "test://one",
        ),
        (
            "resources/templates/list",
            json!({}),
            "/resourceTemplates/0/uriTemplate",
            "test://{name}",
        ),
        (
            "resources/read",
            json!({"uri": "test://one"}),
            "/contents/0/text",
            "hi",
        ),
        ("prompts/list", json!({}), "/prompts/0/name", "one__greet"),
        ("prompts/list", json!({}), "/cacheScope", "public"),
        (
            "prompts/get",
            json!({"name": "one__greet", "arguments": {"who": "Ada"}}),
            "/messages/0/content/text",
            "one__greet {\"who\":\"Ada\"}",
        ),
        (
            "prompts/get",
            json!({"name": "one__greet", "_meta": {"vendor/locale": "de", "dev.panpan/call": 1}}),
            "/messages/0/content/text",
            "one__greet {}{\"vendor/locale\":\"de\"}",
        ),
        (
            "completion/complete",
            asked.clone(),
            "/completion/values/0",
            "A",
        ),
        (
            "completion/complete",
            asked,
            "/completion/values/1",
            "false",
        ),
    ] {
        let result = answered(&client, method, params).await.unwrap();
        assert_eq!(result.pointer(pointer), Some(&json!(expected)), "{method}");
    }
}

#[tokio::test]
async fn failures_of_the_library_are_complete_and_redacted() {
    let client = client(Some(ALL)).await;
    for (uri, code, number) in [
        ("test://none", "ARTIFACT_NOT_FOUND", Some(-32002)),
        ("test://odd", "ERR_HTTP_502_BAD_GATEWAY", None),
    ] {
        let refused = answered(&client, "resources/read", json!({"uri": uri})).await;
        let (found, error) = refused.unwrap_err();
        assert!(number.map_or(found > 0, |it| found == it), "{error}");
        assert_eq!(error["data"]["uri"], uri);
        let document = json!({"jsonrpc": "2.0", "id": 1, "error": error});
        let reply = panpan_failure::dialect::Dialect::JsonRpc.read(document);
        let failure = reply.unwrap().outcome.unwrap_err();
        assert_eq!(failure.code().as_str(), code);
        assert!(!error.to_string().contains("sk-live"), "{error}");
    }
    let (code, _) = answered(&client, "prompts/list", json!({"cursor": "2"}))
        .await
        .unwrap_err();
    assert_eq!(code, -32602);
}

#[tokio::test]
async fn sessions_and_subscribers_are_notified_of_changed_lists() {
    let gateway = gateway(Registry::builder().register(query("test/echo"), echo));
    let changes = watch::Sender::new(Changes::default());
    gateway.set_library(Arc::new(TestLibrary(ALL, changes.clone())));
    let http = HttpClient::to(gateway, HttpSettings::default()).await;
    let session = http.session().await;
    let mut stream = session.send("GET", b"").await;
    let filter = json!({"notifications": {"promptsListChanged": true}});
    let mut subscriber = http.modern("subscriptions/listen", filter).await;
    let accepted = subscriber.next().await.unwrap();
    assert_eq!(
        accepted["params"]["notifications"],
        json!({"promptsListChanged": true})
    );
    for (resources, prompts, kinds) in [
        (1, 0, &["resources"][..]),
        (1, 1, &["prompts"]),
        (2, 2, &["resources", "prompts"]),
    ] {
        changes.send_replace(Changes {
            tools: 0,
            resources,
            prompts,
        });
        for kind in kinds {
            let method = json!(format!("notifications/{kind}/list_changed"));
            assert_eq!(stream.next().await.unwrap()["method"], method);
            if *kind == "prompts" {
                assert_eq!(subscriber.next().await.unwrap()["method"], method);
            }
        }
    }
}
