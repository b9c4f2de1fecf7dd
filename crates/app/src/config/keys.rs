//! The one table of what can be told: its name in the file, its flag, what it may be, what it sets.
//!
//! The name of the variable follows from the name in the file: `limits.batch` is `PANPAN_LIMITS_BATCH`.

use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;

use panpan_failure::read::DOCUMENT_BYTES_LIMIT;
use panpan_store::SMALLEST_SIZE_BYTES;
use panpan_upstream::Allowed;

use super::{Draft, LogFormat, ToolForm};
use crate::builtin;
use crate::sources;
use crate::store::StoreAddress;

/// What every variable begins with.
pub(super) const VARIABLE_PREFIX: &str = "PANPAN_";

/// The most of anything that is counted.
const COUNT_LIMIT: u64 = 1_000_000;
/// The most bytes that wait for anything.
const BYTES_LIMIT: u64 = 1 << 40;
/// The longest time that is waited for a client, in seconds.
const WAIT_SECONDS_LIMIT: u64 = 24 * 60 * 60;
/// The longest time the end of a server may take, in seconds.
const DRAIN_SECONDS_LIMIT: u64 = 60 * 60;

/// The largest store, in megabytes.
const STORE_MB_LIMIT: u64 = 1024 * 1024;
/// The longest time the outcome of a key is kept, in hours.
const KEPT_HOURS_LIMIT: u64 = 366 * 24;

/// The keys whose values may be lists of tables too.
pub(super) const SERVICES: &str = "openapi";
pub(super) const SERVERS: &str = "mcp_servers";

/// One thing that can be told.
#[derive(Debug)]
pub(super) struct Key {
    /// Its name in the file.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) flag: Option<Flag>,
    /// Whether its value may hold a password, and is never repeated.
    pub(super) secret: bool,
    /// Whether it says anything to a server that is reached by a pipe.
    pub(super) of_pipes: bool,
}

/// How a key is told on the command line.
#[derive(Debug)]
pub(super) struct Flag {
    /// Without the hyphens.
    pub(super) name: &'static str,
    pub(super) value: &'static str,
    pub(super) help: &'static str,
}

/// What a key may be, and what it sets. A setter says whether the value will do.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Boolean {
        set: fn(&mut Draft, bool) -> bool,
    },
    Number {
        from: u64,
        to: u64,
        set: fn(&mut Draft, u64) -> bool,
    },
    Text {
        expected: &'static str,
        set: fn(&mut Draft, &str) -> bool,
    },
    /// A text that names a file; in a file, seen from the folder of that file.
    Path {
        expected: &'static str,
        set: fn(&mut Draft, &Path, &str) -> bool,
    },
    List {
        expected: &'static str,
        accept: fn(&str) -> bool,
        set: fn(&mut Draft, Vec<String>) -> bool,
    },
    /// A list that names files; in a file, seen from the folder of that file.
    Sources {
        expected: &'static str,
        accept: fn(&str) -> bool,
        set: fn(&mut Draft, &Path, &[String]) -> bool,
    },
}

