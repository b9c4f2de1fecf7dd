//! What is told about an import, as lines for people.

use super::report::{Group, Report, Written};
use crate::cli::terminal::visible;

/// How many names, statuses and addresses are told; the others are counted.
const TOLD: usize = 6;
/// How many kinds of warnings are told.
const GROUPS_TOLD: usize = 8;
/// How many places of a warning are told.
const POINTERS_TOLD: usize = 2;

/// The lines.
pub(super) fn text(report: &Report) -> String {
    let mut lines = vec![headline(report), String::new()];
    lines.extend(operations(report));
    lines.extend(failures(report));
    lines.extend(service(report));
    lines.extend(credentials(report));
    lines.extend(warnings(report));
    lines.push(String::new());
    lines.extend(next(report));
    let lines: Vec<String> = lines.iter().map(|line| visible(line)).collect();
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
        counted(report.changes, "change", "changes"),
        counted(report.streams, "stream", "streams"),
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

const LEFT_OUT: &str = "left out by the filters";
const HIDDEN: &str = "of them hidden from callers by overlays";

/// Those that are declared, and who declares none: an overlay can say what is missing.
fn failures(report: &Report) -> Vec<String> {
    let silent = report.silent.len();
    let declaring = amount(report.operations - silent, "operation", "operations");
    let statuses = report.statuses.iter().map(|(status, count)| match status {
        Some(status) => format!("{status} ×{count}"),
        None => format!("no status ×{count}"),
    });
    let mut values = Vec::new();
    if report.failures > 0 {
        let statuses = first_of(statuses.collect()).join(", ");
        values.push(format!(
            "{} declared by {declaring}: {statuses}",
            report.failures
        ));
    }
    if silent > 0 {
        let operations = amount(silent, "operation", "operations");
        values.push(format!("none declared by {operations}:"));
        let names = first_of(report.silent.clone());
        values.extend(names.iter().map(|name| format!("  {name}")));
    }
    labelled("failures", values)
}

fn service(report: &Report) -> Vec<String> {
    let mut values = first_of(report.servers.clone());
    if values.is_empty() && report.homeless > 0 {
        values.push("the document does not say where it is".to_owned());
    } else {
        let (one, many) = ("operation without", "operations without");
        let homeless = counted(report.homeless, one, many);
        values.extend(homeless.map(|it| format!("{it} a whole address")));
    }
    labelled("service", values)
}

fn credentials(report: &Report) -> Vec<String> {
    if report.credentials.is_empty() {
        return Vec::new();
    }
    let names = first_of(report.credentials.clone()).join(", ");
    let variable = report.secret_variable();
    labelled(
        "credentials",
        vec![format!("{names}: in {variable} or panpan.toml")],
    )
}

fn warnings(report: &Report) -> Vec<String> {
    let count = match (report.warnings, report.is_cut_off) {
        (0, _) => "none".to_owned(),
        (count, true) => format!("more than {count}"),
        (count, false) => count.to_string(),
    };
    let mut lines = labelled("warnings", vec![count]);
    lines.extend(report.groups.iter().take(GROUPS_TOLD).flat_map(group));
    if let Some(more @ 1..) = report.groups.len().checked_sub(GROUPS_TOLD) {
        let more = amount(more, "other kind", "other kinds");
        lines.push(format!("    and {more} of warnings, which --json shows"));
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
    let told = group.pointers.iter().take(POINTERS_TOLD);
    lines.extend(told.map(|pointer| format!("      {pointer}")));
    if let Some(more @ 1..) = count.checked_sub(POINTERS_TOLD) {
        lines.push(format!("      and {more} more"));
    }
    lines
}

fn next(report: &Report) -> Vec<String> {
    let done = match &report.written {
        Written::Nowhere => return vec!["no contract was written".to_owned()],
        Written::File(path) => format!("written to {}; next", path.display()),
        Written::Printed | Written::Inside(_) => "next, with the contract in a file".to_owned(),
    };
    let address = match report.homeless {
        0 => "",
        _ => ", URL being where the service is",
    };
    vec![
        format!("{done}{address}:"),
        format!("  {}", report.command()),
    ]
}

/// Lines of which the first begins with what they are about.
fn labelled(label: &str, values: Vec<String>) -> Vec<String> {
    let labels = std::iter::once(label).chain(std::iter::repeat(""));
    let lines = labels.zip(values);
    lines
        .map(|(label, value)| format!("  {label:<13}{value}"))
        .collect()
}

/// An amount of something, where there is any.
fn counted(count: usize, one: &str, many: &str) -> Option<String> {
    (count > 0).then(|| amount(count, one, many))
}

fn amount(count: usize, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    }
}

/// The first few, and how many more there are.
fn first_of(mut texts: Vec<String>) -> Vec<String> {
    let more = texts.len().saturating_sub(TOLD);
    texts.truncate(TOLD);
    texts.extend((more > 0).then(|| format!("and {more} more")));
    texts
}
