//! What a server is told before it starts: a file, the environment and flags, in rising order.
//!
//! One table, in `keys`, says what can be told; the file, the environment and the command line are read
//! by it. Everything that is wrong anywhere is told at once. Nothing is opened here but the file.

mod calls;
mod file;
mod flags;
mod given;
mod keys;
mod problem;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use panpan_runtime::Settings;
use panpan_store::DEFAULT_SIZE_BYTES;
use panpan_surfaces::limits::Limits;
use panpan_surfaces::mcp::ToolForm;

use self::given::{Given, Raw};
use self::keys::{Key, Kind};
use self::problem::{Place, Problem, Wrong};
use crate::place;
use crate::sources::Sources;
use crate::store::StoreAddress;
use crate::terminal::LogFormat;

pub(crate) use self::flags::{Flags, PipeFlags};
pub(crate) use self::problem::Problems;

const MEGABYTE: u64 = 1024 * 1024;

/// The file that is read where none is named, if it is there.
const USUAL_FILE: &str = "panpan.toml";
/// What names the file.
const FILE_VARIABLE: &str = "PANPAN_CONFIG";

/// How a server is to be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Config {
    /// Where it listens.
    pub(crate) listen: SocketAddr,
    /// Where it keeps outcomes and tokens.
    pub(crate) store: StoreAddress,
    /// How large the store may become, in megabytes.
    pub(crate) store_mb: u64,
    /// How long the outcome of an idempotency key is kept.
    pub(crate) keys_kept_hours: u64,
    /// Whether callers without a token are served; unset when nobody said.
    pub(crate) allow_anonymous: Option<bool>,
    /// What it proves itself with; plain HTTP when unset.
    pub(crate) tls: Option<Tls>,
    /// The names it is called by, beyond those of the address it listens on.
    pub(crate) hosts: Vec<String>,
    /// The pages in browsers that may call it.
    pub(crate) origins: Vec<String>,
    /// How MCP clients see the operations.
    pub(crate) tools: ToolForm,
    /// How much is allowed.
    pub(crate) limits: Limits,
    /// What is logged, and how.
    pub(crate) log: Log,
    /// How long calls that still run may go on when the server is to end.
    pub(crate) drain_seconds: u64,
    /// Where operations come from besides the program itself.
    pub(crate) sources: Sources,
}

impl Config {
    /// How large the store may become, in bytes.
    pub(crate) fn store_bytes(&self) -> u64 {
        self.store_mb.saturating_mul(MEGABYTE)
    }

    /// How the dispatcher works.
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            keep_ms: self.keys_kept_hours.saturating_mul(60 * 60 * 1000),
            ..Settings::default()
        }
    }
}

/// The files a server proves itself with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tls {
    /// The certificates, its own first.
    pub(crate) certificate: PathBuf,
    /// The private key.
    pub(crate) key: PathBuf,
}

/// What is logged, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Log {
    /// From which level on: a word, or words for parts of the program as `info,panpan=debug`.
    pub(crate) level: String,
    /// How a line looks.
    pub(crate) format: LogFormat,
}

/// Reads the file, the environment and the flags; what comes later wins.
///
/// Without a file it is the one named by `PANPAN_CONFIG`, or `panpan.toml` where the program was started,
/// if that is there. Gives every problem there is, also in what a later source would have replaced.
pub(crate) fn load(
    file: Option<&Path>,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
    flags: &Flags,
) -> Result<Config, Problems> {
    let environment: BTreeMap<OsString, OsString> = environment.into_iter().collect();
    let named = environment
        .get(&OsString::from(FILE_VARIABLE))
        .filter(|it| !it.is_empty());
    let named = file.or(named.map(Path::new));
    let mut told = file::read(named.unwrap_or(Path::new(USUAL_FILE)), named.is_some());
    told.extend(given::from_environment(&environment));
    told.extend(flags.given());
    Draft::default().filled(told, &environment)
}

/// A configuration while it is put together.
#[derive(Debug)]
struct Draft {
    config: Config,
    store: Option<StoreAddress>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    /// Where each key was said last.
    places: BTreeMap<&'static str, Place>,
    problems: Vec<Problem>,
}

