//! The items of a subscription to a remote panpan.

use panpan_failure::dialect::Dialect;
use panpan_failure::read::{self, ReadError};
use panpan_failure::{Effect, Failure};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::response::{WholeResponse, is_event_stream};
use crate::events::{EVENT_BYTES_LIMIT, Event, EventParser};
use crate::exchange::{Exchange, display_url};
use crate::transport::RawResponse;

/// The name of the event that ends a subscription with a failure.
const FAILURE: &str = "error";

/// The names of events that carry an item; events with other names are skipped.
const ITEM: [&str; 2] = ["", "message"];

/// The items of a subscription; dropping it ends the subscription.
#[derive(Debug)]
pub struct RemoteItems {
    source: Source,
    events: EventParser,
    exchange: Exchange,
}

#[derive(Debug)]
enum Source {
    Open(RawResponse),
    Refused(Failure),
    Ended,
}

impl RemoteItems {
    pub(super) async fn of(
        response: RawResponse,
        exchange: Exchange,
        deadline: Instant,
    ) -> Result<Self, Failure> {
        let source = if is_event_stream(&response) {
            Source::Open(response)
        } else {
            Source::Refused(refusal(response, &exchange, deadline).await?)
        };
        Ok(Self {
            source,
            events: EventParser::default(),
            exchange,
        })
    }

    /// The next item, or the failure that ends the subscription; `None` at the end.
    ///
    /// The outer failure means that the connection broke before the end.
    pub async fn next(&mut self) -> Result<Option<Result<Value, Failure>>, Failure> {
        let next = self.advance().await;
        if !matches!(next, Ok(Some(Ok(_)))) {
            self.source = Source::Ended;
            // Events after the end are dropped.
            self.events = EventParser::default();
        }
        next
    }

    async fn advance(&mut self) -> Result<Option<Result<Value, Failure>>, Failure> {
        loop {
            while let Some(event) = self.events.next() {
                if let Some(item) =
                    item(&event).map_err(|error| unreadable(error, &self.exchange))?
                {
                    return Ok(Some(item));
                }
            }
            let response = match &mut self.source {
                Source::Open(response) => response,
                Source::Refused(failure) => return Ok(Some(Err(failure.clone()))),
                Source::Ended => return Ok(None),
            };
            let bytes = response.chunk().await;
            match bytes.map_err(|error| self.exchange.failure(&error))? {
                Some(bytes) => self.feed(&bytes)?,
                None if self.events.is_inside_event() => return Err(self.exchange.cut()),
                None => return Ok(None),
            }
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let fed = self.events.feed(bytes);
        fed.map_err(|_| {
            let limit = EVENT_BYTES_LIMIT;
            let bytes = limit + 1;
            unreadable(ReadError::TooLarge { bytes, limit }, &self.exchange)
        })
    }
}

/// The failure that a panpan answered instead of a stream.
async fn refusal(
    response: RawResponse,
    exchange: &Exchange,
    deadline: Instant,
) -> Result<Failure, Failure> {
    let response = timeout_at(deadline, WholeResponse::read(response))
        .await
        .map_err(|_| exchange.body_timeout())?
        .map_err(|error| exchange.failure(&error))?;
    match response.parse(&exchange.url)?.outcome {
        Err(failure) => Ok(failure),
        // A single output in place of a stream.
        Ok(_) => {
            let hint = "a single output in place of a stream".to_owned();
            Err(response.not_of_panpan(&exchange.url, ReadError::Unrecognised { hint }))
        }
    }
}

fn item(event: &Event) -> Result<Option<Result<Value, Failure>>, ReadError> {
    if event.name == FAILURE {
        let failure = Dialect::Call.parse(&event.data)?.outcome.err();
        let hint = "an output in place of a failure".to_owned();
        let failure = failure.ok_or(ReadError::Unrecognised { hint })?;
        return Ok(Some(Err(failure)));
    }
    if !ITEM.contains(&event.name.as_str()) {
        return Ok(None);
    }
    read::document(&event.data).map(|item| Some(Ok(item)))
}

fn unreadable(error: ReadError, exchange: &Exchange) -> Failure {
    let message = format!(
        "{} sent an item that cannot be read: {error}",
        display_url(&exchange.url)
    );
    Failure::from(error)
        .with_message(message)
        .with_effect(Effect::Unknown)
}
