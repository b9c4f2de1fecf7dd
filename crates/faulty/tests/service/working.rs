//! Operations that work: orders, events, echo and the OpenAPI document.

use panpan_faulty::{Endpoint, Row, Service, faults};
use serde_json::json;
use tokio::io::AsyncReadExt;

use crate::client::{Answer, exchange, get, read_until_silent, send_request};

async fn order(service: &Service, query: &str, key: &str) -> Option<Answer> {
    let target = format!("/orders{query}");
    let bytes = exchange(
        service,
        "POST",
        &target,
        &format!("Idempotency-Key: {key}\r\n"),
    )
    .await;
    bytes.ok().map(|bytes| Answer::of(&bytes))
}

#[tokio::test]
async fn every_order_is_counted() {
    let service = Service::start().await.unwrap();
    let first = order(&service, "", "a").await.unwrap();
    assert_eq!(
        (first.status, first.json()),
        (201, json!({"id": 1, "ordered": {"item": "tea"}}))
    );
    order(&service, "", "a").await.unwrap();
    assert_eq!(
        get(&service, "/orders/count").await.json(),
        json!({"count": 2})
    );
}

#[tokio::test]
async fn an_order_whose_response_is_lost_was_placed_and_is_found_by_its_key() {
    let service = Service::start().await.unwrap();
    let query = "?keys=honoured&then=cut&times=2";
    assert!(order(&service, query, "k").await.is_none());
    assert!(order(&service, query, "k").await.is_none());
    let found = order(&service, query, "k").await.unwrap();
    assert_eq!(found.header("idempotent-replayed"), Some("true"));
    assert_eq!(found.json()["id"], 1);
    assert_eq!(service.orders_done(), 1);
}

#[tokio::test]
async fn a_response_can_get_lost_in_each_way() {
    let service = Service::start().await.unwrap();
    let broken = order(&service, "?then=error", "a").await.unwrap();
    assert_eq!(broken.status, 500);
    let silent = send_request(
        &service,
        "POST",
        "/orders?then=silence",
        "Idempotency-Key: b\r\n",
    )
    .await;
    while service.orders_done() < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(read_until_silent(silent, |_| true).await, b"");
    assert_eq!(service.orders_done(), 2);
}

#[tokio::test]
async fn event_streams_are_complete_or_cut_off() {
    let service = Service::start().await.unwrap();
    for (target, items, ends) in [
        ("/events", 3, true),
        ("/events?count=5", 5, true),
        ("/events?count=2&cut=true", 2, false),
        ("/events?count=0&cut=false", 0, true),
    ] {
        let answer = get(&service, target).await;
        assert_eq!(answer.header("content-type"), Some("text/event-stream"));
        let text = String::from_utf8(answer.body).unwrap();
        assert_eq!(text.matches("event: item\n").count(), items, "{target}");
        assert_eq!(text.ends_with("0\r\n\r\n"), ends, "{target}");
    }
}

#[tokio::test]
async fn an_echo_returns_the_request() {
    let service = Service::start().await.unwrap();
    let bytes = exchange(&service, "POST", "/echo?a=b", "X-Note: c\r\n")
        .await
        .unwrap();
    let echo = Answer::of(&bytes).json();
    assert_eq!(echo["method"], "POST");
    assert_eq!(echo["query"], json!({"a": "b"}));
    assert_eq!(echo["headers"]["x-note"], "c");
    assert_eq!(echo["body"], json!({"item": "tea"}));
}

#[tokio::test]
async fn the_service_serves_its_openapi_document() {
    let service = Service::start().await.unwrap();
    let served = get(&service, "/openapi.json").await.json();
    assert_eq!(served, service.document(Endpoint::Plain));
    assert_eq!(served["servers"][0]["url"], service.url(Endpoint::Plain));
    let elsewhere = get(&service, "/openapi.json?place=expired").await.json();
    assert_eq!(elsewhere, service.document(Endpoint::Expired));
    assert_eq!(get(&service, "/openapi.json?place=mars").await.status, 404);
}

#[tokio::test]
async fn an_unknown_path_is_not_found_and_an_invalid_request_is_refused() {
    let service = Service::start().await.unwrap();
    for target in ["/", "/fault/", "/fault/none", "/orders"] {
        assert_eq!(get(&service, target).await.status, 404, "{target}");
    }
    let mut stream = crate::client::connect(&service).await;
    tokio::io::AsyncWriteExt::write_all(&mut stream, b"\x16\x03\x01")
        .await
        .unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    assert_eq!(Answer::of(&bytes).status, 400);
}

#[tokio::test]
async fn requests_are_counted_per_row() {
    let service = Service::start().await.unwrap();
    let row = Row::of_slug("teapot").unwrap();
    get(&service, &row.path()).await;
    get(&service, &row.path()).await;
    for known in faults() {
        let expected = if known == row { 2 } else { 0 };
        assert_eq!(service.calls(known), expected, "{}", known.name);
    }
}
