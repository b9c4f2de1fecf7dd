//! A timer per connection, for deadlines that are nearly always cancelled before they expire.
//!
//! Every request head has a deadline. Starting and stopping a tokio timer for each takes a lock that all
//! connections share. Here one timer runs per connection; when it fires, it is reset to the current deadline.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};
use tokio::time::Sleep as Running;

/// The timer of a connection. Clones share it.
#[derive(Clone, Default)]
pub(super) struct ConnectionTimer(Arc<Mutex<Option<Pin<Box<Running>>>>>);

impl Timer for ConnectionTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(Instant::now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Until {
            deadline,
            timer: self.clone(),
        })
    }
}

impl fmt::Debug for ConnectionTimer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("ConnectionTimer").finish()
    }
}

/// Waits for a deadline.
struct Until {
    deadline: Instant,
    timer: ConnectionTimer,
}

impl Sleep for Until {}

impl Future for Until {
    type Output = ();

    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<()> {
        let deadline = self.deadline.into();
        let mut running = self.timer.0.lock().unwrap_or_else(PoisonError::into_inner);
        let running = running.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if running.deadline() > deadline {
            running.as_mut().reset(deadline);
        }
        loop {
            std::task::ready!(running.as_mut().poll(task));
            if running.deadline() >= deadline {
                return Poll::Ready(());
            }
            running.as_mut().reset(deadline);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_deadline_is_kept_after_earlier_and_later_deadlines() {
        let (timer, seconds) = (ConnectionTimer::default(), Duration::from_secs);
        let start = tokio::time::Instant::now();
        let at = |later: u64| timer.sleep_until((start + seconds(later)).into_std());
        for (cancelled, reached) in [(10, 20), (90, 30), (31, 31)] {
            let early = tokio::time::timeout(seconds(1), at(cancelled)).await;
            assert_eq!(early.is_ok(), cancelled == reached);
            at(reached).await;
            assert_eq!(start.elapsed().as_secs(), reached);
        }
    }
}
