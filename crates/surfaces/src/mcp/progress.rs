//! Progress and log notifications of a call, from the operation to the client that requested them.
//!
//! The work never waits for them: only the newest progress and a limited number of log messages are
//! kept until they are sent. Progress that does not increase is dropped, and nothing is sent after
//! the response.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;

use panpan_runtime::{Progress, ReportProgress};
use rmcp::RoleServer;
use rmcp::model::{
    LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken,
};
use rmcp::service::RequestContext;
use serde::Deserialize as _;
use serde_json::Value;
use tokio::sync::watch;

use super::connected_client::level_of;
use super::request::is_stateless;
use super::server::Server;

/// The number of log messages of a call that wait to be sent; beyond it the oldest are dropped.
pub(super) const LOG_MESSAGES_LIMIT: usize = 256;

/// Progress and log messages that have not been sent yet.
#[derive(Debug)]
struct Unsent {
    progress: Progress,
    messages: VecDeque<LoggingMessageNotificationParam>,
}

/// Takes progress and log messages from the work.
#[derive(Debug)]
pub(super) struct Reporter {
    unsent: watch::Sender<Unsent>,
    /// Whether the client wants log messages, and from which level on.
    wants_messages: bool,
    level: Option<LoggingLevel>,
}

impl Reporter {
    /// Takes what a request asked for, if it asked for anything.
    fn requested(server: &Server, context: &RequestContext<RoleServer>) -> Option<Self> {
        let wants_progress = context.meta.get_progress_token().is_some();
        let (messages, level) = match is_stateless(context) {
            // In the stateless version every request states its log level.
            true => {
                let level = context.meta.log_level();
                (level.is_some(), level)
            }
            false => (server.offer().logging, level_of(&server.level)),
        };
        (wants_progress || messages).then(|| Self::new(messages, level))
    }

    fn new(wants_messages: bool, level: Option<LoggingLevel>) -> Self {
        let none = Progress {
            done: f64::NEG_INFINITY,
            ..Progress::default()
        };
        let unsent = watch::Sender::new(Unsent {
            progress: none,
            messages: VecDeque::new(),
        });
        Self {
            unsent,
            wants_messages,
            level,
        }
    }

    fn take_messages(&self) -> VecDeque<LoggingMessageNotificationParam> {
        let mut taken = VecDeque::new();
        self.unsent.send_if_modified(|unsent| {
            taken = std::mem::take(&mut unsent.messages);
            false
        });
        taken
    }
}

impl ReportProgress for Reporter {
    fn report(&self, progress: Progress) {
        self.unsent.send_if_modified(|unsent| {
            // A retry starts at zero again, but progress must not decrease for the client.
            let forward = progress.done.is_finite() && progress.done > unsent.progress.done;
            if forward {
                unsent.progress = progress;
            }
            forward
        });
    }

    /// A note has to increase the progress too, but so little that the work can continue from its
    /// own value.
    fn note(&self, message: String) {
        self.unsent.send_modify(|unsent| {
            let newest = &mut unsent.progress;
            newest.done = match newest.done.is_finite() {
                true => (newest.done + 0.001).max(newest.done.next_up()),
                false => 0.0,
            };
            newest.message = Some(message);
        });
    }

    fn log(&self, line: Value) {
        let Ok(message) = LoggingMessageNotificationParam::deserialize(line) else {
            return;
        };
        if !self.wants_messages || !is_at_least(message.level, self.level) {
            return;
        }
        self.unsent.send_modify(|unsent| {
            if unsent.messages.len() == LOG_MESSAGES_LIMIT {
                unsent.messages.pop_front();
            }
            unsent.messages.push_back(message);
        });
    }

    fn log_level(&self) -> Option<String> {
        let level = serde_json::to_value(self.level?).ok()?;
        level.as_str().map(str::to_owned)
    }
}

/// Whether a log message has at least this level. Without a level, the server decides.
pub(super) fn is_at_least(message: LoggingLevel, level: Option<LoggingLevel>) -> bool {
    const LEVELS: [LoggingLevel; 8] = [
        LoggingLevel::Debug,
        LoggingLevel::Info,
        LoggingLevel::Notice,
        LoggingLevel::Warning,
        LoggingLevel::Error,
        LoggingLevel::Critical,
        LoggingLevel::Alert,
        LoggingLevel::Emergency,
    ];
    let rank = |level| LEVELS.iter().position(|it| *it == level);
    level.is_none_or(|level| rank(message) >= rank(level))
}

