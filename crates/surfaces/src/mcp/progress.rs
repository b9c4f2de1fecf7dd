//! Words about progress, from the work to whoever asked for them.
//!
//! The work never waits for them: only the newest word is kept until it is sent. What does not go
//! forward is left out, and nothing is sent after the answer.

use std::pin::pin;
use std::sync::Arc;

use panpan_runtime::{Progress, ReportProgress};
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;
use tokio::sync::watch;

use super::served::Telling;

/// Where the work leaves its words.
#[derive(Debug)]
struct Teller(watch::Sender<Progress>);

impl ReportProgress for Teller {
    fn report(&self, progress: Progress) {
        self.0.send_if_modified(|newest| {
            // Retries begin again at nothing, which to the caller would be going back.
            let forward = progress.done.is_finite() && progress.done > newest.done;
            if forward {
                *newest = progress;
            }
            forward
        });
    }

    /// A notice has to go forward too, but only so little that the work itself can go on from where it
    /// was.
    fn note(&self, message: String) {
        self.0.send_modify(|newest| {
            newest.done = match newest.done.is_finite() {
                true => (newest.done + 0.001).max(newest.done.next_up()),
                false => 0.0,
            };
            newest.message = Some(message);
        });
    }
}

/// Where the words come out.
#[derive(Debug)]
pub(super) struct Words {
    token: ProgressToken,
    newest: watch::Receiver<Progress>,
    /// Held as long as words may come: the last one would be lost with the work that said it.
    teller: Arc<dyn ReportProgress>,
}

/// The two ends, if the caller asked to be told.
pub(super) fn asked_for(
    context: &RequestContext<RoleServer>,
) -> Option<(Arc<dyn ReportProgress>, Words)> {
    let token = context.meta.get_progress_token()?;
    let (teller, newest) = ends();
    let words = Words {
        token,
        newest,
        teller: teller.clone(),
    };
    Some((teller, words))
}

fn ends() -> (Arc<dyn ReportProgress>, watch::Receiver<Progress>) {
    let nothing = Progress {
        done: f64::NEG_INFINITY,
        ..Progress::default()
    };
    let (sender, receiver) = watch::channel(nothing);
    (Arc::new(Teller(sender)), receiver)
}

impl Words {
    /// The words of a call that goes on in another request, if that one asks for them.
    pub(super) fn again(
        (teller, newest): Telling,
        context: &RequestContext<RoleServer>,
    ) -> Option<Self> {
        let token = context.meta.get_progress_token()?;
        Some(Self {
            token,
            newest,
            teller,
        })
    }

    /// Both ends, for a call that may go on in another request.
    pub(super) fn telling(&self) -> Telling {
        (self.teller.clone(), self.newest.clone())
    }

    /// Does some work and sends meanwhile what it says about itself.
    pub(super) async fn sent_during<T>(
        mut self,
        work: impl Future<Output = T>,
        context: &RequestContext<RoleServer>,
    ) -> T {
        let mut work = pin!(work);
        let done = loop {
            tokio::select! {
                biased;
                done = &mut work => break done,
                _ = self.newest.changed() => {}
            }
            // Sent to its end even if the work ends first, so that none follows the answer.
            let mut sending = pin!(self.send(context));
            let ended = tokio::select! {
                biased;
                () = &mut sending => None,
                done = &mut work => Some(done),
            };
            if let Some(done) = ended {
                sending.await;
                break done;
            }
        };
        self.send_last(context).await;
        done
    }

    async fn send_last(&mut self, context: &RequestContext<RoleServer>) {
        if self.newest.has_changed().unwrap_or(false) {
            self.send(context).await;
        }
    }

    async fn send(&mut self, context: &RequestContext<RoleServer>) {
        let progress = self.newest.borrow_and_update().clone();
        if context.ct.is_cancelled() {
            return;
        }
        let mut param = ProgressNotificationParam::new(self.token.clone(), progress.done);
        param.total = progress.total.filter(|total| total.is_finite());
        param.message = progress.message;
        // A client that has left is told nothing more.
        let _ = context.peer.notify_progress(param).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_kept_before_anything_else_was_said() {
        let (teller, mut newest) = ends();
        teller.note("attempt 2 in 96 ms".to_owned());
        assert_eq!(newest.borrow_and_update().done, 0.0);
        teller.note("attempt 3 in 180 ms".to_owned());
        assert!(newest.has_changed().unwrap());
        assert!(newest.borrow_and_update().done > 0.0);
    }

    #[test]
    fn only_what_goes_forward_is_kept_and_only_the_newest() {
        let (teller, mut newest) = ends();
        let report = |done: f64| {
            teller.report(Progress {
                done,
                ..Progress::default()
            });
        };
        for (reported, kept) in [
            (0.0, Some(0.0)),
            (0.5, Some(0.5)),
            (0.5, None),
            (0.25, None),
            (f64::NAN, None),
            (f64::INFINITY, None),
            (2.0, Some(2.0)),
        ] {
            report(reported);
            let heard = newest.has_changed().unwrap();
            let heard = heard.then(|| newest.borrow_and_update().done);
            assert_eq!(heard, kept, "{reported}");
        }
        teller.note("attempt 2 in 96 ms".to_owned());
        let noted = newest.borrow_and_update().clone();
        assert_eq!(noted.message.as_deref(), Some("attempt 2 in 96 ms"));
        assert!(noted.done > 2.0 && noted.done < 2.01, "{}", noted.done);
        report(3.0);
        report(4.0);
        assert_eq!(newest.borrow_and_update().done, 4.0);
    }
}
