//! Turns described services into operations: reads and imports files, applies overlays, binds URLs and credentials.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};

use panpan_contract::binding::HttpBinding;
use panpan_contract::contract_file::{self, ContractFile};
use panpan_contract::operation::{OperationName, Visibility};
use panpan_flow::WEBHOOK_SENDER;
use panpan_openapi::{
    DOCUMENT_BYTES_LIMIT, Filters, ImportOptions, Overlay, OverlayProblem, Summary,
    apply_matching_lines, apply_overlay, apply_to_shown, lines_beyond_shown, unmatched_lines,
};
use panpan_redact::Secret;
use panpan_runtime::{Builder, Credentials, Registration, Registry};
use panpan_upstream::header::{HeaderMap, HeaderName, HeaderValue};
use panpan_upstream::{
    Allowed, BindingError, BlockReason, Client, ClientSettings, Service, Url, check_url,
};
use serde_json::{Map, Value};

use super::error::{Lines, LoadError};
use super::output_schema::DefinitionSizes;
use super::{ServiceSource, Sources, read_overlay, secret_variable, secrets};
use crate::builtin::BuiltIns;
use crate::files::read_file;
use crate::log::amount;

/// The name of the secret for every security scheme without an entry.
const ANY_SCHEME: &str = "*";

/// The operations of all described services, and the settings of built-in operations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loaded {
    /// The operations of the services.
    pub(crate) registrations: Vec<Registration>,
    /// One line about each service.
    pub(crate) lines: Vec<String>,
    /// Parts of the descriptions that are invalid or not used.
    pub(crate) warnings: Vec<String>,
    /// Messages about services whose address panpan may not connect to, so that every call would fail.
    pub(crate) blocked: Vec<String>,
    /// Built-in operations that call other services, if they are enabled.
    pub(crate) outbound: Vec<Registration>,
    /// The other built-in operations.
    pub(crate) built_in: BuiltIns,
    /// Overlays for all operations.
    overlays: Vec<(PathBuf, Overlay)>,
    /// The names of the operations of the services.
    names: Vec<OperationName>,
}

type Register = fn(Builder, Client) -> Builder;

/// Built-in operations that call other services and are off by default.
const OUTBOUND: [(&str, Register); 1] = [("http/call", panpan_operations::http_call)];

impl Loaded {
    /// Applies the overlays for all operations to built-in operations and those of MCP servers.
    pub(crate) fn apply_overlays(&self, others: &mut Vec<Registration>) {
        for (_, overlay) in &self.overlays {
            let operations = std::mem::take(others).into_iter();
            let changed = operations.map(|it| it.with(|spec| apply_to_shown(spec, overlay)));
            *others = changed.collect();
        }
    }

    /// Checks that each entry of the overlays for all operations matches one. `others` are the operations that do not
    /// come from services.
    pub(crate) fn check_overlays(&self, others: &[Registration]) -> Result<(), LoadError> {
        let others = others.iter().map(|it| &it.spec().name);
        for (path, overlay) in &self.overlays {
            let names = self.names.iter();
            let mut problems = unmatched_lines(overlay, names.clone().chain(others.clone()));
            // An entry with changes that only services support has to match an operation of a service.
            let no_service = unmatched_lines(overlay, names);
            let no_service: Vec<&str> = no_service.iter().map(|it| entry_of(&it.pointer)).collect();
            let for_services = lines_beyond_shown(overlay, others.clone());
            problems.extend(
                for_services
                    .into_iter()
                    .filter(|it| no_service.contains(&&*it.pointer)),
            );
            if !problems.is_empty() {
                return Err(LoadError::Unmatched(path.clone(), Lines::of(problems)));
            }
        }
        Ok(())
    }
}

/// The pointer of an overlay entry, from the pointer of its `match`.
fn entry_of(pointer: &str) -> &str {
    pointer.strip_suffix("/match").unwrap_or(pointer)
}

