//! What a server says unasked: progress, and that there are other tools now.

use panpan_runtime::Progress;
use rmcp::ClientHandler;
use rmcp::RoleClient;
use rmcp::service::NotificationContext;
use tokio::sync::{Semaphore, mpsc};

use super::wire::{Answered, Wire, request};
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
async fn a_session_is_told_of_other_tools() {
    let gateway = gateway(registry(&["test/one"]));
    let wire = Wire::to(gateway.clone(), HttpSettings::default()).await;
    let session = wire.session().await;
    let mut stream = session.send("GET", b"").await;
    replace(&gateway);
    assert_eq!(stream.next().await.unwrap()["method"], json!(LIST_CHANGED));
}

#[tokio::test]
async fn a_subscriber_is_told_of_other_tools_until_the_server_ends() {
    let gateway = gateway(registry(&["test/one"]));
    let wire = Wire::to(gateway.clone(), HttpSettings::default()).await;
    let wanted = json!({"notifications": {"toolsListChanged": true, "promptsListChanged": true}});
    let mut stream = wire.modern("subscriptions/listen", wanted).await;
    let accepted = stream.next().await.unwrap();
    assert_eq!(
        accepted["params"]["notifications"],
        json!({"toolsListChanged": true})
    );
    for _ in 0..2 {
        replace(&gateway);
        assert_eq!(stream.next().await.unwrap()["method"], json!(LIST_CHANGED));
    }
    wire.shutdown.cancel();
    while stream.next().await.is_some() {}
}

/// Notes every change it is told of.
struct Listener(mpsc::UnboundedSender<()>);

impl ClientHandler for Listener {
    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.send(()).unwrap();
    }
}

#[tokio::test]
async fn a_client_on_a_pipe_is_told_of_other_tools() {
    let gateway = gateway(registry(&["test/one"]));
    let (told, mut hears) = mpsc::unbounded_channel();
    let client = Listener(told).serve(served(gateway.clone())).await.unwrap();
    replace(&gateway);
    hears.recv().await.unwrap();
    let tools = client.list_all_tools().await.unwrap();
    assert_eq!(tools[0].name, "test__other");
}

/// Reports each number when it is let, and ends after the last.
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

async fn next_progress(stream: &mut Answered) -> (Value, Value) {
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
async fn progress_goes_forward_on_the_stream_of_its_request_and_ends_before_the_answer() {
    let numbers = &[1.0, 2.0, 1.5, 3.0, 3.0];
    let (handler, steps) = counting(numbers);
    let gateway = gateway(Registry::builder().register(query("test/count"), handler));
    let wire = Wire::to(gateway, HttpSettings::default()).await;
    let session = wire.session().await;
    for is_modern in [false, true] {
        let meta = json!({"progressToken": "token"});
        let params = json!({"name": "test__count", "arguments": {}});
        steps.add_permits(1);
        let mut stream = if is_modern {
            wire.modern_with("tools/call", params, meta).await
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
async fn what_is_said_just_before_the_end_is_heard() {
    let handler = |context: Context, _: Arc<Value>| async move {
        context.report(Progress {
            done: 10.0,
            total: Some(10.0),
            message: None,
        });
        Ok::<_, Failure>(json!({}))
    };
    let gateway = gateway(Registry::builder().register(query("test/count"), handler));
    let wire = Wire::to(gateway, HttpSettings::default()).await;
    let meta = json!({"progressToken": 7});
    let params = json!({"name": "test__count"});
    let mut stream = wire.modern_with("tools/call", params, meta).await;
    assert_eq!(next_progress(&mut stream).await, (json!(7), json!(10.0)));
    let last = stream.next().await.unwrap();
    assert_eq!(last["result"]["isError"], json!(false), "{last}");
}

#[tokio::test]
async fn without_a_token_there_is_no_word_about_progress() {
    let (handler, steps) = counting(&[1.0]);
    let gateway = gateway(Registry::builder().register(query("test/count"), handler));
    let wire = Wire::to(gateway, HttpSettings::default()).await;
    steps.add_permits(2);
    let answered = wire
        .modern("tools/call", json!({"name": "test__count"}))
        .await;
    assert_eq!(answered.headers["content-type"], "application/json");
}
