//! The report about an import, as data: all facts, counted and grouped.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use panpan_contract::binding::HttpBinding;
use panpan_contract::contract_file::ContractFile;
use panpan_contract::operation::{OperationSpec, OperationType, Visibility};
use panpan_failure::StatusPattern;
use panpan_openapi::{Import, WARNINGS_LIMIT, Warning};
use panpan_upstream::Url;
use serde_json::{Value, json};

/// The report about an import.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) name: String,
    pub(super) version: Option<String>,
    /// The file that was read, as messages name it.
    pub(super) source: String,
    pub(super) namespace: String,
    pub(super) operations: usize,
    pub(super) queries: usize,
    pub(super) changes: usize,
    pub(super) streams: usize,
    /// Operations that the filters skipped.
    pub(super) left_out: usize,
    /// Operations that an overlay hides from callers.
    pub(super) hidden: usize,
    pub(super) failures: usize,
    /// Declared failures by status, the most frequent first; those without a status come from an overlay.
    pub(super) statuses: Vec<(Option<StatusPattern>, usize)>,
    /// The operations that declare no failure.
    pub(super) without_failures: Vec<String>,
    /// The URLs of the service in the document.
    pub(super) servers: Vec<String>,
    /// How many operations have no absolute URL.
    pub(super) without_url: usize,
    /// The security schemes that operations need.
    pub(super) credentials: Vec<String>,
    pub(super) warnings: usize,
    /// Whether there were more warnings than the import keeps.
    pub(super) is_cut_off: bool,
    /// The warnings by message, the most frequent first.
    pub(super) groups: Vec<Group>,
    pub(super) destination: Destination,
}

/// Warnings with the same message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) message: String,
    pub(super) pointers: Vec<String>,
}

/// Where the contract was written.
#[derive(Debug)]
pub(super) enum Destination {
    /// It was not written.
    None,
    Stdout,
    File(PathBuf),
    /// Into the report.
    Report(ContractFile),
}

impl Report {
    /// The report, before the contract is written.
    pub(super) fn of(import: &Import, namespace: &str, source: &str) -> Self {
        let operations = import.operations.as_slice();
        let of_type = |op_type| operations.iter().filter(|it| it.op_type == op_type).count();
        let bindings: Vec<HttpBinding> = operations.iter().filter_map(binding).collect();
        let has_no_url = |it: &&HttpBinding| !it.servers.iter().any(|it| is_absolute(it));
        let without_failures = operations.iter().filter(|it| it.error_schemas.is_empty());
        Self {
            name: import.service.name.clone(),
            version: import.service.version.clone(),
            source: source.to_owned(),
            namespace: namespace.to_owned(),
            operations: operations.len(),
            queries: of_type(OperationType::Query),
            changes: of_type(OperationType::Mutation),
            streams: of_type(OperationType::Subscription),
            left_out: import.summary.left_out,
            hidden: operations.iter().filter(|it| is_hidden(it)).count(),
            failures: operations.iter().map(|it| it.error_schemas.len()).sum(),
            statuses: statuses(operations),
            without_failures: without_failures.map(|it| it.name.to_string()).collect(),
            servers: servers(&bindings),
            without_url: bindings.iter().filter(has_no_url).count(),
            credentials: credentials(&bindings),
            warnings: import.warnings.len().min(WARNINGS_LIMIT),
            is_cut_off: import.warnings.len() > WARNINGS_LIMIT,
            groups: grouped(&import.warnings),
            destination: Destination::None,
        }
    }

    /// The command that serves the contract.
    pub(super) fn command(&self) -> String {
        let file = match &self.destination {
            Destination::File(path) => path.display().to_string(),
            _ => ContractFile::FILE_NAME.to_owned(),
        };
        let url = match self.without_url {
            0 => "",
            _ => "@URL",
        };
        let source = format!("{}={file}{url}", self.namespace);
        match source.contains([' ', '\'', '"', '$', '&', ';', '(', ')']) {
            true => format!("panpan serve --openapi '{}'", source.replace('\'', r"'\''")),
            false => format!("panpan serve --openapi {source}"),
        }
    }

    /// The report as JSON.
    pub(super) fn to_json(&self) -> Value {
        let statuses = self.statuses.iter();
        let statuses = statuses.map(|(status, count)| json!({"status": status, "count": count}));
        let groups = self.groups.iter();
        let groups = groups.map(|it| json!({"message": it.message, "pointers": it.pointers}));
        let mut object = json!({
            "service": {"name": self.name, "version": self.version},
            "namespace": self.namespace,
            "operations": {
                "count": self.operations, "queries": self.queries, "changes": self.changes,
                "streams": self.streams, "left_out": self.left_out, "hidden": self.hidden,
            },
            "failures": {
                "count": self.failures, "statuses": Value::from_iter(statuses),
                "none_declared_by": self.without_failures,
            },
            "servers": self.servers,
            "without_address": self.without_url,
            "credentials": self.credentials,
            "warnings": {
                "count": self.warnings, "is_cut_off": self.is_cut_off, "groups": Value::from_iter(groups),
            },
            "next": self.command(),
        });
        match &self.destination {
            Destination::File(path) => object["output"] = path.display().to_string().into(),
            Destination::Report(contract) => object["contract"] = json!(contract),
            Destination::None | Destination::Stdout => {}
        }
        object
    }
}

fn binding(spec: &OperationSpec) -> Option<HttpBinding> {
    HttpBinding::of(spec)?.ok()
}

fn is_absolute(url: &str) -> bool {
    Url::parse(url).is_ok_and(|it| it.has_host())
}

fn is_hidden(spec: &OperationSpec) -> bool {
    spec.visibility == Visibility::Internal
}

fn statuses(operations: &[OperationSpec]) -> Vec<(Option<StatusPattern>, usize)> {
    let declared = operations.iter().flat_map(|it| &it.error_schemas);
    let mut counts = BTreeMap::new();
    for definition in declared {
        *counts.entry(definition.http_status).or_default() += 1;
    }
    let mut counts: Vec<(Option<StatusPattern>, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(status, count)| (std::cmp::Reverse(*count), status.is_none()));
    counts
}

/// The URLs in the order of the document, without duplicates.
fn servers(bindings: &[HttpBinding]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let all = bindings.iter().flat_map(|it| &it.servers);
    all.filter(|it| seen.insert(it.as_str())).cloned().collect()
}

fn credentials(bindings: &[HttpBinding]) -> Vec<String> {
    let schemes = bindings.iter().flat_map(|it| it.security.iter().flatten());
    let names: BTreeSet<&str> = schemes.map(|it| it.name.as_str()).collect();
    names.into_iter().map(str::to_owned).collect()
}

fn grouped(warnings: &[Warning]) -> Vec<Group> {
    let mut indexes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut groups: Vec<Group> = Vec::new();
    // The warning after the limit only says that there were more.
    for warning in warnings.iter().take(WARNINGS_LIMIT) {
        let index = *indexes.entry(&warning.message).or_insert(groups.len());
        if index == groups.len() {
            groups.push(Group {
                message: warning.message.clone(),
                pointers: Vec::new(),
            });
        }
        groups[index].pointers.push(warning.pointer.clone());
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.pointers.len()));
    groups
}
