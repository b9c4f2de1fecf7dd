//! The table of all settings: the name in the file, the flag, the type of the value, and how it is applied.
//!
//! The variable of a setting follows from its name in the file: `limits.batch` is `PANPAN_LIMITS_BATCH`.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;
use std::time::Duration;

use panpan_contract::operation::OperationName;
use panpan_flow::WebhookKey;
use panpan_store::SMALLEST_SIZE_BYTES;
use panpan_upstream::Allowed;

use self::Kind::{Boolean, List, Number, Text};
use super::{Draft, LogFormat, ToolForm};
use crate::builtin;
use crate::sources;
use crate::store::StoreAddress;

/// The prefix of all variables.
pub(super) const VARIABLE_PREFIX: &str = "PANPAN_";

/// The upper bound of all counts.
const COUNT_LIMIT: u64 = 1_000_000;
/// The upper bound of a request body: enough for a flow of 200,000 tasks.
const BODY_BYTES_LIMIT: u64 = 64 * 1024 * 1024;
/// The upper bound of all other sizes.
const BYTES_LIMIT: u64 = 1 << 40;
/// The upper bound of timeouts for clients.
const TIMEOUT_SECONDS_LIMIT: u64 = 24 * 60 * 60;
/// The upper bound of the drain time.
const DRAIN_SECONDS_LIMIT: u64 = 60 * 60;
/// The upper bound of the store size.
const STORE_MB_LIMIT: u64 = 1024 * 1024;
/// The upper bound of the time that outcomes are kept.
const KEPT_HOURS_LIMIT: u64 = 366 * 24;
/// A client may repeat a call for a day and rely on its key.
const KEYS_KEPT_HOURS_MIN: u64 = 24;

/// The shortest and the longest lease of a task: it is extended three times as often.
const LEASE_SECONDS: (u64, u64) = (3, 60 * 60);

/// The settings whose values can also be lists of tables.
pub(super) const SERVICES: &str = "openapi";
pub(super) const SERVERS: &str = "mcp_servers";

/// One setting.
#[derive(Debug)]
pub(super) struct Setting {
    /// The name in the file.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) flag: Option<Flag>,
    /// Whether the value may contain a password and is never printed.
    pub(super) secret: bool,
    /// Whether it applies to `panpan mcp`.
    pub(super) for_stdio: bool,
}

/// The flag of a setting.
#[derive(Debug)]
pub(super) struct Flag {
    /// Without the hyphens.
    pub(super) name: &'static str,
    pub(super) value: &'static str,
    pub(super) help: &'static str,
}

/// The type of a setting, what is expected, and its setter, which returns whether the value is valid. Paths are
/// relative to the folder in which the value is written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Boolean(fn(&mut Draft, bool) -> bool),
    /// The smallest and the largest number.
    Number(u64, u64, fn(&mut Draft, u64) -> bool),
    Text(&'static str, fn(&mut Draft, &Path, &str) -> bool),
    /// With a check of each item.
    List(
        &'static str,
        fn(&str) -> bool,
        fn(&mut Draft, &Path, &[String]) -> bool,
    ),
}

