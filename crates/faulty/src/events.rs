//! A stream of events, to its end or not.
//!
//! Asked for at `/events`; `count` says how many, and `cut` ends the connection without an end.

use std::io;

use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::fault::Then;
use crate::perform::{Wire, end};
use crate::request::Request;
use crate::respond::{Length, head};

/// How many events one stream has at most; who asks for more gets so many.
pub const EVENTS_LIMIT: u32 = 10_000;

/// How many it has when nobody says.
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
    if request.asked("cut").is_none_or(|cut| cut == "false") {
        wire.write_all(b"0\r\n\r\n").await?;
    }
    end(wire, Then::Close).await
}

fn count(request: &Request) -> u32 {
    let asked = request.asked("count").and_then(|count| count.parse().ok());
    asked.unwrap_or(EVENTS).min(EVENTS_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_counted_up_to_the_limit() {
        let asked = |count: &str| count_of(vec![("count".to_owned(), count.to_owned())]);
        assert_eq!(count_of(Vec::new()), EVENTS);
        assert_eq!(asked("soon"), EVENTS);
        assert_eq!(asked("0"), 0);
        assert_eq!(asked("10000"), EVENTS_LIMIT);
        assert_eq!(asked("10001"), EVENTS_LIMIT);
    }

    fn count_of(query: Vec<(String, String)>) -> u32 {
        count(&Request {
            query,
            ..Request::default()
        })
    }
}
