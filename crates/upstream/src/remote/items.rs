//! The items of a subscription, as they come.

use panpan_failure::dialect::Dialect;
use panpan_failure::read::{self, ReadError};
use panpan_failure::{Effect, Failure};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::answer::Heard;
use crate::events::{EVENT_BYTES_LIMIT, Event, Events};
use crate::trouble::{Trouble, shown};
use crate::wire::Reply;

/// The name of the event that ends a subscription with a failure.
const FAILED: &str = "error";

/// The names of events that carry an item; others may come one day and are no items.
const ITEM: [&str; 2] = ["", "message"];

/// The items of a subscription; dropping it ends the subscription.
#[derive(Debug)]
pub struct RemoteItems {
    source: Source,
    events: Events,
    trouble: Trouble,
}

#[derive(Debug)]
enum Source {
    Open(Reply),
    Refused(Failure),
    Ended,
}

impl RemoteItems {
    pub(super) async fn of(
        reply: Reply,
        trouble: Trouble,
        deadline: Instant,
    ) -> Result<Self, Failure> {
        let head = Heard::head(&reply);
        let source = if head.begins_a_stream() {
            Source::Open(reply)
        } else {
            Source::Refused(refusal(reply, &trouble, deadline).await?)
        };
        Ok(Self {
            source,
            events: Events::default(),
            trouble,
        })
    }

    /// The next item, or the failure that ends them; `None` when there are no more.
    ///
    /// The outer failure says that the connection did not last until the end.
    pub async fn next(&mut self) -> Result<Option<Result<Value, Failure>>, Failure> {
        let next = self.advance().await;
        if !matches!(next, Ok(Some(Ok(_)))) {
            self.source = Source::Ended;
            // What came behind the end is no part of it.
            self.events = Events::default();
        }
        next
    }

    async fn advance(&mut self) -> Result<Option<Result<Value, Failure>>, Failure> {
        loop {
            while let Some(event) = self.events.next() {
                if let Some(item) =
                    item(&event).map_err(|error| unreadable(error, &self.trouble))?
                {
                    return Ok(Some(item));
                }
            }
            let reply = match &mut self.source {
                Source::Open(reply) => reply,
                Source::Refused(failure) => return Ok(Some(Err(failure.clone()))),
                Source::Ended => return Ok(None),
            };
            let bytes = reply.chunk().await;
            match bytes.map_err(|error| self.trouble.of(&error))? {
                Some(bytes) => self.feed(&bytes)?,
                None if self.events.is_within_an_event() => return Err(self.trouble.cut()),
                None => return Ok(None),
            }
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let fed = self.events.feed(bytes);
        fed.map_err(|_| {
            let limit = EVENT_BYTES_LIMIT;
            let bytes = limit + 1;
            unreadable(ReadError::TooLarge { bytes, limit }, &self.trouble)
        })
    }
}

/// Why there are no items.
async fn refusal(reply: Reply, trouble: &Trouble, deadline: Instant) -> Result<Failure, Failure> {
    let heard = timeout_at(deadline, Heard::of(reply)).await;
    let heard = heard
        .map_err(|_| trouble.stall())?
        .map_err(|error| trouble.of(&error))?;
    match heard.read(&trouble.url)?.outcome {
        Err(failure) => Ok(failure),
        // One answer where items were asked for.
        Ok(_) => {
            let hint = "items were asked for".to_owned();
            Err(heard.stranger(&trouble.url, ReadError::Unrecognised { hint }))
        }
    }
}

fn item(event: &Event) -> Result<Option<Result<Value, Failure>>, ReadError> {
    if event.name == FAILED {
        let failure = Dialect::Call.parse(&event.data)?.outcome.err();
        let hint = "an output stands where a failure should".to_owned();
        let failure = failure.ok_or(ReadError::Unrecognised { hint })?;
        return Ok(Some(Err(failure)));
    }
    if !ITEM.contains(&event.name.as_str()) {
        return Ok(None);
    }
    read::document(&event.data).map(|item| Some(Ok(item)))
}

fn unreadable(error: ReadError, trouble: &Trouble) -> Failure {
    let message = format!(
        "{} sent an item that cannot be read: {error}",
        shown(&trouble.url)
    );
    Failure::from(error)
        .with_message(message)
        .with_effect(Effect::Unknown)
}
