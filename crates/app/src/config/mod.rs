//! The configuration of a server: settings from a file, the environment and flags; later ones win.
//!
//! `settings` is the table of all settings; the file, the environment and the flags are read with it. All problems are
//! reported at once. No file is opened except the configuration file.

mod assignment;
mod calls;
mod file;
mod flags;
mod problem;
mod settings;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use panpan_flow::{FLOWS_KEPT_MS, WebhookKey, WorkerSettings};
use panpan_runtime::Settings;
use panpan_store::DEFAULT_SIZE_BYTES;
use panpan_surfaces::limits::Limits;
use panpan_surfaces::mcp::ToolForm;

use self::assignment::{Assignment, RawValue};
use self::problem::{Location, Problem, Reason};
use self::settings::{Kind, Setting};
use crate::data_folder;
use crate::log::LogFormat;
use crate::sources::Sources;
use crate::store::StoreAddress;

pub(crate) use self::flags::Flags;
pub(crate) use self::problem::Problems;

const MEGABYTE: u64 = 1024 * 1024;

/// The default file, which may be missing.
const DEFAULT_FILE: &str = "panpan.toml";
/// The variable with the path of the file.
const FILE_VARIABLE: &str = "PANPAN_CONFIG";

/// The configuration of a server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Config {
    /// The address to listen on.
    pub(crate) listen: SocketAddr,
    /// The store of outcomes and tokens.
    pub(crate) store: StoreAddress,
    /// The maximum size of the store, in megabytes.
    pub(crate) store_mb: u64,
    /// How long the outcome of an idempotency key is kept.
    pub(crate) keys_kept_hours: u64,
    /// Whether callers without a token are served.
    pub(crate) allow_anonymous: Option<bool>,
    /// The TLS files; plain HTTP when unset.
    pub(crate) tls: Option<Tls>,
    /// The accepted host names, besides the address.
    pub(crate) hosts: Vec<String>,
    /// The accepted browser origins.
    pub(crate) origins: Vec<String>,
    /// How MCP clients see the operations.
    pub(crate) tools: ToolForm,
    pub(crate) limits: Limits,
    pub(crate) log: Log,
    pub(crate) tasks: TaskSettings,
    /// How long calls in flight may continue when the server stops.
    pub(crate) drain_seconds: u64,
    /// The sources of operations.
    pub(crate) sources: Sources,
}

impl Config {
    /// The maximum size of the store, in bytes.
    pub(crate) fn store_bytes(&self) -> u64 {
        self.store_mb.saturating_mul(MEGABYTE)
    }

    /// The settings of the dispatcher.
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            keep_ms: self.keys_kept_hours.saturating_mul(60 * 60 * 1000),
            ..Settings::default()
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 7077)),
            store: StoreAddress::Memory,
            store_mb: DEFAULT_SIZE_BYTES / MEGABYTE,
            keys_kept_hours: 24,
            allow_anonymous: None,
            tls: None,
            hosts: Vec::new(),
            origins: Vec::new(),
            tools: ToolForm::default(),
            limits: Limits::default(),
            log: Log {
                level: "info".to_owned(),
                format: LogFormat::default(),
            },
            tasks: TaskSettings::default(),
            drain_seconds: 30,
            sources: Sources::default(),
        }
    }
}

/// The TLS files of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tls {
    /// The certificate chain, the server's own certificate first.
    pub(crate) certificate: PathBuf,
    /// The private key.
    pub(crate) key: PathBuf,
}

/// The settings of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Log {
    /// A level, or levels per target such as `info,panpan=debug`.
    pub(crate) level: String,
    pub(crate) format: LogFormat,
}

/// The settings of tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TaskSettings {
    pub(crate) worker: WorkerSettings,
    /// How long a flow is kept after its last change.
    pub(crate) kept_ms: u64,
    /// What webhooks are signed with; without it there are none.
    pub(crate) webhook_key: Option<WebhookKey>,
}

impl Default for TaskSettings {
    fn default() -> Self {
        Self {
            worker: WorkerSettings::default(),
            kept_ms: FLOWS_KEPT_MS,
            webhook_key: None,
        }
    }
}

