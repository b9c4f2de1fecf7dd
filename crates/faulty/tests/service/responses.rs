//! Every row with a response: the bytes that arrive are those of the table.

use std::io;

use panpan_faulty::{
    Body, Endpoint, Fault, Generated, Part, Row, Service, Then, faults, leaked_in,
};
use tokio::io::AsyncReadExt;

use crate::client::{Answer, exchange, get, read_until_silent, send_request};

/// The bytes that the table writes as one character each.
fn bytes_of(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(c).unwrap()).collect()
}

/// Reads the response of a row, and checks how the connection ends; `None` for a reset, which may lose data.
async fn all_of(
    service: &Service,
    row: &Row,
    then: Then,
    is_all: impl Fn(&[u8]) -> bool,
) -> Option<Vec<u8>> {
    let mut stream = send_request(service, row.method(), &row.path(), "").await;
    let mut bytes = Vec::new();
    match then {
        Then::Hang => Some(read_until_silent(stream, is_all).await),
        Then::Close => {
            stream.read_to_end(&mut bytes).await.unwrap();
            Some(bytes)
        }
        Then::Reset => {
            let ended = stream.read_to_end(&mut bytes).await.unwrap_err();
            assert_eq!(ended.kind(), io::ErrorKind::ConnectionReset, "{}", row.name);
            None
        }
    }
}

/// Whether the head and this many body bytes have arrived.
fn holds(bytes: &[u8], of_body: usize) -> bool {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    end.is_some_and(|end| bytes.len() >= end + 4 + of_body)
}

#[tokio::test]
async fn a_response_has_the_status_headers_and_body_of_its_row() {
    let service = Service::start().await.unwrap();
    for row in faults() {
        let Fault::Answers {
            status,
            headers,
            body,
            stops_after,
            then,
        } = &row.fault
        else {
            continue;
        };
        let Some(bytes) = all_of(&service, row, *then, |bytes| {
            holds(bytes, stops_after.unwrap_or(0))
        })
        .await
        else {
            continue;
        };
        let answer = Answer::of(&bytes);
        assert_eq!(answer.status, *status, "{}", row.name);
        for (name, value) in headers {
            let sent = answer.headers.iter().filter(|(sent, _)| sent == name);
            let mut values = sent.map(|(_, value)| value);
            assert!(
                values.any(|sent| sent == value || value.contains("{{")),
                "{}: {name}",
                row.name
            );
        }
        check_body(row, &answer, body.as_ref(), *stops_after);
    }
}

fn check_body(row: &Row, answer: &Answer, body: Option<&Body>, stops_after: Option<usize>) {
    let promised = answer.header("content-length");
    let promised: usize = promised.map_or(0, |length| length.parse().unwrap());
    assert_eq!(
        answer.body.len(),
        stops_after.unwrap_or(promised),
        "{}",
        row.name
    );
    assert!(
        stops_after.is_none_or(|bytes| bytes < promised),
        "{}",
        row.name
    );
    match body {
        _ if stops_after.is_some() => {}
        None => assert!(answer.body.is_empty(), "{}", row.name),
        Some(Body::Generated(Generated::Json(value))) if !value.to_string().contains("{{") => {
            assert_eq!(answer.json(), *value, "{}", row.name);
        }
        Some(Body::Text(text)) if !text.contains("{{") => {
            assert_eq!(answer.body, text.as_bytes(), "{}", row.name);
        }
        Some(Body::Generated(Generated::Bytes(text))) => {
            assert_eq!(answer.body, bytes_of(text), "{}", row.name);
        }
        Some(_) => assert!(!answer.body.is_empty(), "{}", row.name),
    }
}

#[tokio::test]
async fn raw_bytes_arrive_as_in_the_table() {
    let service = Service::start().await.unwrap();
    for row in faults() {
        let Fault::Sends { bytes, then } = &row.fault else {
            continue;
        };
        let bytes = bytes_of(bytes);
        if let Some(arrived) =
            all_of(&service, row, *then, |arrived| arrived.len() >= bytes.len()).await
        {
            assert_eq!(arrived, bytes, "{}", row.name);
        }
    }
}

