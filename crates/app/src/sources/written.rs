//! The long form of a source, as a table in the file.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use panpan_contract::circuit::CircuitRule;
use panpan_contract::operation::{CallSettings, Outputs, Redaction};
use panpan_contract::retry::RetryRule;
use panpan_openapi::{Filters, Selection};
use panpan_redact::Secret;
use panpan_surfaces::identity::{NameError, check_scopes};
use panpan_upstream::Url;
use panpan_upstream::header::{AUTHORIZATION, COOKIE, HOST, HeaderName};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::short::{is_service, named_after};
use super::{Hidden, SecretSource, ServiceSource, SourceCalls};

/// How a variable begins that holds the secret of a source: `PANPAN_CREDENTIAL_` and the namespace.
pub(crate) const SECRET_VARIABLE_PREFIX: &str = "PANPAN_CREDENTIAL_";

/// A table `[[openapi]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenService {
    file: PathBuf,
    namespace: Option<String>,
    #[serde(default, deserialize_with = "address")]
    url: Option<Url>,
    #[serde(default)]
    overlay: Several,
    #[serde(default)]
    scopes: Scopes,
    #[serde(default)]
    include: Selection,
    #[serde(default)]
    exclude: Selection,
    #[serde(default)]
    credentials: BTreeMap<String, WrittenSecret>,
    #[serde(default)]
    headers: BTreeMap<String, WrittenSecret>,
    #[serde(default)]
    pass_headers: Passed,
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

/// Scopes callers need. One that no token can hold would keep everybody out.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub(super) struct Scopes(pub(super) Vec<String>);

impl TryFrom<Vec<String>> for Scopes {
    type Error = NameError;

    fn try_from(written: Vec<String>) -> Result<Self, NameError> {
        check_scopes(&written)?;
        Ok(Self(written))
    }
}

/// Headers of callers, and the headers their values are sent in.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "BTreeMap<String, String>")]
struct Passed(Vec<(HeaderName, HeaderName)>);

impl TryFrom<BTreeMap<String, String>> for Passed {
    type Error = String;

    fn try_from(written: BTreeMap<String, String>) -> Result<Self, String> {
        let header = |name: &str| {
            let parsed = HeaderName::from_bytes(name.as_bytes());
            parsed.map_err(|_| format!("{name:?} is not the name of a header"))
        };
        let mut passed = Vec::new();
        for (from, to) in &written {
            let (from, to) = (header(from)?, header(to)?);
            if [AUTHORIZATION, COOKIE, HOST].contains(&from) {
                return Err(format!(
                    "{from} is for this server; callers use a header of their own"
                ));
            }
            passed.push((from, to));
        }
        Ok(Self(passed))
    }
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Url>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let url = Url::parse(&text).ok().filter(is_service);
    let expected =
        "expected an address such as https://api.example.com, without a name or password";
    url.map(Some).ok_or_else(|| D::Error::custom(expected))
}

#[derive(Debug, Default, Deserialize)]
#[serde(untagged)]
enum Several {
    #[default]
    None,
    One(PathBuf),
    Many(Vec<PathBuf>),
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a text, { env = \"VARIABLE\" } or { file = \"PATH\" }"
)]
pub(super) enum WrittenSecret {
    Said(String),
    Env { env: String },
    File { file: PathBuf },
}

impl std::fmt::Debug for WrittenSecret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("WrittenSecret")
    }
}

impl WrittenService {
    /// The source, its files seen from the folder of the file it stands in.
    pub(crate) fn seen_from(self, folder: &Path) -> ServiceSource {
        let overlays = match self.overlay {
            Several::None => Vec::new(),
            Several::One(path) => vec![path],
            Several::Many(paths) => paths,
        };
        let secrets = |secrets: BTreeMap<String, WrittenSecret>| {
            let secrets = secrets.into_iter();
            secrets
                .map(|(name, it)| (name, it.seen_from(folder)))
                .collect()
        };
        let is_named = self.namespace.is_some();
        let namespace = self.namespace.unwrap_or_else(|| named_after(&self.file));
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
            credentials: secrets(self.credentials),
            headers: secrets(self.headers),
            pass_headers: self.pass_headers.0,
            ..ServiceSource::at(namespace, folder.join(&self.file), self.url)
        }
    }
}

impl WrittenSecret {
    pub(super) fn seen_from(self, folder: &Path) -> SecretSource {
        match self {
            Self::Said(text) => SecretSource::Said(Hidden(Secret::new(text))),
            Self::Env { env } => SecretSource::Variable(env),
            Self::File { file } => SecretSource::File(folder.join(file)),
        }
    }
}