/// Reads the file, the environment and the flags; later ones win.
///
/// The default file is the one in `PANPAN_CONFIG`, or `panpan.toml` in the current folder if it exists. Reports all
/// problems, also of values that a later source replaces.
pub(crate) fn load<const STDIO: bool>(
    file: Option<&Path>,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
    flags: &Flags<STDIO>,
) -> Result<Config, Problems> {
    let environment: BTreeMap<OsString, OsString> = environment.into_iter().collect();
    let named = environment
        .get(&OsString::from(FILE_VARIABLE))
        .filter(|it| !it.is_empty());
    let named = file.or(named.map(Path::new));
    let mut assignments = file::read(named.unwrap_or(Path::new(DEFAULT_FILE)), named.is_some());
    assignments.extend(assignment::from_environment(&environment));
    assignments.extend(flags.assignments());
    Draft::default().build(assignments, &environment)
}

/// A configuration under construction.
#[derive(Debug, Default)]
struct Draft {
    config: Config,
    store: Option<StoreAddress>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    /// Where each setting was set last.
    locations: BTreeMap<&'static str, Location>,
    problems: Vec<Problem>,
}

impl Draft {
    /// The configuration with these values, or all problems with them.
    fn build(
        mut self,
        assignments: Vec<Result<Assignment, Problem>>,
        environment: &BTreeMap<OsString, OsString>,
    ) -> Result<Config, Problems> {
        for each in assignments {
            match each {
                Ok(assignment) => self.assign(assignment),
                Err(problem) => self.problems.push(problem),
            }
        }
        self.finish(&|name| environment.get(&OsString::from(name)).cloned())
    }

    /// Applies a value, or records why it is invalid.
    fn assign(&mut self, assignment: Assignment) {
        let setting = assignment.setting;
        if self.set(setting, &assignment) {
            self.locations.insert(setting.name, assignment.location);
            return;
        }
        let reason = Reason::Value {
            expected: setting.expected(),
            found: assignment.value.shown(setting),
        };
        self.problems
            .push(Problem::of(setting.name, assignment.location, reason));
    }

    /// Applies a value and returns whether it is valid.
    fn set(&mut self, setting: &Setting, assignment: &Assignment) -> bool {
        let value = &assignment.value;
        let sources = &mut self.config.sources;
        match value {
            RawValue::Services(services) => sources.services.clone_from(services),
            RawValue::Servers(servers) => sources.servers.clone_from(servers),
            _ => return self.set_value(setting.kind, value, assignment.location.folder()),
        }
        true
    }

    fn set_value(&mut self, kind: Kind, value: &RawValue, folder: &Path) -> bool {
        match kind {
            Kind::Boolean(set) => value.boolean().is_some_and(|it| set(self, it)),
            Kind::Number(from, to, set) => {
                let number = value.number().filter(|it| (from..=to).contains(it));
                number.is_some_and(|it| set(self, it))
            }
            Kind::Text(_, set) => {
                let text = value.text().filter(|it| !it.is_empty());
                text.is_some_and(|it| set(self, folder, it))
            }
            Kind::List(_, accept, set) => {
                let list = value.list().filter(|list| list.iter().all(|it| accept(it)));
                list.is_some_and(|it| set(self, folder, &it))
            }
        }
    }

    fn finish(mut self, variable: &dyn Fn(&str) -> Option<OsString>) -> Result<Config, Problems> {
        self.require("tls.certificate", "tls.key");
        self.require("tls.key", "tls.certificate");
        self.require("limits.burst", "limits.calls_per_second");
        self.config.tls = self
            .certificate
            .zip(self.key)
            .map(|(certificate, key)| Tls { certificate, key });
        match self
            .store
            .map_or_else(|| data_folder::default_store(variable), Ok)
        {
            Ok(store) => self.config.store = store,
            // The problem with the configured store is reported already.
            Err(_)
                if self
                    .problems
                    .iter()
                    .any(|problem| problem.is_about("store")) => {}
            Err(error) => {
                let problem = Problem::of("store", Location::Unset, Reason::NoStore(error));
                self.problems.push(problem);
            }
        }
        Problems::none_of(self.problems).map(|()| self.config)
    }

    /// Records a problem if a setting is set without another that it requires.
    fn require(&mut self, name: &'static str, other: &'static str) {
        let is_about_other = |problem: &Problem| problem.is_about(other);
        if let Some(location) = self.locations.get(name)
            && !self.locations.contains_key(other)
            && !self.problems.iter().any(is_about_other)
        {
            let problem = Problem::of(name, location.clone(), Reason::Requires { other });
            self.problems.push(problem);
        }
    }
}