#[tokio::test]
async fn every_secret_is_planted_somewhere() {
    let service = Service::start().await.unwrap();
    let credential = format!("Authorization: Bearer {}\r\n", panpan_faulty::CREDENTIAL);
    let mut planted: Vec<&str> = Vec::new();
    for row in faults().iter().filter(|row| row.name.contains("secret")) {
        let bytes = exchange(&service, row.method(), &row.path(), &credential)
            .await
            .unwrap();
        let found = leaked_in(bytes);
        assert!(!found.is_empty(), "{}", row.name);
        planted.extend(found);
    }
    for secret in panpan_faulty::SECRETS {
        assert!(planted.contains(&secret.name), "{}", secret.name);
    }
}

#[tokio::test]
async fn a_secret_can_cross_the_end_of_an_excerpt() {
    let service = Service::start().await.unwrap();
    let answer = get(&service, "/fault/secret-on-the-edge-of-the-excerpt").await;
    let excerpt = &answer.body[..1000];
    assert!(!leaked_in(excerpt).is_empty());
    let secret = panpan_faulty::SECRETS
        .iter()
        .find(|secret| secret.name == "provider key")
        .unwrap();
    assert!(!String::from_utf8_lossy(excerpt).contains(secret.text));
}

#[tokio::test]
async fn redirects_have_the_number_of_hops_of_their_row() {
    let service = Service::start().await.unwrap();
    for row in faults() {
        let Fault::Redirects { status, hops } = row.fault else {
            continue;
        };
        let mut target = row.path();
        for _ in 0..hops.unwrap_or(50) {
            let answer = Answer::of(&exchange(&service, row.method(), &target, "").await.unwrap());
            assert_eq!(answer.status, status);
            answer.header("location").unwrap().clone_into(&mut target);
        }
        let last = exchange(&service, row.method(), &target, "").await.unwrap();
        let expected = if hops.is_some() { 200 } else { status };
        assert_eq!(Answer::of(&last).status, expected, "{}", row.name);
    }
}

#[tokio::test]
async fn a_dripping_response_announces_much_and_arrives_slowly() {
    let service = Service::start().await.unwrap();
    let mut stream = send_request(&service, "GET", "/fault/body-in-drops", "").await;
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n   ") {
        assert!(stream.read_buf(&mut bytes).await.unwrap() > 0);
    }
    assert_eq!(Answer::of(&bytes).header("content-length"), Some("1000000"));
}

#[tokio::test]
async fn floods_have_the_size_of_their_row() {
    let service = Service::start().await.unwrap();
    for row in faults() {
        let Fault::Floods {
            status,
            part,
            bytes: size,
        } = row.fault
        else {
            continue;
        };
        if part == Part::Interim {
            let mut stream = send_request(&service, row.method(), &row.path(), "").await;
            let mut bytes = [0; 100_000];
            stream.read_exact(&mut bytes).await.unwrap();
            assert_eq!(Answer::of(&bytes).status, 102);
            continue;
        }
        let bytes = exchange(&service, row.method(), &row.path(), "")
            .await
            .unwrap();
        let answer = Answer::of(&bytes);
        assert_eq!(answer.status, status, "{}", row.name);
        let size = usize::try_from(size).unwrap();
        match part {
            Part::Body => assert_eq!(answer.body.len(), size),
            Part::Chunks => {
                assert!(answer.body.len() > size && answer.body.ends_with(b"\r\n0\r\n\r\n"));
            }
            Part::Gzip => {
                assert!(answer.body.len() < size / 100 && answer.body.starts_with(&[0x1f, 0x8b]));
            }
            Part::Header => assert_eq!(answer.header("x-flood").unwrap().len(), size),
            Part::Headers => assert!(answer.headers.len() > 9_000),
            Part::Interim => unreachable!("it has no end"),
        }
    }
}

#[tokio::test]
async fn faulty_endpoints_respond_when_they_are_reached() {
    let service = Service::start().await.unwrap();
    for row in faults()
        .iter()
        .filter(|row| row.endpoint() != Endpoint::Plain)
    {
        let bytes = exchange(&service, row.method(), &row.path(), "")
            .await
            .unwrap();
        assert_eq!(
            Answer::of(&bytes).json()["answer"],
            "reached",
            "{}",
            row.name
        );
    }
}
