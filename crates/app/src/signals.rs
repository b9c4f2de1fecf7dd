//! Signals to the process: those that ask it to stop, and SIGHUP, which asks it to reload.
//!
//! A signal that arrives while nothing waits for it is not lost: it is delivered to the next wait.

use std::io;

/// SIGINT and SIGTERM on Unix, Ctrl-C on Windows.
#[derive(Debug)]
pub(crate) struct StopSignals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(windows)]
    interrupt: tokio::signal::windows::CtrlC,
}

#[cfg(unix)]
impl StopSignals {
    /// Starts to receive them; from now on they no longer end the process.
    pub(crate) fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(windows)]
impl StopSignals {
    /// Starts to receive them; from now on they no longer end the process.
    pub(crate) fn listen() -> io::Result<Self> {
        let interrupt = tokio::signal::windows::ctrl_c()?;
        Ok(Self { interrupt })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) {
        self.interrupt.recv().await;
    }
}

/// SIGHUP on Unix; never arrives elsewhere.
#[derive(Debug)]
pub(crate) struct ReloadSignal {
    #[cfg(unix)]
    hangup: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl ReloadSignal {
    /// Starts to receive it; from now on it no longer ends the process.
    pub(crate) fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let hangup = signal(SignalKind::hangup())?;
        Ok(Self { hangup })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) {
        self.hangup.recv().await;
    }
}

#[cfg(not(unix))]
impl ReloadSignal {
    /// Starts to receive it.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {})
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) {
        std::future::pending().await
    }
}
