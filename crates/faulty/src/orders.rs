//! Orders: effects that are counted, so that a test can check how often they happened.
//!
//! At `/orders`; `keys=honoured` places one order per idempotency key, and `then=cut`, `then=silence` or
//! `then=error` loses the response of the first request (or the first `times` requests) after the order was
//! placed.

use std::collections::HashMap;
use std::io;

use serde_json::{Value, json};

use crate::fault::Then;
use crate::perform::{Wire, end, send};
use crate::request::Request;
use crate::respond;

/// The most idempotency keys that are remembered; requests with further keys are refused.
pub const KEYS_LIMIT: usize = 10_000;

/// The orders placed so far.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    done: u64,
    by_key: HashMap<String, KeyRecord>,
}

#[derive(Debug, Default)]
struct KeyRecord {
    requests: u32,
    order: Option<Value>,
}

/// The result of a request for an order.
#[derive(Debug, PartialEq)]
pub(crate) struct OrderResult {
    order: Value,
    replayed: bool,
    /// The number of requests with this key, including this one.
    requests: u32,
}

impl Orders {
    /// The number of orders placed.
    pub(crate) fn done(&self) -> u64 {
        self.done
    }

    /// Places an order, unless keys are honoured and this key has one; `None` if there are too many keys.
    pub(crate) fn take(&mut self, request: &Request) -> Option<OrderResult> {
        let key = request.header("idempotency-key").unwrap_or_default();
        if !self.by_key.contains_key(key) && self.by_key.len() >= KEYS_LIMIT {
            return None;
        }
        let known = self.by_key.entry(key.to_owned()).or_default();
        known.requests = known.requests.saturating_add(1);
        let requests = known.requests;
        let honoured = !key.is_empty() && request.query_value("keys") == Some("honoured");
        if let Some(order) = known.order.clone().filter(|_| honoured) {
            return Some(OrderResult {
                order,
                replayed: true,
                requests,
            });
        }
        self.done += 1;
        let ordered = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
        let order = json!({"id": self.done, "ordered": ordered});
        known.order = Some(order.clone());
        Some(OrderResult {
            order,
            replayed: false,
            requests,
        })
    }
}

/// Responds to a request whose order was placed.
pub(crate) async fn answer(
    wire: &mut impl Wire,
    request: &Request,
    taken: Option<OrderResult>,
) -> io::Result<()> {
    let Some(taken) = taken else {
        let full = json!({"message": "no room for another idempotency key"});
        return send(wire, &respond::json(507, &[], &full)).await;
    };
    let times = request
        .query_value("times")
        .and_then(|times| times.parse().ok());
    let loses = (taken.requests <= times.unwrap_or(1)).then(|| request.query_value("then"));
    match loses.flatten() {
        Some("cut") => end(wire, Then::Reset).await,
        Some("silence") => end(wire, Then::Hang).await,
        Some("error") => {
            let broken = json!({"message": "the order was taken, then something broke"});
            send(wire, &respond::json(500, &[], &broken)).await
        }
        _ => {
            let replayed = [("Idempotent-Replayed", "true")];
            let headers = if taken.replayed { &replayed[..] } else { &[] };
            send(wire, &respond::json(201, headers, &taken.order)).await
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
    fn every_request_places_an_order_unless_keys_are_honoured() {
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
    fn a_repeated_key_returns_the_same_order() {
        let mut orders = Orders::default();
        let request = request("k", &[("keys", "honoured")]);
        let first = orders.take(&request).unwrap();
        let again = orders.take(&request).unwrap();
        assert_eq!(first.order, json!({"id": 1, "ordered": {"item": "tea"}}));
        assert_eq!((first.replayed, first.requests), (false, 1));
        assert_eq!(
            (again.order, again.replayed, again.requests),
            (first.order, true, 2)
        );
    }

    #[test]
    fn the_number_of_keys_is_limited() {
        let mut orders = Orders::default();
        for number in 0..KEYS_LIMIT {
            assert!(orders.take(&request(&number.to_string(), &[])).is_some());
        }
        assert!(orders.take(&request("one more", &[])).is_none());
        assert!(orders.take(&request("7", &[])).is_some());
    }
}
