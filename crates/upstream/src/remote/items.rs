//! The items of a subscription to a remote panpan.

use panpan_failure::dialect::Dialect;
use panpan_failure::read::{ReadError, document};
use panpan_failure::{Effect, Failure};
use serde_json::Value;
use tokio::time::Instant;

use super::response::not_of_panpan;
use super::{RemoteResponse, read};
use crate::events::{EVENT_BYTES_LIMIT, Event, EventError, EventParser};
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
        let source = if response.status() == 200 && response.is_events() {
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
            let response = match &mut self.source {
                Source::Open(response) => response,
                Source::Refused(failure) => return Ok(Some(Err(failure.clone()))),
                Source::Ended => return Ok(None),
            };
            let event = self.events.read(response).await;
            let Some(event) = event.map_err(|error| self.ended(&error))? else {
                return Ok(None);
            };
            let item = item(&event).map_err(|error| unreadable(error, &self.exchange))?;
            if item.is_some() {
                return Ok(item);
            }
        }
    }

    fn ended(&self, error: &EventError) -> Failure {
        match error {
            EventError::TooLong => {
                let limit = EVENT_BYTES_LIMIT;
                let bytes = limit + 1;
                unreadable(ReadError::TooLarge { bytes, limit }, &self.exchange)
            }
            error => self.exchange.events_ended(error),
        }
    }
}

/// The failure that a panpan answered instead of a stream.
async fn refusal(
    response: RawResponse,
    exchange: &Exchange,
    deadline: Instant,
) -> Result<Failure, Failure> {
    let response = read(response, exchange, deadline).await?;
    match RemoteResponse::parse(&response)?.outcome {
        Err(failure) => Ok(failure),
        // A single output in place of a stream.
        Ok(_) => {
            let hint = "a single output in place of a stream".to_owned();
            Err(not_of_panpan(&response, ReadError::Unrecognised { hint }))
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
    document(&event.data).map(|item| Some(Ok(item)))
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