/// All settings.
#[rustfmt::skip]
pub(super) static SETTINGS: [Setting; 44] = [
    of("listen", Text("an address and a port, such as 127.0.0.1:7077",
        |draft, _, text| put(&mut draft.config.listen, text.parse().ok())))
        .flag("listen", "ADDRESS:PORT", "The address to listen on [default: 127.0.0.1:7077]"),
    of("store", Text("sqlite:PATH for a file, postgres://USER:PASSWORD@HOST:PORT/DATABASE for a database, or memory: to keep nothing",
        |draft, folder, text| put(&mut draft.store, text.parse().ok().map(|it| Some(resolve(folder, it))))))
        .flag("store", "ADDRESS", "The store of outcomes and tokens: sqlite:PATH, postgres://USER:PASSWORD@HOST:PORT/DATABASE, or memory: to \
            keep nothing [default: panpan.db in your data folder]")
        .secret()
        .for_stdio(),
    of("store_mb", Number(SMALLEST_SIZE_BYTES / (1024 * 1024), STORE_MB_LIMIT, |draft, it| put(&mut draft.config.store_mb, Some(it)))).for_stdio(),
    of("keys_kept_hours", Number(KEYS_KEPT_HOURS_MIN, KEPT_HOURS_LIMIT, |draft, it| put(&mut draft.config.keys_kept_hours, Some(it)))).for_stdio(),
    of("allow_anonymous", Boolean(|draft, allowed| put(&mut draft.config.allow_anonymous, Some(Some(allowed)))))
        .flag("allow-anonymous", "true|false", "Serve callers without a token, for operations that need no scope [default: true on a \
            loopback address]"),
    of("hosts", List("a list of host names, such as panpan.example.com or localhost:7077", is_host,
        |draft, _, hosts| put(&mut draft.config.hosts, Some(hosts.to_vec()))))
        .flag("host", "NAME", "A host name that clients may use for this server; can be repeated [default: loopback names on a \
            loopback address, otherwise any]"),
    of("origins", List("a list of origins, such as https://app.example.com", is_origin,
        |draft, _, origins| put(&mut draft.config.origins, Some(origins.to_vec()))))
        .flag("origin", "ORIGIN", "An origin whose web pages may call this server; can be repeated [default: the server's own]"),
    of("drain_seconds", Number(0, DRAIN_SECONDS_LIMIT, |draft, it| put(&mut draft.config.drain_seconds, Some(it)))),
    of(SERVICES, List("[NAME=]FILE[@URL] without credentials in the URL, such as pets=pets.yaml@https://api.example.com",
        |text| sources::parse_service(Path::new(""), text).is_some(),
        |draft, folder, texts| put(&mut draft.config.sources.services, texts.iter().map(|text| sources::parse_service(folder, text)).collect())))
        .flag("openapi", "[NAME=]FILE[@URL]", "Serve an OpenAPI document or contract file as NAME/…, and call the service at URL; can be \
            repeated")
        .for_stdio(),
    of(SERVERS, List("[NAME=]URL without credentials in the URL, such as files=https://mcp.example.com/mcp",
        |text| sources::parse_server_url(text).is_some(),
        |draft, _, texts| put(&mut draft.config.sources.servers, texts.iter().map(|text| sources::parse_server_url(text)).collect())))
        .flag("mcp", "[NAME=]URL", "Serve the tools of the MCP server at URL as NAME/…; can be repeated")
        .for_stdio(),
    of("mcp_commands", List("[NAME=]COMMAND with balanced quotes, such as files=npx -y @modelcontextprotocol/server-filesystem .",
        |text| sources::parse_server_command(text).is_some(),
        |draft, _, texts| put(&mut draft.config.sources.commands, texts.iter().map(|text| sources::parse_server_command(text)).collect())))
        .flag("mcp-stdio", "[NAME=]COMMAND", "Start an MCP server with COMMAND and serve its tools as NAME/…; can be repeated")
        .for_stdio(),
    of("overlays", List("paths of overlay files", |text| !text.is_empty(),
        |draft, folder, texts| put(&mut draft.config.sources.overlays, Some(texts.iter().map(|text| folder.join(text)).collect()))))
        .flag("overlay", "FILE", "Apply an overlay file to the operations; can be repeated")
        .for_stdio(),
    of("allowed_hosts", List("hosts, addresses or networks, such as billing.internal:8080 or 10.0.0.0/8", is_allowed,
        |draft, _, hosts| put(&mut draft.config.sources.allowed_hosts, Some(hosts.to_vec()))))
        .flag("allow-host", "HOST", "A private host or network that panpan may connect to; can be repeated")
        .for_stdio(),
    of("enable", List("names of built-in operations, such as http/call", |text| !text.is_empty(),
        |draft, _, names| put(&mut draft.config.sources.enabled, Some(names.to_vec()))))
        .flag("enable", "OPERATION", "Serve a built-in operation that is off by default: http/call; can be repeated")
        .for_stdio(),
    of("builtin", List("a list of calls, json, services and tasks, or none", is_built_in_namespace,
        |draft, _, names| put(&mut draft.config.sources.built_in.namespaces, Some(Some(names.iter().filter(|it| *it != builtin::NONE).cloned().collect())))))
        .flag("builtin", "NAMESPACE", "Serve only these built-in operations: calls, json, services, tasks, or none; can be repeated [default: \
            all, as MCP tools only without a service or MCP server]")
        .for_stdio(),
    of("demo", Boolean(|draft, is_served| put(&mut draft.config.sources.built_in.demo, Some(Some(is_served)))))
        .flag("demo", "true|false", "Serve the demo operations [default: true without a service or MCP server]")
        .for_stdio(),
    of("tls.certificate", Text("the path of a PEM file with certificates",
        |draft, folder, text| put(&mut draft.certificate, Some(Some(folder.join(text))))))
        .flag("tls-certificate", "FILE", "The PEM file with the certificate chain of this server, its own certificate first"),
    of("tls.key", Text("the path of a PEM file with a private key",
        |draft, folder, text| put(&mut draft.key, Some(Some(folder.join(text))))))
        .flag("tls-key", "FILE", "The PEM file with the private key of the certificate"),
    of("mcp.tools", Text("auto, each or search", |draft, _, text| put(&mut draft.config.tools, tool_form(text))))
        .flag("tools", "FORM", "How MCP clients see operations: each (one tool per operation), search (search tools), or \
            auto (each up to 64 operations) [default: auto]"),
    of("log.level", Text("off, error, warn, info, debug or trace, or levels per target such as info,panpan=debug",
        |draft, _, text| put(&mut draft.config.log.level, is_level(text).then(|| text.to_owned())),
    )).flag("log-level", "LEVEL", "The log level: off, error, warn, info, debug or trace [default: info]"),
    of("log.format", Text("text or json", |draft, _, text| put(&mut draft.config.log.format, log_format(text))))
        .flag("log-format", "FORMAT", "The format of the log: text or json [default: text]"),
    of("tasks.limit", Number(1, COUNT_LIMIT, |draft, it| put(&mut draft.config.tasks.worker.concurrency, count(it)))).for_stdio(),
    of("tasks.limit_per_caller", Number(1, COUNT_LIMIT, |draft, it| put(&mut draft.config.tasks.worker.limits.per_owner, at_most(it)))).for_stdio(),
    of("tasks.limit_per_flow", Number(1, COUNT_LIMIT, |draft, it| put(&mut draft.config.tasks.worker.limits.per_flow, at_most(it)))).for_stdio(),
    of("tasks.limit_per_operation", Number(1, COUNT_LIMIT, |draft, it| put(&mut draft.config.tasks.worker.limits.per_operation, at_most(it)))).for_stdio(),
    of("tasks.operation_limits", List("OPERATION=NUMBER with a number from 1, such as http/call=4", |text| operation_limit(text).is_some(),
        |draft, _, texts| put(&mut draft.config.tasks.worker.limits.operations, texts.iter().map(|text| operation_limit(text)).collect())))
        .for_stdio(),
    of("tasks.lease_seconds", Number(LEASE_SECONDS.0, LEASE_SECONDS.1, |draft, it| put(&mut draft.config.tasks.worker.lease_ms, Some(it * 1000)))).for_stdio(),
    of("tasks.kept_hours", Number(1, KEPT_HOURS_LIMIT, |draft, it| put(&mut draft.config.tasks.kept_ms, Some(it * 60 * 60 * 1000)))).for_stdio(),
    of("tasks.webhook_secret", Text("24 to 64 random bytes in base64, such as the output of `openssl rand -base64 32`",
        |draft, _, text| {
            draft.config.sources.sends_webhooks = true;
            put(&mut draft.config.tasks.webhook_key, WebhookKey::from_base64(text).map(Some))
        }))
        .secret()
        .for_stdio(),
    of("limits.body_bytes", Number(1, BODY_BYTES_LIMIT, |draft, it| put(&mut draft.config.limits.body_bytes, count(it)))),
    of("limits.batch", Number(1, COUNT_LIMIT, |draft, it| put(&mut draft.config.limits.batch, count(it)))),
    of("limits.calls_per_second", Number(1, COUNT_LIMIT, |draft, it| put(&mut draft.config.limits.calls_per_second, rate(it)))),
    of("limits.burst", Number(1, COUNT_LIMIT, |draft, it| put(&mut draft.config.limits.burst, rate(it)))),
    of("limits.calls_in_flight", Number(1, COUNT_LIMIT, |draft, it| put(&mut draft.config.limits.calls_in_flight, count(it)))),
    of("limits.calls_in_flight_per_caller", Number(1, COUNT_LIMIT, |draft, it| put(&mut draft.config.limits.calls_in_flight_per_caller, count(it)))),
    of("limits.streams", Number(1, COUNT_LIMIT, |draft, it| put(&mut draft.config.limits.streams, count(it)))),
    of("limits.streams_per_caller", Number(1, COUNT_LIMIT, |draft, it| put(&mut draft.config.limits.streams_per_caller, count(it)))),
    of("limits.connections", Number(1, COUNT_LIMIT, |draft, it| put(&mut draft.config.limits.connections, count(it)))),
    of("limits.connections_per_address", Number(1, COUNT_LIMIT, |draft, it| put(&mut draft.config.limits.connections_per_address, count(it)))),
    of("limits.unread_bytes", Number(1, BYTES_LIMIT, |draft, it| put(&mut draft.config.limits.unread_bytes, count(it)))),
    of("limits.unread_bytes_per_caller", Number(1, BYTES_LIMIT, |draft, it| put(&mut draft.config.limits.unread_bytes_per_caller, count(it)))),
    of("limits.head_timeout_seconds", Number(1, TIMEOUT_SECONDS_LIMIT, |draft, it| put(&mut draft.config.limits.head_timeout, Some(Duration::from_secs(it))))),
    of("limits.body_timeout_seconds", Number(1, TIMEOUT_SECONDS_LIMIT, |draft, it| put(&mut draft.config.limits.body_timeout, Some(Duration::from_secs(it))))),
    of("limits.write_timeout_seconds", Number(1, TIMEOUT_SECONDS_LIMIT, |draft, it| put(&mut draft.config.limits.write_timeout, Some(Duration::from_secs(it))))),
];