/// Sends the notifications of a call to its client.
#[derive(Debug)]
pub(super) struct NotificationSender {
    token: Option<ProgressToken>,
    unsent: watch::Receiver<Unsent>,
    /// The progress that was sent last.
    sent: f64,
    /// Kept so that the last notification is not lost when the work ends.
    reporter: Arc<Reporter>,
}

/// The notifications for a request, if it asked for any.
pub(super) fn requested(
    server: &Server,
    context: &RequestContext<RoleServer>,
) -> Option<NotificationSender> {
    let reporter = Arc::new(Reporter::requested(server, context)?);
    Some(NotificationSender::new(reporter, context))
}

impl NotificationSender {
    /// The notifications of a call, also of one that is resumed in another request.
    pub(super) fn new(reporter: Arc<Reporter>, context: &RequestContext<RoleServer>) -> Self {
        Self {
            token: context.meta.get_progress_token(),
            unsent: reporter.unsent.subscribe(),
            sent: f64::NEG_INFINITY,
            reporter,
        }
    }

    /// The reporter to pass to the work.
    pub(super) fn reporter(&self) -> Arc<Reporter> {
        self.reporter.clone()
    }

    /// Runs the work and sends its notifications meanwhile.
    pub(super) async fn run_sending<T>(
        mut self,
        work: impl Future<Output = T>,
        context: &RequestContext<RoleServer>,
    ) -> T {
        let mut work = pin!(work);
        let done = loop {
            tokio::select! {
                biased;
                done = &mut work => break done,
                _ = self.unsent.changed() => {}
            }
            // Completed even if the work ends first, so that no notification follows the response.
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
        if self.unsent.has_changed().unwrap_or(false) {
            self.send(context).await;
        }
    }

    // A client that has disconnected gets no notifications.
    async fn send(&mut self, context: &RequestContext<RoleServer>) {
        let progress = self.unsent.borrow_and_update().progress.clone();
        if context.ct.is_cancelled() {
            return;
        }
        for message in self.reporter.take_messages() {
            let _ = context.peer.notify_logging_message(message).await;
        }
        let Some(token) = self.token.clone().filter(|_| progress.done > self.sent) else {
            return;
        };
        self.sent = progress.done;
        let mut param = ProgressNotificationParam::new(token, progress.done);
        param.total = progress.total.filter(|total| total.is_finite());
        param.message = progress.message;
        let _ = context.peer.notify_progress(param).await;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reporter() -> (Reporter, watch::Receiver<Unsent>) {
        let reporter = Reporter::new(true, Some(LoggingLevel::Warning));
        let unsent = reporter.unsent.subscribe();
        (reporter, unsent)
    }

    #[test]
    fn log_messages_below_the_level_or_beyond_the_limit_are_dropped() {
        let (reporter, unsent) = reporter();
        reporter.log(json!({"level": "info", "data": "below the level"}));
        reporter.log(json!({"level": "loud", "data": "unknown level"}));
        assert!(!unsent.has_changed().unwrap());
        assert_eq!(reporter.log_level().as_deref(), Some("warning"));
        for number in 0..=LOG_MESSAGES_LIMIT {
            reporter.log(json!({"level": "error", "data": number}));
        }
        let messages = reporter.take_messages();
        assert_eq!(messages.len(), LOG_MESSAGES_LIMIT);
        assert_eq!(messages[0].data, json!(1));
        assert!(reporter.take_messages().is_empty());
    }

    #[test]
    fn a_note_before_any_progress_is_kept() {
        let (reporter, mut unsent) = reporter();
        reporter.note("attempt 2 in 96 ms".to_owned());
        assert_eq!(unsent.borrow_and_update().progress.done, 0.0);
        reporter.note("attempt 3 in 180 ms".to_owned());
        assert!(unsent.has_changed().unwrap());
        assert!(unsent.borrow_and_update().progress.done > 0.0);
    }

    #[test]
    fn only_the_newest_increasing_progress_is_kept() {
        let (reporter, mut unsent) = reporter();
        let report = |done: f64| {
            reporter.report(Progress {
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
            let changed = unsent.has_changed().unwrap();
            let changed = changed.then(|| unsent.borrow_and_update().progress.done);
            assert_eq!(changed, kept, "{reported}");
        }
        reporter.note("attempt 2 in 96 ms".to_owned());
        let noted = unsent.borrow_and_update().progress.clone();
        assert_eq!(noted.message.as_deref(), Some("attempt 2 in 96 ms"));
        assert!(noted.done > 2.0 && noted.done < 2.01, "{}", noted.done);
        report(3.0);
        report(4.0);
        assert_eq!(unsent.borrow_and_update().progress.done, 4.0);
    }
}
