//! The report about an import, as text.

use super::report::{Destination, Group, Report};
use crate::cli::error::first_of;
use crate::cli::terminal::escape;
use crate::log::amount;
use crate::sources::secret_variable;

/// How many names, statuses and URLs are listed; the rest are counted.
const ITEMS_LISTED: usize = 6;
/// How many kinds of warnings are listed.
const GROUPS_LISTED: usize = 8;
/// How many pointers of a warning are listed.
const POINTERS_LISTED: usize = 2;

/// The report as text, without control characters.
pub(super) fn text(report: &Report) -> String {
    let mut lines = vec![headline(report), String::new()];
    lines.extend(operations(report));
    lines.extend(failures(report));
    lines.extend(service(report));
    lines.extend(credentials(report));
    lines.extend(warnings(report));
    lines.push(String::new());
    lines.extend(next(report));
    let lines: Vec<String> = lines.iter().map(|line| escape(line)).collect();
    lines.join("\n")
}

fn headline(report: &Report) -> String {
    let (source, namespace) = (&report.source, &report.namespace);
    let version = report.version.as_deref().unwrap_or("without a version");
    format!("{} {version}, from {source} as {namespace}/…", report.name)
}

fn operations(report: &Report) -> Vec<String> {
    let kinds = [
        counted(report.queries, "query", "queries"),
        counted(report.changes, "mutation", "mutations"),
        counted(report.streams, "subscription", "subscriptions"),
    ];
    let kinds: Vec<String> = kinds.into_iter().flatten().collect();
    let total = match kinds.as_slice() {
        [] => "none".to_owned(),
        kinds => format!("{}: {}", report.operations, kinds.join(", ")),
    };
    let mut values = vec![total];
    values.extend(counted(report.left_out, LEFT_OUT, LEFT_OUT));
    values.extend(counted(report.hidden, HIDDEN, HIDDEN));
    labelled("operations", values)
}

const LEFT_OUT: &str = "skipped by the filters";
const HIDDEN: &str = "hidden from callers by overlays";

/// The declared failures, and the operations without any: an overlay can declare theirs.
fn failures(report: &Report) -> Vec<String> {
    let without = report.without_failures.len();
    let declaring = amount(report.operations - without, "operation", "operations");
    let statuses = report.statuses.iter().map(|(status, count)| match status {
        Some(status) => format!("{status} ×{count}"),
        None => format!("no status ×{count}"),
    });
    let mut values = Vec::new();
    if report.failures > 0 {
        let statuses = first_of(statuses, ITEMS_LISTED).join(", ");
        values.push(format!(
            "{} declared by {declaring}: {statuses}",
            report.failures
        ));
    }
    if without > 0 {
        let operations = amount(without, "operation", "operations");
        values.push(format!("none declared by {operations}:"));
        let names = first_of(&report.without_failures, ITEMS_LISTED);
        values.extend(names.iter().map(|name| format!("  {name}")));
    }
    labelled("failures", values)
}

fn service(report: &Report) -> Vec<String> {
    let mut values = first_of(&report.servers, ITEMS_LISTED);
    if values.is_empty() && report.without_url > 0 {
        values.push("no URL in the document".to_owned());
    } else {
        let (one, many) = ("operation without", "operations without");
        let without_url = counted(report.without_url, one, many);
        values.extend(without_url.map(|it| format!("{it} an absolute URL")));
    }
    labelled("service", values)
}

fn credentials(report: &Report) -> Vec<String> {
    if report.credentials.is_empty() {
        return Vec::new();
    }
    let names = first_of(&report.credentials, ITEMS_LISTED).join(", ");
    let variable = secret_variable(&report.namespace);
    labelled(
        "credentials",
        vec![format!(
            "{names}: set {variable}, or credentials in panpan.toml"
        )],
    )
}

fn warnings(report: &Report) -> Vec<String> {
    let count = match (report.warnings, report.is_cut_off) {
        (0, _) => "none".to_owned(),
        (count, true) => format!("more than {count}"),
        (count, false) => count.to_string(),
    };
    let mut lines = labelled("warnings", vec![count]);
    lines.extend(report.groups.iter().take(GROUPS_LISTED).flat_map(group));
    if let Some(more @ 1..) = report.groups.len().checked_sub(GROUPS_LISTED) {
        let more = amount(more, "other kind", "other kinds");
        lines.push(format!("    and {more} of warnings; --json lists all"));
    }
    lines
}

fn group(group: &Group) -> Vec<String> {
    let count = group.pointers.len();
    let times = match count {
        1 => String::new(),
        _ => format!("{count} × "),
    };
    let mut lines = vec![format!("    {times}{}", group.message)];
    let listed = first_of(&group.pointers, POINTERS_LISTED).into_iter();
    lines.extend(listed.map(|pointer| format!("      {pointer}")));
    lines
}

fn next(report: &Report) -> Vec<String> {
    let done = match &report.destination {
        Destination::None => return vec!["no contract was written".to_owned()],
        Destination::File(path) => format!("wrote {}; serve it", path.display()),
        Destination::Stdout | Destination::Report(_) => "save the contract and serve it".to_owned(),
    };
    let url = match report.without_url {
        0 => "",
        _ => " with the URL of the service",
    };
    vec![format!("{done}{url}:"), format!("  {}", report.command())]
}

/// Lines, the first of them with a label.
fn labelled(label: &str, values: Vec<String>) -> Vec<String> {
    let labels = std::iter::once(label).chain(std::iter::repeat(""));
    let lines = labels.zip(values);
    lines
        .map(|(label, value)| format!("  {label:<13}{value}"))
        .collect()
}

/// An amount, or `None` for zero.
fn counted(count: usize, one: &str, many: &str) -> Option<String> {
    (count > 0).then(|| amount(count, one, many))
}