/// The setting with this name.
pub(super) fn find(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name == name)
}

/// Whether a table with this name contains settings.
pub(super) fn is_table(name: &str) -> bool {
    SETTINGS.iter().any(|setting| setting.table() == Some(name))
}

impl Setting {
    /// The table of the file that contains it.
    pub(super) fn table(&self) -> Option<&'static str> {
        self.name.split_once('.').map(|(table, _)| table)
    }

    /// The name without the table.
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

    /// The expected value, for messages about an invalid one.
    pub(super) fn expected(&self) -> String {
        match self.kind {
            Boolean(_) => "true or false".to_owned(),
            Number(from, to, _) => format!("a whole number from {from} to {to}"),
            Text(expected, _) | List(expected, ..) => expected.to_owned(),
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

    const fn for_stdio(mut self) -> Self {
        self.for_stdio = true;
        self
    }
}

const fn of(name: &'static str, kind: Kind) -> Setting {
    Setting {
        name,
        kind,
        flag: None,
        secret: false,
        for_stdio: false,
    }
}

fn put<T>(target: &mut T, value: Option<T>) -> bool {
    value.map(|value| *target = value).is_some()
}

fn count(number: u64) -> Option<usize> {
    usize::try_from(number).ok()
}

fn at_most(number: u64) -> Option<Option<NonZeroUsize>> {
    count(number).map(NonZeroUsize::new)
}

/// The operation and the number in `OPERATION=NUMBER`.
fn operation_limit(text: &str) -> Option<(String, NonZeroUsize)> {
    let (name, number) = text.rsplit_once('=')?;
    let name = OperationName::new(name.trim()).ok()?;
    Some((name.as_str().to_owned(), number.trim().parse().ok()?))
}

fn rate(number: u64) -> Option<Option<NonZeroU32>> {
    u32::try_from(number).ok().map(NonZeroU32::new)
}

fn resolve(folder: &Path, address: StoreAddress) -> StoreAddress {
    match address {
        StoreAddress::Sqlite(path) => StoreAddress::Sqlite(folder.join(path)),
        other @ (StoreAddress::Memory | StoreAddress::Postgres(_)) => other,
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

/// The log filter would take a misspelled level for the name of a target.
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

fn is_built_in_namespace(text: &str) -> bool {
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
