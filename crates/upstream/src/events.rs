//! Server-sent events out of bytes as they come, in whatever pieces.
//!
//! Knows the format and not what the events mean.

use std::collections::VecDeque;
use std::mem;

/// The longest event that is read, in bytes.
pub const EVENT_BYTES_LIMIT: usize = 4 * 1024 * 1024;

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its name; empty for an event without one.
    pub name: String,
    /// Its data, several lines as one text.
    pub data: Vec<u8>,
}

/// An event is longer than [`EVENT_BYTES_LIMIT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// Takes bytes and gives events.
#[derive(Debug, Default)]
pub(crate) struct Events {
    line: Vec<u8>,
    after_return: bool,
    name: String,
    data: Option<Vec<u8>>,
    complete: VecDeque<Event>,
}

impl Events {
    /// Takes what came next.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        for byte in bytes {
            let after_return = mem::replace(&mut self.after_return, *byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => self.end_line(),
                _ => self.line.push(*byte),
            }
            let held = self.data.as_ref().map_or(0, Vec::len) + self.line.len();
            if held > EVENT_BYTES_LIMIT {
                return Err(TooLong);
            }
        }
        Ok(())
    }

    /// The next event that is complete.
    pub(crate) fn next(&mut self) -> Option<Event> {
        self.complete.pop_front()
    }

    /// Whether an event has begun and not ended.
    pub(crate) fn is_within_an_event(&self) -> bool {
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
            // Comments keep the connection open, and nothing here asks to go on where it stopped.
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

    /// An event without data is none.
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

    fn events(pieces: &[&[u8]]) -> (Vec<(String, String)>, bool) {
        let mut events = Events::default();
        for piece in pieces {
            events.feed(piece).unwrap();
        }
        let complete = std::iter::from_fn(|| events.next());
        let complete = complete.map(|event| (event.name, String::from_utf8(event.data).unwrap()));
        (complete.collect(), events.is_within_an_event())
    }

    #[test]
    fn events_are_the_same_in_one_piece_and_byte_by_byte() {
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
            assert_eq!(events(&[text.as_bytes()]), (expected.clone(), is_within));
            assert_eq!(events(&bytes), (expected, is_within), "{text:?}");
        }
    }

    #[test]
    fn an_event_has_a_limit_and_both_sides_of_it_are_known() {
        let event = |length: usize| [b"data:".to_vec(), vec![b'a'; length - 5]].concat();
        let mut events = Events::default();
        assert_eq!(events.feed(&event(EVENT_BYTES_LIMIT)), Ok(()));
        let mut events = Events::default();
        assert_eq!(events.feed(&event(EVENT_BYTES_LIMIT + 1)), Err(TooLong));
        let mut events = Events::default();
        let lines = b"data:aaaaaaa\n".repeat(EVENT_BYTES_LIMIT / 8 + 1);
        assert_eq!(events.feed(&lines), Err(TooLong));
    }
}