/// Everything that can be told.
#[rustfmt::skip]
pub(super) static KEYS: [Key; 36] = [
    text("listen", "an address and a port, such as 127.0.0.1:7077", |draft, text| {
        put(&mut draft.config.listen, text.parse().ok())
    }).flag("listen", "ADDRESS:PORT", "Where to listen [default: 127.0.0.1:7077]"),
    path("store", "sqlite:PATH for a file, or memory: to keep nothing", |draft, folder, text| {
        put(&mut draft.store, text.parse().ok().map(|it| Some(seen_from(folder, it))))
    }).flag("store", "ADDRESS", "Where outcomes and tokens are kept: sqlite:PATH, or memory: to keep nothing \
                                 [default: panpan.db in your folder for data]")
      .secret()
      .of_pipes(),
    number("store_mb", SMALLEST_SIZE_BYTES / (1024 * 1024), STORE_MB_LIMIT, |draft, number| {
        put(&mut draft.config.store_mb, Some(number))
    }).of_pipes(),
    number("keys_kept_hours", 1, KEPT_HOURS_LIMIT, |draft, number| {
        put(&mut draft.config.keys_kept_hours, Some(number))
    }).of_pipes(),
    boolean("allow_anonymous", |draft, allowed| put(&mut draft.config.allow_anonymous, Some(Some(allowed))))
        .flag("allow-anonymous", "true|false", "Whether to serve callers without a token what needs no scope"),
    list("hosts", "a list of host names, such as panpan.example.com or localhost:7077", is_host, |draft, hosts| {
        put(&mut draft.config.hosts, Some(hosts))
    }).flag("host", "NAME", "A name this server is called by; may be given several times"),
    list("origins", "a list of origins, such as https://app.example.com", is_origin, |draft, origins| {
        put(&mut draft.config.origins, Some(origins))
    }).flag("origin", "ORIGIN", "An origin whose pages may call from browsers; may be given several times"),
    number("drain_seconds", 0, DRAIN_SECONDS_LIMIT, |draft, number| {
        put(&mut draft.config.drain_seconds, Some(number))
    }),
    sources(SERVICES, "files and addresses without a name or password, such as pets=pets.yaml@https://api.example.com", sources::is_openapi, |draft, folder, texts| {
        let services = texts.iter().map(|text| sources::openapi(folder, text)).collect();
        put(&mut draft.config.sources.services, services)
    }).flag("openapi", "[NAME=]FILE[@URL]", "Serves the operations of an OpenAPI document or a contract file, as NAME/…, by the \
                                            service at URL; may be given several times")
      .of_pipes(),
    sources(SERVERS, "addresses without a name or password, such as files=https://mcp.example.com/mcp", sources::is_at, |draft, _, texts| {
        put(&mut draft.config.sources.servers, texts.iter().map(|text| sources::at(text)).collect())
    }).flag("mcp", "[NAME=]URL", "Serves the tools of the MCP server at URL, as NAME/…; may be given several times")
      .of_pipes(),
    sources("mcp_commands", "commands, such as files=npx -y @modelcontextprotocol/server-filesystem .", sources::is_started, |draft, _, texts| {
        put(&mut draft.config.sources.commands, texts.iter().map(|text| sources::started(text)).collect())
    }).flag("mcp-stdio", "[NAME=]COMMAND", "Starts an MCP server and serves its tools, as NAME/…; may be given several times")
      .of_pipes(),
    sources("overlays", "paths of overlay files", |text| !text.is_empty(), |draft, folder, texts| {
        let paths = texts.iter().map(|text| folder.join(text)).collect();
        put(&mut draft.config.sources.overlays, Some(paths))
    }).flag("overlay", "FILE", "What is known about the services beyond their descriptions; may be given several times")
      .of_pipes(),
    list("allowed_hosts", "hosts, addresses or networks, such as billing.internal:8080 or 10.0.0.0/8", is_allowed, |draft, hosts| {
        put(&mut draft.config.sources.allowed_hosts, Some(hosts))
    }).flag("allow-host", "HOST", "A host or network that is not public and may be asked all the same; may be given several times")
      .of_pipes(),
    list("enable", "names of built-in operations, such as http/call", |text| !text.is_empty(), |draft, names| {
        put(&mut draft.config.sources.enabled, Some(names))
    }).flag("enable", "OPERATION", "A built-in operation that reaches out and is off otherwise: http/call; may be given several times")
      .of_pipes(),
    list("builtin", "calls, json and services, those to be served, or none", is_built_in, |draft, names| {
        let named = names.into_iter().filter(|it| it != builtin::NONE).collect();
        put(&mut draft.config.sources.built_in.namespaces, Some(Some(named)))
    }).flag("builtin", "NAMESPACE", "Serves these built-in operations and no others: calls, json, services, or none; may be given \
                                     several times [default: all; as tools only without a service or server]")
      .of_pipes(),
    boolean("demo", |draft, is_served| put(&mut draft.config.sources.built_in.demo, Some(Some(is_served))))
        .flag("demo", "true|false", "Whether to serve the operations for trying panpan out [default: only without a service or server]")
        .of_pipes(),
    path("tls.certificate", "the path of a file with certificates", |draft, folder, text| {
        put(&mut draft.certificate, Some(Some(folder.join(text))))
    }).flag("tls-certificate", "FILE", "The certificates to prove this server with, its own first"),
    path("tls.key", "the path of a file with a private key", |draft, folder, text| {
        put(&mut draft.key, Some(Some(folder.join(text))))
    }).flag("tls-key", "FILE", "The private key of the certificate"),
    text("mcp.tools", "auto, each or search", |draft, text| put(&mut draft.config.tools, tool_form(text)))
        .flag("tools", "FORM", "How MCP clients see operations: each as a tool, by search, or auto, which \
                                depends on how many there are [default: auto]"),
    text("log.level", "off, error, warn, info, debug or trace, or such words for parts as in info,panpan=debug",
        |draft, text| put(&mut draft.config.log.level, is_level(text).then(|| text.to_owned())),
    ).flag("log-level", "LEVEL", "What is logged: off, error, warn, info, debug, trace [default: info]"),
    text("log.format", "text or json", |draft, text| put(&mut draft.config.log.format, log_format(text)))
        .flag("log-format", "FORMAT", "How a line of the log looks: text or json [default: text]"),
    number("limits.body_bytes", 1, DOCUMENT_BYTES_LIMIT as u64, |draft, number| {
        put(&mut draft.config.limits.body_bytes, count(number))
    }),
    number("limits.batch", 1, COUNT_LIMIT, |draft, number| put(&mut draft.config.limits.batch, count(number))),
    number("limits.calls_per_second", 1, COUNT_LIMIT, |draft, number| {
        put(&mut draft.config.limits.calls_per_second, rate(number))
    }),
    number("limits.burst", 1, COUNT_LIMIT, |draft, number| put(&mut draft.config.limits.burst, rate(number))),
    number("limits.calls_in_flight", 1, COUNT_LIMIT, |draft, number| {
        put(&mut draft.config.limits.calls_in_flight, count(number))
    }),
    number("limits.calls_in_flight_per_caller", 1, COUNT_LIMIT, |draft, number| {
        put(&mut draft.config.limits.calls_in_flight_per_caller, count(number))
    }),
    number("limits.streams", 1, COUNT_LIMIT, |draft, number| put(&mut draft.config.limits.streams, count(number))),
    number("limits.streams_per_caller", 1, COUNT_LIMIT, |draft, number| {
        put(&mut draft.config.limits.streams_per_caller, count(number))
    }),
    number("limits.connections", 1, COUNT_LIMIT, |draft, number| {
        put(&mut draft.config.limits.connections, count(number))
    }),
    number("limits.connections_per_address", 1, COUNT_LIMIT, |draft, number| {
        put(&mut draft.config.limits.connections_per_address, count(number))
    }),
    number("limits.unread_bytes", 1, BYTES_LIMIT, |draft, number| {
        put(&mut draft.config.limits.unread_bytes, count(number))
    }),
    number("limits.unread_bytes_per_caller", 1, BYTES_LIMIT, |draft, number| {
        put(&mut draft.config.limits.unread_bytes_per_caller, count(number))
    }),
    number("limits.head_timeout_seconds", 1, WAIT_SECONDS_LIMIT, |draft, number| {
        put(&mut draft.config.limits.head_timeout, Some(Duration::from_secs(number)))
    }),
    number("limits.body_timeout_seconds", 1, WAIT_SECONDS_LIMIT, |draft, number| {
        put(&mut draft.config.limits.body_timeout, Some(Duration::from_secs(number)))
    }),
    number("limits.write_timeout_seconds", 1, WAIT_SECONDS_LIMIT, |draft, number| {
        put(&mut draft.config.limits.write_timeout, Some(Duration::from_secs(number)))
    }),
];

