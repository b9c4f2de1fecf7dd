//! Options of an import: the namespace and the filters.

use serde::{Deserialize, Serialize};

use crate::pattern::fits;

/// Options of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// The first part of every operation's name.
    pub namespace: String,
    /// Which operations are imported.
    pub filters: Filters,
}

impl ImportOptions {
    /// Imports everything under this namespace.
    pub fn new(namespace: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            filters: Filters::default(),
        }
    }
}

/// Selects operations: those that are included and not excluded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Filters {
    /// An operation must match one line of every list that is not empty.
    pub include: Selection,
    /// An operation must not match any line.
    pub exclude: Selection,
}

/// Lists that operations are selected by. In all of them, `*` matches any text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Selection {
    /// Tags.
    pub tags: Vec<String>,
    /// Paths, as in the document.
    pub paths: Vec<String>,
    /// Methods, in upper or lower case.
    pub methods: Vec<String>,
    /// Operation ids.
    pub operation_ids: Vec<String>,
}

/// The properties of an operation that filters compare.
#[derive(Clone, Debug)]
pub(super) struct Candidate<'a> {
    pub(super) tags: Vec<&'a str>,
    pub(super) path: &'a str,
    pub(super) method: &'a str,
    pub(super) id: Option<&'a str>,
}

impl Filters {
    /// Whether an operation is imported.
    pub(super) fn includes(&self, candidate: &Candidate<'_>) -> bool {
        let mut include = self.include.lines().into_iter().zip(candidate.values());
        let mut exclude = self.exclude.lines().into_iter().zip(candidate.values());
        include.all(|((_, lines), values)| lines.is_empty() || any_fits(lines, &values))
            && !exclude.any(|((_, lines), values)| any_fits(lines, &values))
    }

    /// The filter lines that match no operation of the document.
    pub(super) fn unmatched<'f>(
        &'f self,
        candidates: &[Candidate<'_>],
    ) -> impl Iterator<Item = (&'static str, &'f str)> {
        let lines = [&self.include, &self.exclude].into_iter();
        let lines = lines.flat_map(|selection| selection.lines().into_iter().enumerate());
        let lines = lines.flat_map(|(number, (name, lines))| {
            lines.iter().map(move |line| (number, name, line.as_str()))
        });
        lines.filter_map(|(number, name, line)| {
            let fits = |it: &Candidate<'_>| it.values()[number].iter().any(|it| matches(line, it));
            let is_unused = !candidates.iter().any(fits);
            is_unused.then_some((name, line))
        })
    }
}

impl Selection {
    fn lines(&self) -> [(&'static str, &[String]); 4] {
        [
            ("tags", &self.tags),
            ("paths", &self.paths),
            ("methods", &self.methods),
            ("operation_ids", &self.operation_ids),
        ]
    }
}

impl<'a> Candidate<'a> {
    /// The values that each list of a selection is compared with.
    fn values(&self) -> [Vec<&'a str>; 4] {
        [
            self.tags.clone(),
            vec![self.path],
            vec![self.method],
            self.id.into_iter().collect(),
        ]
    }
}

fn any_fits(lines: &[String], values: &[&str]) -> bool {
    let fits = |line: &String| values.iter().any(|value| matches(line, value));
    lines.iter().any(fits)
}

/// Methods match in upper or lower case.
fn matches(line: &str, value: &str) -> bool {
    fits(line, value) || line.eq_ignore_ascii_case(value) && is_method(value)
}

fn is_method(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CANDIDATE: fn() -> Candidate<'static> = || Candidate {
        tags: vec!["pets", "shop"],
        path: "/pets/{id}",
        method: "GET",
        id: Some("getPet"),
    };

    fn list(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn an_operation_must_match_every_include_list_and_no_exclude_list() {
        for (tags, paths, methods, ids, expected) in [
            (&[][..], &[][..], &[][..], &[][..], true),
            (&["shop"], &[], &[], &[], true),
            (&["other"], &[], &[], &[], false),
            (&["other", "p*"], &["/pets*"], &["get"], &["get*"], true),
            (&["shop"], &["/shops*"], &[], &[], false),
            (&[], &[], &["POST"], &[], false),
            (&[], &[], &[], &["*Pet"], true),
            (&[], &[], &[], &["GETPET"], false),
        ] {
            let selection = Selection {
                tags: list(tags),
                paths: list(paths),
                methods: list(methods),
                operation_ids: list(ids),
            };
            let include = Filters {
                include: selection.clone(),
                ..Filters::default()
            };
            assert_eq!(include.includes(&CANDIDATE()), expected, "{selection:?}");
            let lines = selection.lines();
            let is_fitting = lines.iter().any(|(_, lines)| !lines.is_empty()) && expected;
            if is_fitting {
                let exclude = Filters {
                    exclude: selection,
                    ..Filters::default()
                };
                assert!(!exclude.includes(&CANDIDATE()));
            }
        }
    }

    #[test]
    fn filter_lines_that_match_nothing_are_reported() {
        let filters = Filters {
            include: Selection {
                tags: list(&["pets", "cats"]),
                ..Selection::default()
            },
            exclude: Selection {
                methods: list(&["get", "put"]),
                ..Selection::default()
            },
        };
        let unmatched: Vec<_> = filters.unmatched(&[CANDIDATE()]).collect();
        assert_eq!(unmatched, [("tags", "cats"), ("methods", "put")]);
    }
}
