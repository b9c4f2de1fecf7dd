//! Orders: work that is really done and counted, so that a test can ask how often.
//!
//! Asked for at `/orders`; `keys=honoured` does the work of one idempotency key once, and `then=cut`,
//! `then=silence` or `then=error` loses the answer of the first request (of the first `times`) after the
//! work was done.

use std::collections::HashMap;
use std::io;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::fault::Then;
use crate::perform::{Wire, end};
use crate::request::Request;
use crate::respond;

/// How many idempotency keys are remembered; work under a further one is refused.
pub const KEYS_LIMIT: usize = 10_000;

/// What was ordered so far.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    done: u64,
    by_key: HashMap<String, Known>,
}

#[derive(Debug, Default)]
struct Known {
    asked: u32,
    order: Option<Value>,
}

/// What a request for an order came to.
#[derive(Debug, PartialEq)]
pub(crate) struct Taken {
    order: Value,
    replayed: bool,
    /// How often the key was used, with this time.
    asked: u32,
}

impl Orders {
    /// How often work was done.
    pub(crate) fn done(&self) -> u64 {
        self.done
    }

    /// Does the work, unless it was done under this key and keys are honoured; `None` where there is no
    /// room for another key.
    pub(crate) fn take(&mut self, request: &Request) -> Option<Taken> {
        let key = request.header("idempotency-key").unwrap_or_default();
        if !self.by_key.contains_key(key) && self.by_key.len() >= KEYS_LIMIT {
            return None;
        }
        let known = self.by_key.entry(key.to_owned()).or_default();
        known.asked = known.asked.saturating_add(1);
        let asked = known.asked;
        let honoured = !key.is_empty() && request.asked("keys") == Some("honoured");
        if let Some(order) = known.order.clone().filter(|_| honoured) {
            return Some(Taken {
                order,
                replayed: true,
                asked,
            });
        }
        self.done += 1;
        let ordered = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
        let order = json!({"id": self.done, "ordered": ordered});
        known.order = Some(order.clone());
        Some(Taken {
            order,
            replayed: false,
            asked,
        })
    }
}

/// Answers a request for an order whose work is done.
pub(crate) async fn answer(
    wire: &mut impl Wire,
    request: &Request,
    taken: Option<Taken>,
) -> io::Result<()> {
    let Some(taken) = taken else {
        let full = json!({"message": "no room for another idempotency key"});
        wire.write_all(&respond::json(507, &[], &full)).await?;
        return end(wire, Then::Close).await;
    };
    let times = request.asked("times").and_then(|times| times.parse().ok());
    let loses = (taken.asked <= times.unwrap_or(1)).then(|| request.asked("then"));
    match loses.flatten() {
        Some("cut") => end(wire, Then::Reset).await,
        Some("silence") => end(wire, Then::Hang).await,
        Some("error") => {
            let broken = json!({"message": "the order was taken, then something broke"});
            wire.write_all(&respond::json(500, &[], &broken)).await?;
            end(wire, Then::Close).await
        }
        _ => {
            let replayed = [("Idempotent-Replayed", "true")];
            let headers = if taken.replayed { &replayed[..] } else { &[] };
            wire.write_all(&respond::json(201, headers, &taken.order))
                .await?;
            end(wire, Then::Close).await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(key: &str, query: &[(&str, &str)]) -> Request {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Request {
            headers: vec![pair(&("idempotency-key", key))],
            query: query.iter().map(pair).collect(),
            body: b"{\"item\": \"tea\"}".to_vec(),
            ..Request::default()
        }
    }

    #[test]
    fn work_is_done_as_often_as_it_is_asked_for_unless_keys_are_honoured() {
        let mut orders = Orders::default();
        for (key, query, done) in [
            ("", &[][..], 1),
            ("", &[("keys", "honoured")], 2),
            ("a", &[], 3),
            ("a", &[], 4),
            ("b", &[("keys", "honoured")], 5),
            ("b", &[("keys", "honoured")], 5),
        ] {
            orders.take(&request(key, query)).unwrap();
            assert_eq!(orders.done(), done, "{key:?} {query:?}");
        }
    }

    #[test]
    fn what_was_ordered_comes_back_the_same() {
        let mut orders = Orders::default();
        let request = request("k", &[("keys", "honoured")]);
        let first = orders.take(&request).unwrap();
        let again = orders.take(&request).unwrap();
        assert_eq!(first.order, json!({"id": 1, "ordered": {"item": "tea"}}));
        assert_eq!((first.replayed, first.asked), (false, 1));
        assert_eq!(
            (again.order, again.replayed, again.asked),
            (first.order, true, 2)
        );
    }

    #[test]
    fn keys_are_remembered_up_to_the_limit() {
        let mut orders = Orders::default();
        for number in 0..KEYS_LIMIT {
            assert!(orders.take(&request(&number.to_string(), &[])).is_some());
        }
        assert!(orders.take(&request("one more", &[])).is_none());
        assert!(orders.take(&request("7", &[])).is_some());
    }
}
