//! A described service, and the parts of its table that it shares with `[[mcp_servers]]`.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use panpan_contract::circuit::CircuitRule;
use panpan_contract::operation::{CallSettings, Outputs, Redaction, TaskUse};
use panpan_contract::retry::RetryRule;
use panpan_openapi::Selection;
use panpan_redact::Secret;
use panpan_surfaces::identity::{TokenNameError, check_scopes};
use panpan_upstream::Url;
use panpan_upstream::header::{AUTHORIZATION, COOKIE, HOST, HeaderName};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::SourceCalls;
use super::shorthand::{namespace_of, parse_url};

/// The prefix of the variable with the secret of a source; the namespace follows.
pub(crate) const SECRET_VARIABLE_PREFIX: &str = "PANPAN_CREDENTIAL_";

/// The variable with the secret of a source.
pub(crate) fn secret_variable(namespace: &str) -> String {
    let namespace = namespace.to_ascii_uppercase().replace('-', "_");
    format!("{SECRET_VARIABLE_PREFIX}{namespace}")
}

/// A described service: a table `[[openapi]]`, or its short form.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServiceSource {
    /// An OpenAPI document or a contract file.
    pub(crate) file: PathBuf,
    /// The namespace of its operations.
    #[serde(default)]
    pub(crate) namespace: String,
    /// Whether the operator chose the namespace; otherwise the operations of a contract keep their names.
    #[serde(skip)]
    pub(crate) is_named: bool,
    /// The URL of the service, if not the one in the description.
    #[serde(default, deserialize_with = "service_url")]
    pub(crate) url: Option<Url>,
    /// Overlays for its operations.
    #[serde(default, rename = "overlay", deserialize_with = "one_or_many")]
    pub(super) overlays: Vec<PathBuf>,
    /// The scopes that its operations require in addition to those in the description.
    #[serde(default)]
    pub(super) scopes: Scopes,
    #[serde(default)]
    pub(super) include: Selection,
    #[serde(default)]
    pub(super) exclude: Selection,
    /// The credentials, by the names of its security schemes.
    #[serde(default)]
    pub(super) credentials: BTreeMap<String, SecretSource>,
    /// Headers of every request.
    #[serde(default)]
    pub(super) headers: BTreeMap<String, SecretSource>,
    #[serde(default)]
    pub(super) pass_headers: PassHeaders,
    pub(super) timeout_ms: Option<NonZeroU64>,
    pub(super) retry: Option<RetryRule>,
    pub(super) patience_ms: Option<u64>,
    pub(super) circuit: Option<CircuitRule>,
    pub(super) outputs: Option<Outputs>,
    pub(super) redaction: Option<Redaction>,
    pub(super) key_argument: Option<bool>,
    pub(super) task: Option<TaskUse>,
    #[serde(default)]
    pub(super) operations: BTreeMap<String, CallSettings>,
    /// The call settings in the members before.
    #[serde(skip)]
    pub(crate) calls: SourceCalls,
}

/// The call settings of a source, from the members of its table.
macro_rules! source_calls {
    ($source:ident) => {{
        let settings = CallSettings {
            timeout_ms: $source.timeout_ms,
            retry: $source.retry,
            patience_ms: $source.patience_ms,
            circuit: $source.circuit,
            outputs: $source.outputs,
            redaction: $source.redaction,
            key_argument: $source.key_argument,
            task: $source.task,
        };
        SourceCalls::of(&$source.namespace, settings, &$source.operations)
    }};
}
pub(super) use source_calls;

impl ServiceSource {
    /// Completes the source; paths are relative to the folder.
    pub(crate) fn resolve(mut self, folder: &Path) -> Self {
        self.is_named = !self.namespace.is_empty();
        if !self.is_named {
            self.namespace = namespace_of(&self.file);
        }
        self.calls = source_calls!(self);
        for path in self.overlays.iter_mut().chain([&mut self.file]) {
            *path = folder.join(&*path);
        }
        resolve_files(&mut self.credentials, folder);
        resolve_files(&mut self.headers, folder);
        self
    }
}

/// Required scopes. A scope that no token can have is invalid: it would exclude every caller.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub(super) struct Scopes(pub(super) Vec<String>);

impl TryFrom<Vec<String>> for Scopes {
    type Error = TokenNameError;

    fn try_from(scopes: Vec<String>) -> Result<Self, TokenNameError> {
        check_scopes(&scopes)?;
        Ok(Self(scopes))
    }
}

/// Headers of callers, and the names they are forwarded under.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(try_from = "BTreeMap<String, String>")]
pub(super) struct PassHeaders(pub(super) Vec<(HeaderName, HeaderName)>);

impl TryFrom<BTreeMap<String, String>> for PassHeaders {
    type Error = String;

    fn try_from(names: BTreeMap<String, String>) -> Result<Self, String> {
        let header = |name: &str| {
            let parsed = HeaderName::from_bytes(name.as_bytes());
            parsed.map_err(|_| format!("{name:?} is not a valid header name"))
        };
        let mut passed = Vec::new();
        for (from, to) in &names {
            let (from, to) = (header(from)?, header(to)?);
            if [AUTHORIZATION, COOKIE, HOST].contains(&from) {
                return Err(format!(
                    "{from} is meant for panpan and cannot be passed on; use another header name"
                ));
            }
            passed.push((from, to));
        }
        Ok(Self(passed))
    }
}

fn service_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Url>, D::Error> {
    let url = parse_url(&String::deserialize(deserializer)?);
    let expected = "expected a URL such as https://api.example.com, without credentials";
    url.map(Some).ok_or_else(|| D::Error::custom(expected))
}

fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Paths {
        One(PathBuf),
        Many(Vec<PathBuf>),
    }
    Ok(match Paths::deserialize(deserializer)? {
        Paths::One(path) => vec![path],
        Paths::Many(paths) => paths,
    })
}

/// Where a secret is stored.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(
    untagged,
    expecting = "a string, { env = \"VARIABLE\" } or { file = \"PATH\" }"
)]
pub(crate) enum SecretSource {
    /// In the configuration itself.
    Inline(Hidden),
    /// In an environment variable.
    Variable { env: String },
    /// In a file; a line break at its end is ignored.
    File { file: PathBuf },
}

/// A secret text that can be compared but not printed.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "String")]
pub(crate) struct Hidden(pub(super) Secret<String>);

impl From<String> for Hidden {
    fn from(text: String) -> Self {
        Self(Secret::new(text))
    }
}

impl PartialEq for Hidden {
    fn eq(&self, other: &Self) -> bool {
        self.0.expose() == other.0.expose()
    }
}

impl Eq for Hidden {}

/// Makes the paths of secrets relative to the folder.
pub(super) fn resolve_files(sources: &mut BTreeMap<String, SecretSource>, folder: &Path) {
    for source in sources.values_mut() {
        if let SecretSource::File { file } = source {
            *file = folder.join(&*file);
        }
    }
}