/// The key of this name.
pub(super) fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

/// Whether keys stand in a table of this name.
pub(super) fn is_table(name: &str) -> bool {
    KEYS.iter().any(|key| key.table() == Some(name))
}

impl Key {
    /// The table of the file it stands in.
    pub(super) fn table(&self) -> Option<&'static str> {
        self.name.split_once('.').map(|(table, _)| table)
    }

    /// Its name without the table.
    pub(super) fn last_part(&self) -> &'static str {
        self.name
            .rsplit_once('.')
            .map_or(self.name, |(_, last)| last)
    }

    /// The variable that sets it.
    pub(super) fn variable(&self) -> String {
        let name = self.name.replace('.', "_").to_ascii_uppercase();
        format!("{VARIABLE_PREFIX}{name}")
    }

    /// What it may be, for somebody who wrote something else.
    pub(super) fn expected(&self) -> String {
        match self.kind {
            Kind::Boolean { .. } => "true or false".to_owned(),
            Kind::Number { from, to, .. } => format!("a whole number from {from} to {to}"),
            Kind::Text { expected, .. }
            | Kind::Path { expected, .. }
            | Kind::List { expected, .. }
            | Kind::Sources { expected, .. } => expected.to_owned(),
        }
    }

    const fn of(name: &'static str, kind: Kind) -> Self {
        Self {
            name,
            kind,
            flag: None,
            secret: false,
            of_pipes: false,
        }
    }

    const fn flag(mut self, name: &'static str, value: &'static str, help: &'static str) -> Self {
        self.flag = Some(Flag { name, value, help });
        self
    }

    const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    const fn of_pipes(mut self) -> Self {
        self.of_pipes = true;
        self
    }
}

