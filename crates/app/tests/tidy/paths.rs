//! A path in ARCHITECTURE.md, CONTRIBUTING.md or SECURITY.md leads to a file or folder.

use std::path::Path;

use crate::repository::Repository;

/// Where the documents look for a path, from the root of the repository.
const ROOTS: [&str; 2] = ["", "crates"];

pub(crate) fn check(repository: &Repository) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let exists = |path: &str| ROOTS.iter().any(|it| root.join(it).join(path).exists());
    let mut findings = Vec::new();
    for document in ["ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"] {
        let text = repository.file(document);
        let quoted = text.split('`').skip(1).step_by(2);
        let missing = quoted.filter(|it| is_path(it) && !exists(it));
        findings.extend(missing.map(|it| format!("{document}: there is no {it}")));
    }
    findings
}

/// Whether a quoted text is a path below the source folders of a crate, `benches` or `conformance`.
fn is_path(quoted: &str) -> bool {
    let is_made_of = |it: char| it.is_ascii_alphanumeric() || "_-./".contains(it);
    let folders = ["/src/", "/tests/", "benches/", "conformance/"];
    quoted.chars().all(is_made_of) && folders.iter().any(|it| quoted.contains(it))
}

#[test]
fn a_path_that_leads_nowhere_is_noticed() {
    crate::notices(check, "ARCHITECTURE.md", |text| {
        *text = text.replace("`surfaces/src/gateway.rs`", "`surfaces/src/desk.rs`");
    });
}
