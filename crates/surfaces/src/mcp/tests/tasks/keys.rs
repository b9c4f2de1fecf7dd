//! Idempotency keys and timeouts of calls as tasks.

use std::sync::atomic::{AtomicU32, Ordering};

use panpan_runtime::Registration;

use super::stateless::{asking, called, created, reached, supporting};
use super::*;

/// A client of operations that count how often they ran.
async fn counting() -> HttpClient {
    let count = Arc::new(AtomicU32::new(0));
    let counting = move |_: Context, _: Arc<Value>| {
        let number = count.fetch_add(1, Ordering::Relaxed) + 1;
        async move { Ok::<_, Failure>(json!({"number": number})) }
    };
    let operations = Registry::builder()
        .register(mutation("shop/put"), counting.clone())
        .register(mutation("shop/add"), counting)
        .register(query("shop/wait"), wait);
    HttpClient::to(with_tasks(operations), HttpSettings::default()).await
}

async fn number_of(http: &HttpClient, id: &str) -> Value {
    let task = reached(http, id, "completed").await;
    task["result"]["structuredContent"]["number"].clone()
}

#[tokio::test]
async fn the_same_key_of_the_same_tool_creates_one_task() {
    let http = http().await;
    let arguments = json!({"a": 1, "idempotency_key": "k"});
    let first = created(&http, "shop__put", arguments.clone()).await;
    let ended = reached(&http, &first, "completed").await;
    let again = called(&http, "shop__put", arguments.clone(), asking()).await;
    assert_eq!(again["result"]["taskId"], first.as_str());
    assert_eq!(again["result"]["status"], "completed", "{again}");
    assert_eq!(again["result"]["createdAt"], ended["createdAt"]);
    let other = json!({"a": 1, "idempotency_key": "l"});
    assert_ne!(created(&http, "shop__put", other).await, first);
    assert_ne!(created(&http, "shop__get", arguments).await, first);
}

#[tokio::test]
async fn a_direct_call_and_a_task_with_one_key_run_once() {
    let http = counting().await;
    let keyed = |key: &str| json!({"idempotency_key": key});
    let direct = called(&http, "shop__put", keyed("a"), json!({})).await;
    assert_eq!(direct["result"]["structuredContent"]["number"], 1);
    let id = created(&http, "shop__put", keyed("a")).await;
    assert_eq!(number_of(&http, &id).await, 1);
    let id = created(&http, "shop__put", keyed("b")).await;
    assert_eq!(number_of(&http, &id).await, 2);
    let direct = called(&http, "shop__put", keyed("b"), json!({})).await;
    assert_eq!(
        direct["result"]["structuredContent"]["number"], 2,
        "{direct}"
    );
    // Keys belong to one operation.
    let id = created(&http, "shop__add", keyed("a")).await;
    assert_eq!(number_of(&http, &id).await, 3);
}

#[tokio::test]
async fn a_task_exists_although_it_cannot_be_read() {
    async fn unreadable(_: Context, _: Arc<Value>) -> Result<Value, Failure> {
        Err(Failure::new(codes::ERR_STORE_UNAVAILABLE))
    }
    let replacing = |task: Registration| match task.name().as_str() {
        "tasks/get" => Registration::new(query("tasks/get"), unreadable),
        _ => task,
    };
    let gateway = with_tasks_as(operations(), replacing);
    let http = HttpClient::to(gateway, HttpSettings::default()).await;
    let arguments = json!({"a": 1, "idempotency_key": "k"});
    let first = created(&http, "shop__put", arguments.clone()).await;
    assert_eq!(created(&http, "shop__put", arguments).await, first);
}

#[tokio::test]
async fn the_timeout_of_the_caller_applies_to_the_task() {
    let http = counting().await;
    let mut meta = asking();
    meta["dev.panpan/timeout-ms"] = json!(30);
    let id = called(&http, "shop__wait", json!({}), meta).await["result"]["taskId"].take();
    let task = reached(&http, id.as_str().unwrap(), "completed").await;
    let view = agent_view(&task["result"]);
    assert_eq!(view["error"]["code"], "TIMEOUT", "{task}");
    let mut meta = supporting();
    meta["dev.panpan/timeout-ms"] = json!("soon");
    meta[TASK_META_KEY] = json!({});
    let refused = called(&http, "shop__wait", json!({}), meta).await;
    let view = agent_view(&refused["result"]);
    assert_eq!(view["error"]["code"], "INVALID_INPUT", "{refused}");
}