const fn boolean(name: &'static str, set: fn(&mut Draft, bool) -> bool) -> Key {
    Key::of(name, Kind::Boolean { set })
}

const fn number(name: &'static str, from: u64, to: u64, set: fn(&mut Draft, u64) -> bool) -> Key {
    Key::of(name, Kind::Number { from, to, set })
}

const fn text(
    name: &'static str,
    expected: &'static str,
    set: fn(&mut Draft, &str) -> bool,
) -> Key {
    Key::of(name, Kind::Text { expected, set })
}

const fn path(
    name: &'static str,
    expected: &'static str,
    set: fn(&mut Draft, &Path, &str) -> bool,
) -> Key {
    Key::of(name, Kind::Path { expected, set })
}

const fn list(
    name: &'static str,
    expected: &'static str,
    accept: fn(&str) -> bool,
    set: fn(&mut Draft, Vec<String>) -> bool,
) -> Key {
    Key::of(
        name,
        Kind::List {
            expected,
            accept,
            set,
        },
    )
}

const fn sources(
    name: &'static str,
    expected: &'static str,
    accept: fn(&str) -> bool,
    set: fn(&mut Draft, &Path, &[String]) -> bool,
) -> Key {
    Key::of(
        name,
        Kind::Sources {
            expected,
            accept,
            set,
        },
    )
}

fn put<T>(place: &mut T, value: Option<T>) -> bool {
    value.map(|value| *place = value).is_some()
}

fn count(number: u64) -> Option<usize> {
    usize::try_from(number).ok()
}

fn rate(number: u64) -> Option<Option<NonZeroU32>> {
    u32::try_from(number).ok().map(NonZeroU32::new)
}

fn seen_from(folder: &Path, address: StoreAddress) -> StoreAddress {
    match address {
        StoreAddress::Sqlite(path) => StoreAddress::Sqlite(folder.join(path)),
        StoreAddress::Memory => StoreAddress::Memory,
    }
}

fn tool_form(word: &str) -> Option<ToolForm> {
    match word {
        "auto" => Some(ToolForm::Auto),
        "each" => Some(ToolForm::Each),
        "search" => Some(ToolForm::Search),
        _ => None,
    }
}

fn log_format(word: &str) -> Option<LogFormat> {
    match word {
        "text" => Some(LogFormat::Text),
        "json" => Some(LogFormat::Json),
        _ => None,
    }
}

/// A misspelled level would be taken for the name of a part by whoever filters the log.
fn is_level(text: &str) -> bool {
    const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    text.split(',').all(|part| {
        let (target, level) = part.rsplit_once('=').unwrap_or(("all", part));
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'-');
        !target.is_empty() && target.bytes().all(is_name) && LEVELS.contains(&level)
    })
}

fn is_host(text: &str) -> bool {
    let is_part = |byte: u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':' | b'[' | b']')
    };
    !text.is_empty() && text.bytes().all(is_part)
}

fn is_built_in(text: &str) -> bool {
    text == builtin::NONE || builtin::NAMESPACES.contains(&text)
}

fn is_allowed(text: &str) -> bool {
    Allowed::parse([text]).is_ok()
}

fn is_origin(text: &str) -> bool {
    let scheme = |scheme: &str| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && scheme.bytes().all(is_part)
    };
    text.split_once("://")
        .is_some_and(|(before, host)| scheme(before) && is_host(host))
}
