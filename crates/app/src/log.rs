//! Output on stderr: the log, messages to the operator, panics. All of it is redacted.

use std::io::{self, IsTerminal, Write};
use std::panic::{self, PanicHookInfo};
use std::sync::OnceLock;

use panpan_redact::Redactor;
use tracing_subscriber::EnvFilter;

/// The format of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// The format of this process's log, once it has one.
static FORMAT: OnceLock<LogFormat> = OnceLock::new();

/// Starts the log on stderr.
pub(crate) fn start(filter: EnvFilter, format: LogFormat) {
    let _ = FORMAT.set(format);
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        // Otherwise a failed write to stderr is reported on stderr, which panics.
        .log_internal_errors(false)
        .with_target(false);
    match format {
        LogFormat::Text => log.compact().init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
}

/// The filter for a level. A bare level applies to panpan only: libraries log requests with their secrets, and
/// are logged only when the level names them.
pub(crate) fn filter(level: &str) -> EnvFilter {
    let names_targets = level.contains(['=', ',']);
    EnvFilter::new(match names_targets {
        true => level.to_owned(),
        false => format!("off,panpan={level}"),
    })
}

/// Reports something to the operator: in the log if it has this level, otherwise as a line on stderr.
pub(crate) fn info(message: &str) {
    if tracing::enabled!(tracing::Level::INFO) {
        tracing::info!("{message}");
    } else {
        print_unlogged(message);
    }
}

/// [`info`] for problems.
pub(crate) fn warn(message: &str) {
    if tracing::enabled!(tracing::Level::WARN) {
        tracing::warn!("{message}");
    } else {
        print_unlogged(message);
    }
}

/// A JSON log contains nothing but JSON.
fn print_unlogged(message: &str) {
    if FORMAT.get() != Some(&LogFormat::Json) {
        print(&format!("panpan: {message}"));
    }
}

/// A count with its noun.
pub(crate) fn amount(count: usize, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    }
}

/// Prints lines on stderr.
pub(crate) fn print(lines: &str) {
    // A closed stderr cannot be reported anywhere.
    let _ = writeln!(io::stderr(), "{lines}");
}

/// Reports panics as one redacted line: the panic of a handler may contain its input.
pub(crate) fn redact_panics() {
    panic::set_hook(Box::new(|info| warn(&panic_message(info))));
}

fn panic_message(info: &PanicHookInfo<'_>) -> String {
    let message = info.payload_as_str().unwrap_or("without a message");
    let location = info
        .location()
        .map_or_else(String::new, |location| format!(" at {location}"));
    format!("panic{location}: {:?}", Redactor::new().text(message))
}