impl Sources {
    /// Loads all services; stops at the first error.
    pub(crate) fn load(&self) -> Result<Loaded, LoadError> {
        let mut loaded = Loaded {
            built_in: self.built_in.select(self.has_any()),
            ..Loaded::default()
        };
        for path in &self.overlays {
            loaded
                .overlays
                .push((path.clone(), read_overlay_file(path)?));
        }
        for source in &self.services {
            source.load(self, &mut loaded)?;
        }
        for name in BTreeSet::from_iter(&self.enabled) {
            let outbound = OUTBOUND.iter().find(|(known, _)| known == name);
            let (_, register) = outbound.ok_or_else(|| LoadError::Enabled(name.clone()))?;
            let client = self.client(None)?;
            let registered = register(Registry::builder(), client);
            loaded.outbound.extend(registered.into_registrations());
        }
        let is_enabled = self.enabled.iter().any(|name| name == WEBHOOK_SENDER);
        if self.sends_webhooks && !is_enabled {
            let sender = panpan_operations::http_call(Registry::builder(), self.client(None)?);
            let internal =
                |it: Registration| it.with(|spec| spec.visibility = Visibility::Internal);
            let sender = sender.into_registrations().into_iter().map(internal);
            loaded.outbound.extend(sender);
        }
        Ok(loaded)
    }

    /// The allowed private hosts and networks.
    fn allowed(&self) -> Result<Allowed, LoadError> {
        let hosts = self.allowed_hosts.iter().map(String::as_str);
        Ok(Allowed::parse(hosts)?)
    }

