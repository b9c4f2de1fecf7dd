//! A stream of events, complete or cut off.
//!
//! At `/events`; `count` is the number of events, and `cut` ends the connection before the end of the stream.

use std::io;

use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::fault::Then;
use crate::perform::{Wire, end};
use crate::request::Request;
use crate::respond::{Length, head};

/// The most events of one stream; larger requests get this many.
pub const EVENTS_LIMIT: u32 = 10_000;

/// The default number of events.
const EVENTS: u32 = 3;

pub(crate) async fn stream(wire: &mut impl Wire, request: &Request) -> io::Result<()> {
    let headers = [
        ("Content-Type", "text/event-stream"),
        ("Cache-Control", "no-store"),
    ];
    wire.write_all(&head(200, &headers, Length::Chunked))
        .await?;
    for number in 1..=count(request) {
        let data = json!({"number": number});
        let event = format!("id: {number}\nevent: item\ndata: {data}\n\n");
        let chunk = format!("{:x}\r\n{event}\r\n", event.len());
        wire.write_all(chunk.as_bytes()).await?;
        wire.flush().await?;
    }
    if request.query_value("cut").is_none_or(|cut| cut == "false") {
        wire.write_all(b"0\r\n\r\n").await?;
    }
    end(wire, Then::Close).await
}

fn count(request: &Request) -> u32 {
    let requested = request
        .query_value("count")
        .and_then(|count| count.parse().ok());
    requested.unwrap_or(EVENTS).min(EVENTS_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_events_is_limited() {
        let requested = |count: &str| count_of(vec![("count".to_owned(), count.to_owned())]);
        assert_eq!(count_of(Vec::new()), EVENTS);
        assert_eq!(requested("soon"), EVENTS);
        assert_eq!(requested("0"), 0);
        assert_eq!(requested("10000"), EVENTS_LIMIT);
        assert_eq!(requested("10001"), EVENTS_LIMIT);
    }

    fn count_of(query: Vec<(String, String)>) -> u32 {
        count(&Request {
            query,
            ..Request::default()
        })
    }
}
