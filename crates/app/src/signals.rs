//! Signals to the process: those that ask it to stop, SIGHUP, which asks it to reload, and SIGWINCH, which says that the
//! terminal has another size.
//!
//! A signal that arrives while nothing waits for it is not lost: it is delivered to the next wait.

use std::io;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Signals that no longer end the process.
#[derive(Debug)]
pub(crate) struct Signals {
    #[cfg(unix)]
    received: Vec<Signal>,
    #[cfg(windows)]
    received: Option<tokio::signal::windows::CtrlC>,
}

impl Signals {
    /// Those that ask to stop: SIGINT and SIGTERM on Unix, Ctrl-C on Windows.
    pub(crate) fn to_stop() -> io::Result<Self> {
        #[cfg(unix)]
        let received = vec![
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
        ];
        #[cfg(windows)]
        let received = Some(tokio::signal::windows::ctrl_c()?);
        Ok(Self { received })
    }

    /// The one that asks to reload: SIGHUP on Unix, none on Windows.
    pub(crate) fn to_reload() -> io::Result<Self> {
        #[cfg(unix)]
        let received = vec![signal(SignalKind::hangup())?];
        #[cfg(windows)]
        let received = None;
        Ok(Self { received })
    }

    /// The one about another size of the terminal: SIGWINCH on Unix, none on Windows.
    pub(crate) fn of_resizes() -> io::Result<Self> {
        #[cfg(unix)]
        let received = vec![signal(SignalKind::window_change())?];
        #[cfg(windows)]
        let received = None;
        Ok(Self { received })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) {
        let received = self.received.iter_mut().map(|it| Box::pin(it.recv()));
        let received: Vec<_> = received.collect();
        match received.is_empty() {
            true => std::future::pending().await,
            false => drop(futures_util::future::select_all(received).await),
        }
    }
}