impl Default for Draft {
    fn default() -> Self {
        let config = Config {
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
            drain_seconds: 30,
            sources: Sources::default(),
        };
        Self {
            config,
            store: None,
            certificate: None,
            key: None,
            places: BTreeMap::new(),
            problems: Vec::new(),
        }
    }
}

impl Draft {
    /// The configuration that is told, or everything that is wrong with it.
    fn filled(
        mut self,
        told: Vec<Result<Given, Problem>>,
        environment: &BTreeMap<OsString, OsString>,
    ) -> Result<Config, Problems> {
        for each in told {
            match each {
                Ok(given) => self.take(given),
                Err(problem) => self.problems.push(problem),
            }
        }
        self.finish(&|name| environment.get(&OsString::from(name)).cloned())
    }

    /// Takes over what was given, or notes what is wrong with it.
    fn take(&mut self, given: Given) {
        let key = given.key;
        if self.set(key, &given) {
            self.places.insert(key.name, given.place);
            return;
        }
        let wrong = Wrong::Value {
            expected: key.expected(),
            found: given.raw.shown(key),
        };
        self.problems
            .push(Problem::of(key.name, given.place, wrong));
    }

    /// Whether the value will do.
    fn set(&mut self, key: &Key, given: &Given) -> bool {
        let raw = &given.raw;
        match key.kind {
            Kind::Boolean { set } => raw.boolean().is_some_and(|it| set(self, it)),
            Kind::Number { from, to, set } => {
                let number = raw.number().filter(|it| (from..=to).contains(it));
                number.is_some_and(|it| set(self, it))
            }
            Kind::Text { set, .. } => raw.text().is_some_and(|it| set(self, it)),
            Kind::Path { set, .. } => {
                let base = given.place.folder();
                raw.text()
                    .is_some_and(|it| !it.is_empty() && set(self, base, it))
            }
            Kind::List { accept, set, .. } => {
                let list = raw.list().filter(|list| list.iter().all(|it| accept(it)));
                list.is_some_and(|it| set(self, it))
            }
            Kind::Sources { accept, set, .. } => {
                let sources = &mut self.config.sources;
                match raw {
                    Raw::Services(services) => return put(&mut sources.services, services),
                    Raw::Servers(servers) => return put(&mut sources.servers, servers),
                    _ => {}
                }
                let base = given.place.folder();
                let list = raw.list().filter(|list| list.iter().all(|it| accept(it)));
                list.is_some_and(|it| set(self, base, &it))
            }
        }
    }

    fn finish(mut self, variable: &dyn Fn(&str) -> Option<OsString>) -> Result<Config, Problems> {
        self.needs("tls.certificate", "tls.key");
        self.needs("tls.key", "tls.certificate");
        self.needs("limits.burst", "limits.calls_per_second");
        self.config.tls = self
            .certificate
            .zip(self.key)
            .map(|(certificate, key)| Tls { certificate, key });
        match self
            .store
            .map_or_else(|| place::default_store_in(variable), Ok)
        {
            Ok(store) => self.config.store = store,
            // What is wrong with a store that was named has been said.
            Err(_)
                if self
                    .problems
                    .iter()
                    .any(|problem| problem.is_about("store")) => {}
            Err(error) => {
                let problem = Problem::of("store", Place::Nowhere, Wrong::NoStore(error));
                self.problems.push(problem);
            }
        }
        Problems::none_of(self.problems).map(|()| self.config)
    }

    /// Notes that a key was said without another that it means nothing without.
    fn needs(&mut self, name: &'static str, other: &'static str) {
        let is_wrong = |problem: &Problem| problem.is_about(other);
        if let Some(place) = self.places.get(name)
            && !self.places.contains_key(other)
            && !self.problems.iter().any(is_wrong)
        {
            let problem = Problem::of(name, place.clone(), Wrong::Alone { other });
            self.problems.push(problem);
        }
    }
}

fn put<T: Clone>(place: &mut Vec<T>, told: &[T]) -> bool {
    *place = told.to_vec();
    true
}
