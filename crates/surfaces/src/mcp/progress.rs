//! Progress and log lines of a call, on their way from the operation to the client that asked for them.
//!
//! The work never waits for them: only the newest progress is kept until it is sent, and so many log lines. What
//! does not go forward is left out, and nothing is sent after the answer.

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

use super::server::Server;
use super::turn::is_stateless;

/// How many log lines of a call wait to be sent; of more the oldest are left out.
pub(super) const LINES_LIMIT: usize = 256;

/// Progress and log lines that were not sent yet.
#[derive(Debug)]
struct Said {
    progress: Progress,
    lines: VecDeque<LoggingMessageNotificationParam>,
}

/// Where the work leaves its words.
#[derive(Debug)]
pub(super) struct Teller {
    said: watch::Sender<Said>,
    wanted: Wanted,
}

/// What a client wants to hear.
#[derive(Clone, Debug, Default)]
struct Wanted {
    lines: bool,
    level: Option<LoggingLevel>,
}

impl Wanted {
    fn of(server: &Server, context: &RequestContext<RoleServer>) -> Option<Self> {
        let wants_progress = context.meta.get_progress_token().is_some();
        let (lines, level) = match is_stateless(context) {
            // Here each request says whether it wants any.
            true => {
                let level = context.meta.log_level();
                (level.is_some(), level)
            }
            false => (server.offer().logging, server.log_level()),
        };
        (wants_progress || lines).then_some(Self { lines, level })
    }
}

impl Teller {
    fn new(wanted: Wanted) -> Self {
        let nothing = Progress {
            done: f64::NEG_INFINITY,
            ..Progress::default()
        };
        let said = watch::Sender::new(Said {
            progress: nothing,
            lines: VecDeque::new(),
        });
        Self { said, wanted }
    }

    fn take_lines(&self) -> VecDeque<LoggingMessageNotificationParam> {
        let mut taken = VecDeque::new();
        self.said.send_if_modified(|said| {
            taken = std::mem::take(&mut said.lines);
            false
        });
        taken
    }
}

impl ReportProgress for Teller {
    fn report(&self, progress: Progress) {
        self.said.send_if_modified(|said| {
            // Retries begin again at nothing, which to the caller would be going back.
            let forward = progress.done.is_finite() && progress.done > said.progress.done;
            if forward {
                said.progress = progress;
            }
            forward
        });
    }

    /// A notice has to go forward too, but only so little that the work itself can go on from where it
    /// was.
    fn note(&self, message: String) {
        self.said.send_modify(|said| {
            let newest = &mut said.progress;
            newest.done = match newest.done.is_finite() {
                true => (newest.done + 0.001).max(newest.done.next_up()),
                false => 0.0,
            };
            newest.message = Some(message);
        });
    }

    fn log(&self, line: Value) {
        let Ok(line) = LoggingMessageNotificationParam::deserialize(line) else {
            return;
        };
        if !self.wanted.lines || !reaches(line.level, self.wanted.level) {
            return;
        }
        self.said.send_modify(|said| {
            if said.lines.len() == LINES_LIMIT {
                said.lines.pop_front();
            }
            said.lines.push_back(line);
        });
    }

    fn log_level(&self) -> Option<String> {
        let level = serde_json::to_value(self.wanted.level?).ok()?;
        level.as_str().map(str::to_owned)
    }
}

/// Whether a line has at least this level. Without a level, the server decides what it logs.
pub(super) fn reaches(line: LoggingLevel, level: Option<LoggingLevel>) -> bool {
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
    level.is_none_or(|level| rank(line) >= rank(level))
}

/// Where the words come out.
#[derive(Debug)]
pub(super) struct Words {
    token: Option<ProgressToken>,
    said: watch::Receiver<Said>,
    /// How far the client knows the work to be.
    sent: f64,
    /// Held as long as words may come: the last one would be lost with the work that said it.
    teller: Arc<Teller>,
}

/// Where the words come out, if the caller asked for any.
pub(super) fn asked_for(server: &Server, context: &RequestContext<RoleServer>) -> Option<Words> {
    let wanted = Wanted::of(server, context)?;
    Some(Words::of(Arc::new(Teller::new(wanted)), context))
}

impl Words {
    /// The words of a call, also of one that goes on in another request.
    pub(super) fn of(teller: Arc<Teller>, context: &RequestContext<RoleServer>) -> Self {
        Self {
            token: context.meta.get_progress_token(),
            said: teller.said.subscribe(),
            sent: f64::NEG_INFINITY,
            teller,
        }
    }

    /// Where the work leaves its words.
    pub(super) fn teller(&self) -> Arc<Teller> {
        self.teller.clone()
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
                _ = self.said.changed() => {}
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
        if self.said.has_changed().unwrap_or(false) {
            self.send(context).await;
        }
    }

    // A client that has left is told nothing more.
    async fn send(&mut self, context: &RequestContext<RoleServer>) {
        let progress = self.said.borrow_and_update().progress.clone();
        if context.ct.is_cancelled() {
            return;
        }
        for line in self.teller.take_lines() {
            let _ = context.peer.notify_logging_message(line).await;
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

    fn ends() -> (Teller, watch::Receiver<Said>) {
        let teller = Teller::new(Wanted {
            lines: true,
            level: Some(LoggingLevel::Warning),
        });
        let said = teller.said.subscribe();
        (teller, said)
    }

    #[test]
    fn so_many_lines_of_the_wanted_levels_are_kept() {
        let (teller, said) = ends();
        teller.log(json!({"level": "info", "data": "not wanted"}));
        teller.log(json!({"level": "loud", "data": "no level"}));
        assert!(!said.has_changed().unwrap());
        assert_eq!(teller.log_level().as_deref(), Some("warning"));
        for number in 0..=LINES_LIMIT {
            teller.log(json!({"level": "error", "data": number}));
        }
        let lines = teller.take_lines();
        assert_eq!(lines.len(), LINES_LIMIT);
        assert_eq!(lines[0].data, json!(1));
        assert!(teller.take_lines().is_empty());
    }

    #[test]
    fn a_notice_is_kept_before_anything_else_was_said() {
        let (teller, mut said) = ends();
        teller.note("attempt 2 in 96 ms".to_owned());
        assert_eq!(said.borrow_and_update().progress.done, 0.0);
        teller.note("attempt 3 in 180 ms".to_owned());
        assert!(said.has_changed().unwrap());
        assert!(said.borrow_and_update().progress.done > 0.0);
    }

    #[test]
    fn only_what_goes_forward_is_kept_and_only_the_newest() {
        let (teller, mut said) = ends();
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
            let heard = said.has_changed().unwrap();
            let heard = heard.then(|| said.borrow_and_update().progress.done);
            assert_eq!(heard, kept, "{reported}");
        }
        teller.note("attempt 2 in 96 ms".to_owned());
        let noted = said.borrow_and_update().progress.clone();
        assert_eq!(noted.message.as_deref(), Some("attempt 2 in 96 ms"));
        assert!(noted.done > 2.0 && noted.done < 2.01, "{}", noted.done);
        report(3.0);
        report(4.0);
        assert_eq!(said.borrow_and_update().progress.done, 4.0);
    }
}
