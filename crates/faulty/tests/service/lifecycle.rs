//! Start, limits and stop of the service.

use std::time::Duration;

use panpan_faulty::{CONNECTIONS_LIMIT, Service, StartError};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::client::{connect, get, read_until_silent, send_request};

#[tokio::test]
async fn it_listens_on_the_given_loopback_address_only() {
    let first = Service::start().await.unwrap();
    let taken = Service::start_at(first.address()).await.unwrap_err();
    assert!(matches!(taken, StartError::Listen(_)), "{taken}");
    let open = Service::start_at("0.0.0.0:0".parse().unwrap())
        .await
        .unwrap_err();
    assert!(matches!(open, StartError::NotLoopback(_)), "{open}");
}

#[tokio::test]
async fn dropping_it_ends_its_connections() {
    let service = Service::start().await.unwrap();
    let address = service.address();
    let mut hanging = send_request(&service, "GET", "/fault/silence-read", "").await;
    let mut idle = connect(&service).await;
    get(&service, "/echo").await;
    drop(service);
    for stream in [&mut hanging, &mut idle] {
        let ended = stream.read_to_end(&mut Vec::new()).await;
        assert!(ended.is_err() || ended.is_ok_and(|read| read == 0));
    }
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn the_number_of_connections_is_limited() {
    let service = Service::start().await.unwrap();
    let mut idle = Vec::new();
    for _ in 1..CONNECTIONS_LIMIT {
        idle.push(connect(&service).await);
    }
    assert_eq!(get(&service, "/echo").await.status, 200);
    idle.push(connect(&service).await);
    let waiting = send_request(&service, "GET", "/echo", "").await;
    let mut waiting = tokio::spawn(async move {
        let mut waiting = waiting;
        let mut bytes = Vec::new();
        waiting.read_to_end(&mut bytes).await.unwrap();
        bytes
    });
    assert!(
        timeout(Duration::from_millis(50), &mut waiting)
            .await
            .is_err()
    );
    drop(idle.pop());
    assert!(waiting.await.unwrap().starts_with(b"HTTP/1.1 200"));
    let silent = send_request(&service, "GET", "/fault/silence-read", "").await;
    assert_eq!(read_until_silent(silent, |_| true).await, b"");
}
