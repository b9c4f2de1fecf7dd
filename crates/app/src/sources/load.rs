//! From sources to operations: files are read, imported, overlaid and bound to where their services are.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use panpan_contract::binding::HttpBinding;
use panpan_contract::contract_file::{self, ContractFile};
use panpan_contract::operation::OperationName;
use panpan_openapi::{
    ImportOptions, Overlay, OverlayProblem, Summary, apply_matching_lines, apply_overlay,
    apply_to_shown, lines_beyond_shown, unmatched_lines,
};
use panpan_redact::Secret;
use panpan_runtime::{Builder, Credentials, Registration, Registry};
use panpan_upstream::header::{HeaderMap, HeaderName, HeaderValue};
use panpan_upstream::{
    Allowed, BindingError, BlockReason, Client, ClientSettings, Service, Url, check_url,
};
use serde_json::{Map, Value};

use super::bounded::Lengths;
use super::error::{Listed, LoadError};
use super::written::SECRET_VARIABLE_PREFIX;
use super::{ServiceSource, Sources, read_overlay, secret};
use crate::builtin::Served;

/// The name of the secret that stands for every security scheme without one.
const ANY: &str = "*";

/// What came of all descriptions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loaded {
    /// The operations.
    registrations: Vec<Registration>,
    /// One line for people about each source.
    pub(crate) lines: Vec<String>,
    /// What was not understood, or is not used.
    pub(crate) warnings: Vec<String>,
    /// Which addresses of descriptions may not be connected to, so that every call would fail.
    pub(crate) blocked: Vec<String>,
    /// Built-in operations that reach out and were switched on.
    pub(crate) reaching_out: Vec<Registration>,
    /// Which other built-in operations are served.
    pub(crate) built_in: Served,
    /// Overlays for every operation.
    overlays: Vec<(PathBuf, Overlay)>,
    /// The names of the operations of the descriptions.
    described: Vec<OperationName>,
}

type Register = fn(Builder, Client) -> Builder;

/// Built-in operations that reach out, each off until it is named.
const BUILT_IN: [(&str, Register); 1] = [("http/call", panpan_operations::http_call)];

impl Loaded {
    /// The operations.
    pub(crate) fn registrations(&self) -> &[Registration] {
        &self.registrations
    }

    /// Applies the overlays for every operation to those that come from no description: what is hidden is
    /// hidden whatever its origin.
    pub(crate) fn show(&self, others: &mut Vec<Registration>) {
        for (_, overlay) in &self.overlays {
            let shown = std::mem::take(others).into_iter();
            let shown = shown.map(|it| it.with(|spec| apply_to_shown(spec, overlay)));
            *others = shown.collect();
        }
    }

    /// What is wrong with the overlays for every operation, when these are all the others there are.
    pub(crate) fn misfits(&self, others: &[Registration]) -> Result<(), LoadError> {
        let others = others.iter().map(|it| &it.spec().name);
        for (path, overlay) in &self.overlays {
            let described = self.described.iter();
            let mut problems = unmatched_lines(overlay, described.clone().chain(others.clone()));
            // A line that says more is meant for a service: it has to match something of one.
            let of_services = unmatched_lines(overlay, described);
            let of_services: Vec<&str> =
                of_services.iter().map(|it| line_of(&it.pointer)).collect();
            let beyond = lines_beyond_shown(overlay, others.clone());
            problems.extend(
                beyond
                    .into_iter()
                    .filter(|it| of_services.contains(&&*it.pointer)),
            );
            if !problems.is_empty() {
                return Err(LoadError::Misfit(path.clone(), Listed::of(problems)));
            }
        }
        Ok(())
    }
}

fn line_of(pointer: &str) -> &str {
    pointer.strip_suffix("/match").unwrap_or(pointer)
}

impl Sources {
    /// The operations of all sources, or the first reason why there are none.
    pub(crate) fn load(&self) -> Result<Loaded, LoadError> {
        let mut loaded = Loaded {
            built_in: self.built_in.served(self.has_any()),
            ..Loaded::default()
        };
        for path in &self.overlays {
            loaded.overlays.push((path.clone(), overlay_of(path)?));
        }
        for source in &self.services {
            source.load(self, &mut loaded)?;
        }
        for name in BTreeSet::from_iter(&self.enabled) {
            let built_in = BUILT_IN.iter().find(|(known, _)| known == name);
            let (_, register) = built_in.ok_or_else(|| LoadError::Enabled(name.clone()))?;
            let client = self.client(None)?;
            let registered = register(Registry::builder(), client);
            loaded.reaching_out.extend(registered.into_registrations());
        }
        Ok(loaded)
    }