    /// The HTTP client of a service. The URL that the operator configured is allowed even if it is private, but only
    /// for this service: another service cannot redirect to it.
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
        let mut contract = self.contract(loaded)?;
        for spec in &mut contract.operations {
            self.calls.all.apply(spec);
        }
        for path in &self.overlays {
            let applied = apply_overlay(&mut contract.operations, &read_overlay_file(path)?);
            applied.map_err(|problems| unmatched(path, problems))?;
        }
        for (path, overlay) in &loaded.overlays {
            let applied = apply_matching_lines(&mut contract.operations, overlay);
            applied.map_err(|problems| unmatched(path, problems))?;
        }
        let names = contract.operations.iter().map(|it| &it.name);
        let unmatched = self.calls.unmatched(names.clone());
        if !unmatched.is_empty() {
            let namespace = self.namespace.clone();
            return Err(LoadError::NoOperation(namespace, Lines::of(unmatched)));
        }
        loaded.names.extend(names.cloned());
        for spec in &mut contract.operations {
            self.calls.apply_by_name(spec);
            spec.access_control.require(&self.scopes.0);
        }
        let passed = self.pass_headers.0.iter();
        let service = Service {
            name: self.namespace.clone(),
            base: self.url.clone(),
            client: all.client(self.url.as_ref())?,
            credentials: self.read_credentials()?,
            headers: self.read_headers()?,
            passed: passed
                .map(|(from, to)| (from.to_string(), to.clone()))
                .collect(),
            circuit: self.calls.circuit(),
        };
        loaded.blocked.extend(self.blocked(&contract, all)?);
        self.drop_large_output_schemas(&mut contract, loaded);
        let specs = contract.operations.iter();
        let specs = specs.map(|spec| contract.self_contained_operation(spec));
        let unbound =
            |errors: Vec<BindingError>| LoadError::Unbound(self.file.clone(), Lines::of(errors));
        let operations = service.operations(specs).map_err(unbound)?;
        loaded.registrations.extend(operations);
        Ok(())
    }

    /// A message for each server of the description that panpan may not connect to.
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
            let can_be_allowed = !matches!(blocked.reason, BlockReason::Credentials | BlockReason::Scheme);
            let advice = match can_be_allowed {
                true => format!(
                    ". If {origin} is yours, allow it with --openapi {namespace}={file}@{server}, or with url = \"{server}\" in its table"
                ),
                false => String::new(),
            };
            Some(format!("calls to {namespace} will fail: {blocked}{advice}"))
        });
        Ok(refused.collect())
    }

    /// The contract of the service, imported if the file is an OpenAPI document.
    fn contract(&self, loaded: &mut Loaded) -> Result<ContractFile, LoadError> {
        let bytes = read_bytes(&self.file)?;
        let document = panpan_openapi::parse(&bytes)
            .map_err(|error| LoadError::Unparsed(self.file.clone(), error))?;
        if is_contract(&document) {
            let mut contract = contract_file::check(&bytes)
                .map_err(|problems| LoadError::Contract(self.file.clone(), Lines::of(problems)))?;
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
            filters: Filters {
                include: self.include.clone(),
                exclude: self.exclude.clone(),
            },
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

    /// Moves the operations of a contract into the configured namespace: it replaces their namespace, or is put in
    /// front of it if there are several.
    fn rename(&self, contract: &mut ContractFile) -> Result<(), LoadError> {
        let operations = &contract.operations;
        let namespaces: BTreeSet<&str> = operations.iter().map(|it| it.name.namespace()).collect();
        let has_one_namespace = namespaces.len() == 1;
        for spec in &mut contract.operations {
            let name = spec.name.as_str();
            let rest = match name.split_once('/') {
                Some((_, rest)) if has_one_namespace => rest,
                _ => name,
            };
            let renamed = OperationName::new(&format!("{}/{rest}", self.namespace));
            spec.name = renamed.map_err(|error| {
                LoadError::Contract(self.file.clone(), Lines::of([error.to_string()]))
            })?;
        }
        Ok(())
    }

    /// Replaces output schemas above the size limit by the empty schema.
    fn drop_large_output_schemas(&self, contract: &mut ContractFile, loaded: &mut Loaded) {
        let sizes = DefinitionSizes::of(&contract.definitions);
        let operations = contract.operations.iter_mut();
        for spec in operations.filter(|it| sizes.exceed_limit(&it.output_schema)) {
            spec.output_schema = Value::Object(Map::new());
            let (file, name) = (self.file.display(), &spec.name);
            loaded.warnings.push(format!(
                "{file}: {name}: output schema exceeds 32 KiB and was replaced by {{}}"
            ));
        }
    }

    /// The line about the service.
    fn line(&self, operations: usize, summary: Option<Summary>) -> String {
        let (namespace, file) = (&self.namespace, self.file.display());
        let operations = amount(operations, "operation", "operations");
        let line = format!("{namespace}: {operations} from {file}");
        let failures =
            summary.map(|it| amount(it.failures, "declared failure", "declared failures"));
        failures.map_or(line.clone(), |failures| format!("{line}, {failures}"))
    }

    fn read_credentials(&self) -> Result<Credentials, LoadError> {
        let mut secrets = secrets(&self.namespace, &self.credentials)?;
        let any = env::var(secret_variable(&self.namespace)).ok();
        let is_set = |it: &String| !it.is_empty() && !self.credentials.contains_key(ANY_SCHEME);
        secrets.extend(
            any.filter(is_set)
                .map(|it| (ANY_SCHEME.to_owned(), Secret::new(it))),
        );
        Ok(Credentials::from_iter(secrets))
    }

    fn read_headers(&self) -> Result<HeaderMap, LoadError> {
        let mut headers = HeaderMap::new();
        for (name, secret) in secrets(&self.namespace, &self.headers)? {
            let parsed = HeaderName::from_bytes(name.as_bytes()).ok();
            let value = HeaderValue::from_str(secret.expose()).ok();
            let (Some(parsed), Some(mut value)) = (parsed, value) else {
                let namespace = self.namespace.clone();
                return Err(LoadError::Header { name, namespace });
            };
            value.set_sensitive(true);
            headers.insert(parsed, value);
        }
        Ok(headers)
    }
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, LoadError> {
    read_file(path, DOCUMENT_BYTES_LIMIT)
        .map_err(|error| LoadError::Unreadable(path.to_owned(), error))
}

/// Whether a document is a contract file.
fn is_contract(document: &Value) -> bool {
    document.get("openapi").is_none() && document.get("operations").is_some()
}

fn read_overlay_file(path: &Path) -> Result<Overlay, LoadError> {
    let bytes = read_bytes(path)?;
    read_overlay(path, &bytes).map_err(|error| LoadError::Overlay(path.to_owned(), error))
}

fn unmatched(path: &Path, problems: Vec<OverlayProblem>) -> LoadError {
    LoadError::Unmatched(path.to_owned(), Lines::of(problems))
}
