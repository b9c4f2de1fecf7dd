//! The dependencies between crates are those drawn in ARCHITECTURE.md, no more and no fewer.

use std::collections::{BTreeMap, BTreeSet};

use crate::repository::{Repository, crate_of};

/// What precedes the drawing.
const HEADING: &str = "### Crate dependencies";

type Arrows = BTreeMap<String, BTreeSet<String>>;

pub(crate) fn check(repository: &Repository) -> Vec<String> {
    let (drawn, real) = (drawn(repository), real(repository));
    let mut findings = Vec::new();
    for name in drawn.keys().chain(real.keys()).collect::<BTreeSet<_>>() {
        let none = BTreeSet::new();
        let drawn = drawn.get(name).unwrap_or(&none);
        let real = real.get(name).unwrap_or(&none);
        for missing in real.difference(drawn) {
            findings.push(format!("{name} depends on {missing}, which is not drawn"));
        }
        for gone in drawn.difference(real) {
            findings.push(format!("{name} is drawn to depend on {gone}, and does not"));
        }
    }
    findings
}

/// Lines such as `failure → catalogue, redact` in the block below the heading.
fn drawn(repository: &Repository) -> Arrows {
    let text = repository.file("ARCHITECTURE.md");
    let block = text.split_once(HEADING).map(|(_, after)| after);
    let block = block
        .and_then(|after| after.split("```").nth(1))
        .unwrap_or_default();
    let lines = block.lines().filter_map(|line| line.split_once('→'));
    let arrows = lines.map(|(from, to)| {
        let to = to.split(',').map(|name| name.trim().to_owned());
        (
            from.trim().to_owned(),
            to.filter(|name| !name.is_empty()).collect(),
        )
    });
    arrows.collect()
}

/// The panpan crates in the `[dependencies]` of each manifest.
fn real(repository: &Repository) -> Arrows {
    let manifests = repository
        .ending_with("Cargo.toml")
        .filter(|(path, _)| path.starts_with("crates/"));
    let arrows = manifests.map(|(path, text)| {
        let section = text
            .split_once("[dependencies]")
            .map_or("", |(_, after)| after);
        let section = section.split("\n[").next().unwrap_or_default();
        let names = section
            .lines()
            .filter_map(|line| line.strip_prefix("panpan-"));
        let names = names.filter_map(|line| line.split(['.', ' ']).next());
        (
            crate_of(path).to_owned(),
            names.map(str::to_owned).collect(),
        )
    });
    arrows
        .filter(|(_, names): &(String, BTreeSet<String>)| !names.is_empty())
        .collect()
}

#[test]
fn an_arrow_that_is_not_drawn_is_noticed() {
    crate::notices(check, "crates/redact/Cargo.toml", |text| {
        *text = text.replace(
            "[dependencies]\n",
            "[dependencies]\npanpan-runtime.workspace = true\n",
        );
    });
}
