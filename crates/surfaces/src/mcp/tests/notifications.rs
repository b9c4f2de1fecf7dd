//! Unsolicited notifications: progress and `list_changed`.

use panpan_runtime::Progress;
use rmcp::ClientHandler;
use rmcp::RoleClient;
use rmcp::service::NotificationContext;
use tokio::sync::{Semaphore, mpsc};

use super::http_client::{HttpClient, HttpResponse, request};
use super::*;
use crate::gateway::Gateway;
use crate::mcp::HttpSettings;

fn registry(names: &[&str]) -> Builder {
    let add = |builder: Builder, name: &&str| builder.register(query(name), echo);
    names.iter().fold(Registry::builder(), add)
}

fn replace(gateway: &Gateway) {
    let other = registry(&["test/other"]).build().unwrap();
    gateway.dispatcher().replace(other);
}

const LIST_CHANGED: &str = "notifications/tools/list_changed";

#[tokio::test]
async fn a_session_is_notified_of_changed_tools() {
    let gateway = gateway(registry(&["test/one"]));
    let http = HttpClient::to(gateway.clone(), HttpSettings::default()).await;
    let session = http.session().await;
    let mut stream = session.send("GET", b"").await;
    replace(&gateway);
    assert_eq!(stream.next().await.unwrap()["method"], json!(LIST_CHANGED));
}

#[tokio::test]
async fn a_subscriber_is_notified_of_changed_tools_until_shutdown() {
    let gateway = gateway(registry(&["test/one"]));
    let http = HttpClient::to(gateway.clone(), HttpSettings::default()).await;
    let filter = json!({"notifications": {"toolsListChanged": true, "promptsListChanged": true}});
    let mut stream = http.modern("subscriptions/listen", filter).await;
    let accepted = stream.next().await.unwrap();
    assert_eq!(
        accepted["params"]["notifications"],
        json!({"toolsListChanged": true})
    );
    for _ in 0..2 {
        replace(&gateway);
        assert_eq!(stream.next().await.unwrap()["method"], json!(LIST_CHANGED));
    }
    http.shutdown.cancel();
    while stream.next().await.is_some() {}
}

/// Reports every `list_changed` notification.
struct ChangeListener(mpsc::UnboundedSender<()>);

impl ClientHandler for ChangeListener {
    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.send(()).unwrap();
    }
}

#[tokio::test]
async fn a_client_on_stdio_is_notified_of_changed_tools() {
    let gateway = gateway(registry(&["test/one"]));
    let (sender, mut changes) = mpsc::unbounded_channel();
    let client = ChangeListener(sender)
        .serve(served(gateway.clone()))
        .await
        .unwrap();
    replace(&gateway);
    changes.recv().await.unwrap();
    let tools = client.list_all_tools().await.unwrap();
    assert_eq!(tools[0].name, "test__other");
}

/// Reports one number per permit and ends after the last.
fn counting(numbers: &'static [f64]) -> (impl Handler, Arc<Semaphore>) {
    let steps = Arc::new(Semaphore::new(0));
    let let_go = steps.clone();
    let handler = move |context: Context, _: Arc<Value>| {
        let steps = steps.clone();
        async move {
            for done in numbers {
                steps.acquire().await.unwrap().forget();
                context.report(Progress {
                    done: *done,
                    total: Some(10.0),
                    message: Some(format!("step {done}")),
                });
            }
            steps.acquire().await.unwrap().forget();
            Ok::<_, Failure>(json!({}))
        }
    };
    (handler, let_go)
}

async fn next_progress(stream: &mut HttpResponse) -> (Value, Value) {
    let message = stream.next().await.unwrap();
    assert_eq!(
        message["method"],
        json!("notifications/progress"),
        "{message}"
    );
    let params = &message["params"];
    assert_eq!(params["total"], json!(10.0));
    (params["progressToken"].clone(), params["progress"].clone())
}

#[tokio::test]
async fn progress_increases_on_the_stream_of_its_request_and_ends_before_the_response() {
    let numbers = &[1.0, 2.0, 1.5, 3.0, 3.0];
    let (handler, steps) = counting(numbers);
    let gateway = gateway(Registry::builder().register(query("test/count"), handler));
    let http = HttpClient::to(gateway, HttpSettings::default()).await;
    let session = http.session().await;
    for is_modern in [false, true] {
        let meta = json!({"progressToken": "token"});
        let params = json!({"name": "test__count", "arguments": {}});
        steps.add_permits(1);
        let mut stream = if is_modern {
            http.modern_with("tools/call", params, meta).await
        } else {
            let mut params = params;
            params["_meta"] = meta;
            session.post(&request("tools/call", params)).await
        };
        assert_eq!(
            next_progress(&mut stream).await,
            (json!("token"), json!(1.0))
        );
        steps.add_permits(1);
        assert_eq!(next_progress(&mut stream).await.1, json!(2.0));
        steps.add_permits(2);
        assert_eq!(next_progress(&mut stream).await.1, json!(3.0));
        steps.add_permits(2);
        let last = stream.next().await.unwrap();
        assert_eq!(last["result"]["isError"], json!(false), "{last}");
        assert_eq!(stream.next().await, None);
    }
}

#[tokio::test]
async fn progress_just_before_the_end_is_sent() {
    let handler = |context: Context, _: Arc<Value>| async move {
        context.report(Progress {
            done: 10.0,
            total: Some(10.0),
            message: None,
        });
        Ok::<_, Failure>(json!({}))
    };
    let gateway = gateway(Registry::builder().register(query("test/count"), handler));
    let http = HttpClient::to(gateway, HttpSettings::default()).await;
    let meta = json!({"progressToken": 7});
    let params = json!({"name": "test__count"});
    let mut stream = http.modern_with("tools/call", params, meta).await;
    assert_eq!(next_progress(&mut stream).await, (json!(7), json!(10.0)));
    let last = stream.next().await.unwrap();
    assert_eq!(last["result"]["isError"], json!(false), "{last}");
}

#[tokio::test]
async fn without_a_token_no_progress_is_sent() {
    let (handler, steps) = counting(&[1.0]);
    let gateway = gateway(Registry::builder().register(query("test/count"), handler));
    let http = HttpClient::to(gateway, HttpSettings::default()).await;
    steps.add_permits(2);
    let answered = http
        .modern("tools/call", json!({"name": "test__count"}))
        .await;
    assert_eq!(answered.headers["content-type"], "application/json");
}