    /// The hosts and networks that the configuration allows.
    fn allowed(&self) -> Result<Allowed, LoadError> {
        let hosts = self.allowed_hosts.iter().map(String::as_str);
        Ok(Allowed::parse(hosts)?)
    }

    /// What asks a service. What the operator named may be asked wherever it is, but by its own
    /// operations only: no service leads to another by a redirect.
    fn client(&self, url: Option<&Url>) -> Result<Client, LoadError> {
        let mut allowed = self.allowed()?;
        if let Some(url) = url {
            allowed.allow_url(url);
        }
        Ok(Client::new(ClientSettings {
            allowed,
            ..ClientSettings::default()
        })?)
    }
}

impl ServiceSource {
    fn load(&self, all: &Sources, loaded: &mut Loaded) -> Result<(), LoadError> {
        let mut contract = self.described(loaded)?;
        for spec in &mut contract.operations {
            self.calls.apply_to_all(spec);
        }
        for path in &self.overlays {
            let applied = apply_overlay(&mut contract.operations, &overlay_of(path)?);
            applied.map_err(|problems| misfit(path, problems))?;
        }
        for (path, overlay) in &loaded.overlays {
            let applied = apply_matching_lines(&mut contract.operations, overlay);
            applied.map_err(|problems| misfit(path, problems))?;
        }
        let names = contract.operations.iter().map(|it| &it.name);
        let idle = self.calls.idle(names.clone());
        if !idle.is_empty() {
            let namespace = self.namespace.clone();
            return Err(LoadError::NoOperation(namespace, Listed::of(idle)));
        }
        loaded.described.extend(names.cloned());
        for spec in &mut contract.operations {
            self.calls.apply_by_name(spec);
            spec.access_control.require(&self.scopes);
        }
        let service = Service {
            name: self.namespace.clone(),
            base: self.url.clone(),
            client: all.client(self.url.as_ref())?,
            credentials: self.secrets()?,
            headers: self.sent_headers()?,
            passed: self.passed(),
            circuit: self.calls.circuit(),
        };
        loaded.blocked.extend(self.blocked(&contract, all)?);
        self.open_long_outputs(&mut contract, loaded);
        let specs = contract.operations.iter();
        let specs = specs.map(|spec| contract.self_contained_operation(spec));
        let unbound =
            |errors: Vec<BindingError>| LoadError::Unbound(self.file.clone(), Listed::of(errors));
        let operations = service.operations(specs).map_err(unbound)?;
        loaded.registrations.extend(operations);
        Ok(())
    }

    /// A line for each server of the description that calls are not allowed to reach.
    fn blocked(&self, contract: &ContractFile, all: &Sources) -> Result<Vec<String>, LoadError> {
        if self.url.is_some() {
            return Ok(Vec::new());
        }
        let allowed = all.allowed()?;
        let bindings = contract.operations.iter().filter_map(HttpBinding::of);
        let servers: BTreeSet<String> = bindings
            .flatten()
            .filter_map(|binding| binding.servers.into_iter().next())
            .collect();
        let (namespace, file) = (&self.namespace, self.file.display());
        let refused = servers.iter().filter_map(|server| {
            let url = Url::parse(server).ok()?;
            let blocked = check_url(&url, &allowed).err()?;
            let origin = url.origin().ascii_serialization();
            let has_remedy = !matches!(blocked.reason, BlockReason::Credentials | BlockReason::Scheme);
            let remedy = match has_remedy {
                true => format!(
                    ". If {origin} is yours, say so: --openapi {namespace}={file}@{server}, or url = \"{server}\" in its table"
                ),
                false => String::new(),
            };
            Some(format!("calls of {namespace} will fail: {blocked}{remedy}"))
        });
        Ok(refused.collect())
    }

    /// The contract of the service, imported if its description is an OpenAPI document.
    fn described(&self, loaded: &mut Loaded) -> Result<ContractFile, LoadError> {
        let bytes = bytes_of(&self.file)?;
        let document = panpan_openapi::parse(&bytes)
            .map_err(|error| LoadError::Unparsed(self.file.clone(), error))?;
        if is_contract(&document) {
            let contract = contract_file::check(&bytes);
            let listed = |problems| LoadError::Contract(self.file.clone(), Listed::of(problems));
            let mut contract =
                contract.map_err(|problems: Vec<contract_file::Problem>| listed(problems))?;
            if self.is_named {
                self.rename(&mut contract)?;
            }
            loaded
                .lines
                .push(self.line(contract.operations.len(), None));
            return Ok(contract);
        }
        let options = ImportOptions {
            namespace: self.namespace.clone(),
            filters: self.filters.clone(),
        };
        let import = panpan_openapi::import(&document, &options)
            .map_err(|error| LoadError::Unimported(self.file.clone(), error))?;
        let file = self.file.display();
        let warnings = import.warnings.iter();
        loaded
            .warnings
            .extend(warnings.map(|it| format!("{file}#{}: {}", it.pointer, it.message)));
        loaded
            .lines
            .push(self.line(import.operations.len(), Some(import.summary)));
        Ok(import.into_contract())
    }

