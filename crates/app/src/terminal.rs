//! What the program says to whoever runs it, all of it on stderr: a log, a few sentences, panics.
//!
//! Whatever is written to stderr has passed redaction, panics too.

use std::io::{self, IsTerminal, Write};
use std::panic::{self, PanicHookInfo};
use std::sync::OnceLock;

use panpan_redact::Redactor;
use tracing_subscriber::EnvFilter;

/// How the log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For programs: one JSON object a line.
    Json,
}

/// How the log of this process is written, once there is one.
static WRITTEN_AS: OnceLock<LogFormat> = OnceLock::new();

/// Writes what is logged to stderr, from this level on.
pub(crate) fn log_to_stderr(filter: EnvFilter, format: LogFormat) {
    let _ = WRITTEN_AS.set(format);
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        // It would say so on stderr, and panic where that is what failed.
        .log_internal_errors(false)
        .with_target(false);
    match format {
        LogFormat::Text => log.compact().init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
}

/// Writes what went wrong out of callers' sight to stderr, and nothing else.
pub(crate) fn log_causes_to_stderr() {
    log_to_stderr(own("warn"), LogFormat::Text);
}

/// What this program itself logs from a level on. Libraries log requests as they came, secrets and all,
/// and are heard only when they are named.
pub(crate) fn own(level: &str) -> EnvFilter {
    let names_parts = level.contains(['=', ',']);
    EnvFilter::new(match names_parts {
        true => level.to_owned(),
        false => format!("off,panpan={level}"),
    })
}

/// A line for whoever runs the program; where there is a log, in the log.
pub(crate) fn tell(line: &str) {
    if tracing::enabled!(tracing::Level::INFO) {
        tracing::info!("{line}");
    } else {
        say_beside_the_log(line);
    }
}

/// The same for what should not be.
pub(crate) fn warn(line: &str) {
    if tracing::enabled!(tracing::Level::WARN) {
        tracing::warn!("{line}");
    } else {
        say_beside_the_log(line);
    }
}

/// A program that reads the log could make nothing of a line that is not JSON.
fn say_beside_the_log(line: &str) {
    if WRITTEN_AS.get() != Some(&LogFormat::Json) {
        say(&format!("panpan: {line}"));
    }
}

/// Lines on stderr, as they are.
pub(crate) fn say(lines: &str) {
    // When stderr is gone there is nobody left to tell.
    let _ = writeln!(io::stderr(), "{lines}");
}

/// Has panics told in one line and without secrets: a handler's panic may quote its input.
pub(crate) fn keep_secrets_in_panics() {
    panic::set_hook(Box::new(|info| warn(&told(info))));
}

fn told(info: &PanicHookInfo<'_>) -> String {
    let said = info.payload_as_str().unwrap_or("without a message");
    let place = info
        .location()
        .map_or_else(String::new, |place| format!(" at {place}"));
    format!("panic{place}: {:?}", Redactor::new().text(said))
}

/// What the system or a person asks the program to stop with, heard from when this is made: one that
/// comes while nobody waits for it is not lost.
#[derive(Debug)]
pub(crate) struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(windows)]
    interrupt: tokio::signal::windows::CtrlC,
}

#[cfg(unix)]
impl Signals {
    /// Begins to hear them; the process is no longer ended by them.
    pub(crate) fn heard() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(windows)]
impl Signals {
    /// Begins to hear them; the process is no longer ended by them.
    pub(crate) fn heard() -> io::Result<Self> {
        let interrupt = tokio::signal::windows::ctrl_c()?;
        Ok(Self { interrupt })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        self.interrupt.recv().await;
    }
}
