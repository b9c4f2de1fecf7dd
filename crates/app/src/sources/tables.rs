//! The table `[[openapi]]` of a described service, and values that it shares with `[[mcp_servers]]`.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use panpan_contract::circuit::CircuitRule;
use panpan_contract::operation::{CallSettings, Outputs, Redaction};
use panpan_contract::retry::RetryRule;
use panpan_openapi::{Filters, Selection};
use panpan_redact::Secret;
use panpan_surfaces::identity::{TokenNameError, check_scopes};
use panpan_upstream::Url;
use panpan_upstream::header::{AUTHORIZATION, COOKIE, HOST, HeaderName};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::shorthand::{is_service_url, namespace_of};
use super::{Hidden, SecretSource, ServiceSource, SourceCalls};

/// The prefix of the variable with the secret of a source; the namespace follows.
pub(crate) const SECRET_VARIABLE_PREFIX: &str = "PANPAN_CREDENTIAL_";

/// The variable with the secret for every security scheme of a source.
pub(crate) fn secret_variable(namespace: &str) -> String {
    let namespace = namespace.to_ascii_uppercase().replace('-', "_");
    format!("{SECRET_VARIABLE_PREFIX}{namespace}")
}

/// A table `[[openapi]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServiceTable {
    file: PathBuf,
    namespace: Option<String>,
    #[serde(default, deserialize_with = "service_url")]
    url: Option<Url>,
    #[serde(default)]
    overlay: Paths,
    #[serde(default)]
    scopes: Scopes,
    #[serde(default)]
    include: Selection,
    #[serde(default)]
    exclude: Selection,
    #[serde(default)]
    credentials: BTreeMap<String, SecretValue>,
    #[serde(default)]
    headers: BTreeMap<String, SecretValue>,
    #[serde(default)]
    pass_headers: PassHeaders,
    timeout_ms: Option<NonZeroU64>,
    retry: Option<RetryRule>,
    patience_ms: Option<u64>,
    circuit: Option<CircuitRule>,
    outputs: Option<Outputs>,
    redaction: Option<Redaction>,
    key_argument: Option<bool>,
    #[serde(default)]
    operations: BTreeMap<String, CallSettings>,
}

/// Required scopes. A scope that no token can have is invalid: it would exclude every caller.
#[derive(Debug, Default, Deserialize)]
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
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "BTreeMap<String, String>")]
struct PassHeaders(Vec<(HeaderName, HeaderName)>);

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
    let text = String::deserialize(deserializer)?;
    let url = Url::parse(&text).ok().filter(is_service_url);
    let expected = "expected a URL such as https://api.example.com, without credentials";
    url.map(Some).ok_or_else(|| D::Error::custom(expected))
}

#[derive(Debug, Default, Deserialize)]
#[serde(untagged)]
enum Paths {
    #[default]
    None,
    One(PathBuf),
    Many(Vec<PathBuf>),
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a string, { env = \"VARIABLE\" } or { file = \"PATH\" }"
)]
pub(super) enum SecretValue {
    Inline(String),
    Env { env: String },
    File { file: PathBuf },
}

impl std::fmt::Debug for SecretValue {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SecretValue")
    }
}

impl ServiceTable {
    /// The source; paths are relative to the folder of the configuration file.
    pub(crate) fn resolve(self, folder: &Path) -> ServiceSource {
        let overlays = match self.overlay {
            Paths::None => Vec::new(),
            Paths::One(path) => vec![path],
            Paths::Many(paths) => paths,
        };
        let is_named = self.namespace.is_some();
        let namespace = self.namespace.unwrap_or_else(|| namespace_of(&self.file));
        let calls = CallSettings {
            timeout_ms: self.timeout_ms,
            retry: self.retry,
            patience_ms: self.patience_ms,
            circuit: self.circuit,
            outputs: self.outputs,
            redaction: self.redaction,
            key_argument: self.key_argument,
        };
        ServiceSource {
            is_named,
            calls: SourceCalls::of(&namespace, calls, self.operations),
            overlays: overlays.iter().map(|it| folder.join(it)).collect(),
            filters: Filters {
                include: self.include,
                exclude: self.exclude,
            },
            scopes: self.scopes.0,
            credentials: resolved(self.credentials, folder),
            headers: resolved(self.headers, folder),
            pass_headers: self.pass_headers.0,
            ..ServiceSource::at(namespace, folder.join(&self.file), self.url)
        }
    }
}

/// The sources of secrets; paths are relative to the folder.
pub(super) fn resolved(
    secrets: BTreeMap<String, SecretValue>,
    folder: &Path,
) -> BTreeMap<String, SecretSource> {
    let secrets = secrets.into_iter().map(|(name, secret)| {
        let source = match secret {
            SecretValue::Inline(text) => SecretSource::Inline(Hidden(Secret::new(text))),
            SecretValue::Env { env } => SecretSource::Variable(env),
            SecretValue::File { file } => SecretSource::File(folder.join(file)),
        };
        (name, source)
    });
    secrets.collect()
}