    /// Puts the operations of a contract under the name the operator chose: in place of their namespace, or
    /// before it where they have several.
    fn rename(&self, contract: &mut ContractFile) -> Result<(), LoadError> {
        let operations = &contract.operations;
        let namespaces: BTreeSet<&str> = operations.iter().map(|it| it.name.namespace()).collect();
        let is_one = namespaces.len() == 1;
        for spec in &mut contract.operations {
            let name = spec.name.as_str();
            let rest = match name.split_once('/') {
                Some((_, rest)) if is_one => rest,
                _ => name,
            };
            let renamed = OperationName::new(&format!("{}/{rest}", self.namespace));
            spec.name = renamed.map_err(|error| {
                LoadError::Contract(self.file.clone(), Listed::of([error.to_string()]))
            })?;
        }
        Ok(())
    }

    /// Has outputs of which there would be too much to say be anything.
    fn open_long_outputs(&self, contract: &mut ContractFile, loaded: &mut Loaded) {
        let lengths = Lengths::of(&contract.definitions);
        let operations = contract.operations.iter_mut();
        for spec in operations.filter(|it| lengths.is_too_long(&it.output_schema)) {
            spec.output_schema = Value::Object(Map::new());
            let (file, name) = (self.file.display(), &spec.name);
            loaded.warnings.push(format!(
                "{file}: {name}: there is too much to say about its output, which may be anything"
            ));
        }
    }

    fn line(&self, operations: usize, summary: Option<Summary>) -> String {
        let (namespace, file) = (&self.namespace, self.file.display());
        let of = format!("{namespace}: {operations} operations from {file}");
        match summary {
            Some(summary) => format!("{of}, {} failures declared", summary.failures),
            None => of,
        }
    }

    fn secrets(&self) -> Result<Credentials, LoadError> {
        let mut secrets = Vec::new();
        for (name, source) in &self.credentials {
            secrets.push((name.clone(), secret(&self.namespace, name, source)?));
        }
        if !self.credentials.contains_key(ANY) {
            let variable = format!(
                "{SECRET_VARIABLE_PREFIX}{}",
                self.namespace.to_ascii_uppercase().replace('-', "_")
            );
            if let Some(secret) = env::var(variable).ok().filter(|it| !it.is_empty()) {
                secrets.push((ANY.to_owned(), Secret::new(secret)));
            }
        }
        Ok(Credentials::from_iter(secrets))
    }

    fn passed(&self) -> Vec<(String, HeaderName)> {
        let passed = self.pass_headers.iter();
        let passed = passed.map(|(from, to)| (from.as_str().to_owned(), to.clone()));
        passed.collect()
    }

    fn sent_headers(&self) -> Result<HeaderMap, LoadError> {
        let mut headers = HeaderMap::new();
        for (name, source) in &self.headers {
            let secret = secret(&self.namespace, name, source)?;
            let parsed = HeaderName::from_bytes(name.as_bytes()).ok();
            let value = HeaderValue::from_str(secret.expose()).ok();
            let (Some(parsed), Some(mut value)) = (parsed, value) else {
                let (name, namespace) = (name.clone(), self.namespace.clone());
                return Err(LoadError::Header { name, namespace });
            };
            value.set_sensitive(true);
            headers.insert(parsed, value);
        }
        Ok(headers)
    }
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, LoadError> {
    fs::read(path).map_err(|error| LoadError::Unreadable(path.to_owned(), error))
}

/// A contract says which version of contracts it is.
fn is_contract(document: &Value) -> bool {
    document.get("openapi").is_none() && document.get("operations").is_some()
}

fn overlay_of(path: &Path) -> Result<Overlay, LoadError> {
    let bytes = bytes_of(path)?;
    read_overlay(path, &bytes).map_err(|error| LoadError::Overlay(path.to_owned(), error))
}

fn misfit(path: &Path, problems: Vec<OverlayProblem>) -> LoadError {
    LoadError::Misfit(path.to_owned(), Listed::of(problems))
}
