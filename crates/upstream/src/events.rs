//! A parser for server-sent events that takes bytes in chunks of any size.
//!
//! Knows the format only; callers interpret the events.

use std::collections::VecDeque;
use std::mem;

use crate::transport::{RawResponse, TransportError};

/// The maximum length of an event, in bytes.
pub const EVENT_BYTES_LIMIT: usize = 4 * 1024 * 1024;

/// A server-sent event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The event name; empty if the event has none.
    pub name: String,
    /// The data; several data lines are joined by line feeds.
    pub data: Vec<u8>,
}

/// An event is longer than [`EVENT_BYTES_LIMIT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TooLong;

/// The reason that events end early.
#[derive(Debug)]
pub(crate) enum EventError {
    Transport(TransportError),
    /// The response ended within an event.
    Cut,
    TooLong,
}

/// Parses bytes into events.
#[derive(Debug, Default)]
pub(crate) struct EventParser {
    line: Vec<u8>,
    after_return: bool,
    name: String,
    data: Option<Vec<u8>>,
    complete: VecDeque<Event>,
}

impl EventParser {
    /// The next event of a response; `None` at its end.
    pub(crate) async fn read(
        &mut self,
        response: &mut RawResponse,
    ) -> Result<Option<Event>, EventError> {
        loop {
            if let Some(event) = self.complete.pop_front() {
                return Ok(Some(event));
            }
            match response.chunk().await.map_err(EventError::Transport)? {
                Some(bytes) => self.feed(&bytes).map_err(|TooLong| EventError::TooLong)?,
                None if self.is_inside_event() => return Err(EventError::Cut),
                None => return Ok(None),
            }
        }
    }

    /// Parses the next chunk.
    fn feed(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        for byte in bytes {
            let after_return = mem::replace(&mut self.after_return, *byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => self.end_line(),
                _ => self.line.push(*byte),
            }
            let length = self.data.as_ref().map_or(0, Vec::len) + self.line.len();
            if length > EVENT_BYTES_LIMIT {
                return Err(TooLong);
            }
        }
        Ok(())
    }

    /// Whether an event has begun but is not complete.
    fn is_inside_event(&self) -> bool {
        self.data.is_some() || !self.line.is_empty()
    }

    fn end_line(&mut self) {
        let line = mem::take(&mut self.line);
        if line.is_empty() {
            return self.end_event();
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = match colon {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (&line[..], &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            b"data" => self.add_data(value),
            // Comments only keep the connection open, and `id` and `retry` serve reconnecting, which is not done here.
            _ => {}
        }
    }

    fn add_data(&mut self, value: &[u8]) {
        match &mut self.data {
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => self.data = Some(value.to_vec()),
        }
    }

    /// By the specification, an event without data is dropped.
    fn end_event(&mut self) {
        let name = mem::take(&mut self.name);
        if let Some(data) = self.data.take() {
            self.complete.push_back(Event { name, data });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(chunks: &[&[u8]]) -> (Vec<(String, String)>, bool) {
        let mut events = EventParser::default();
        for chunk in chunks {
            events.feed(chunk).unwrap();
        }
        let complete = std::iter::from_fn(|| events.complete.pop_front());
        let complete = complete.map(|event| (event.name, String::from_utf8(event.data).unwrap()));
        (complete.collect(), events.is_inside_event())
    }

    #[test]
    fn events_do_not_depend_on_how_the_bytes_are_chunked() {
        for (text, expected, is_within) in [
            ("data: 1\n\n", &[("", "1")][..], false),
            (
                "data:1\r\n\r\ndata:  2\r\r",
                &[("", "1"), ("", " 2")],
                false,
            ),
            ("event: error\ndata: {}\n\n", &[("error", "{}")], false),
            (
                ": still here\n\ndata: a\ndata: b\n\n",
                &[("", "a\nb")],
                false,
            ),
            ("id: 7\nretry: 1\ndata\n\n", &[("", "")], false),
            ("event: nothing\n\ndata: 1\n\n", &[("", "1")], false),
            ("data: 1\n\ndata: 2\n", &[("", "1")], true),
            ("data: 1\n\nda", &[("", "1")], true),
            ("", &[], false),
        ] {
            let expected: Vec<(String, String)> = expected
                .iter()
                .map(|(name, data)| ((*name).to_owned(), (*data).to_owned()))
                .collect();
            let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(parsed(&[text.as_bytes()]), (expected.clone(), is_within));
            assert_eq!(parsed(&bytes), (expected, is_within), "{text:?}");
        }
    }

    #[test]
    fn an_event_over_the_limit_is_an_error() {
        let event = |length: usize| [b"data:".to_vec(), vec![b'a'; length - 5]].concat();
        let mut events = EventParser::default();
        assert_eq!(events.feed(&event(EVENT_BYTES_LIMIT)), Ok(()));
        let mut events = EventParser::default();
        assert_eq!(events.feed(&event(EVENT_BYTES_LIMIT + 1)), Err(TooLong));
        let mut events = EventParser::default();
        let lines = b"data:aaaaaaa\n".repeat(EVENT_BYTES_LIMIT / 8 + 1);
        assert_eq!(events.feed(&lines), Err(TooLong));
    }
}
