//! What is imported of a document, and under which name.

use serde::{Deserialize, Serialize};

use crate::pattern::fits;

/// How a document is imported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// The first step of every operation's name.
    pub namespace: String,
    /// Which operations are imported.
    pub filters: Filters,
}

impl ImportOptions {
    /// Everything, under this namespace.
    pub fn new(namespace: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            filters: Filters::default(),
        }
    }
}

/// Which operations are imported: those that are included and not excluded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Filters {
    /// An operation has to fit one line of every list that has lines.
    pub include: Selection,
    /// An operation must not fit any line.
    pub exclude: Selection,
}

/// Lists of what operations are chosen by. In all of them, `*` stands for any text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Selection {
    /// Tags.
    pub tags: Vec<String>,
    /// Paths, as the document writes them.
    pub paths: Vec<String>,
    /// Methods, in any case.
    pub methods: Vec<String>,
    /// The ids of operations.
    pub operation_ids: Vec<String>,
}

/// What an operation is chosen by.
#[derive(Clone, Debug)]
pub(super) struct Candidate<'a> {
    pub(super) tags: Vec<&'a str>,
    pub(super) path: &'a str,
    pub(super) method: &'a str,
    pub(super) id: Option<&'a str>,
}

impl Filters {
    /// Whether an operation is imported.
    pub(super) fn admit(&self, candidate: &Candidate<'_>) -> bool {
        self.include.lists(candidate).all(|list| list.admits())
            && !self.exclude.lists(candidate).any(|list| list.fits())
    }

    /// The lines that fit no operation of the document.
    pub(super) fn idle<'f>(
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
            let is_idle = !candidates.iter().any(fits);
            is_idle.then_some((name, line))
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

    fn lists<'s>(&'s self, candidate: &'s Candidate<'_>) -> impl Iterator<Item = List<'s>> {
        let lines = self.lines().into_iter().map(|(_, lines)| lines);
        let lists = lines.zip(candidate.values());
        lists.map(|(lines, values)| List { lines, values })
    }
}

impl<'a> Candidate<'a> {
    /// What each list of a selection is compared with.
    fn values(&self) -> [Vec<&'a str>; 4] {
        [
            self.tags.clone(),
            vec![self.path],
            vec![self.method],
            self.id.into_iter().collect(),
        ]
    }
}

struct List<'s> {
    lines: &'s [String],
    values: Vec<&'s str>,
}

impl List<'_> {
    fn fits(&self) -> bool {
        let fits = |line: &String| self.values.iter().any(|value| matches(line, value));
        self.lines.iter().any(fits)
    }

    fn admits(&self) -> bool {
        self.lines.is_empty() || self.fits()
    }
}

/// Methods are written in capitals by us and in any way by people.
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
    fn an_operation_is_included_by_every_list_and_excluded_by_any() {
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
            assert_eq!(include.admit(&CANDIDATE()), expected, "{selection:?}");
            let lines = selection.lines();
            let is_fitting = lines.iter().any(|(_, lines)| !lines.is_empty()) && expected;
            if is_fitting {
                let exclude = Filters {
                    exclude: selection,
                    ..Filters::default()
                };
                assert!(!exclude.admit(&CANDIDATE()));
            }
        }
    }

    #[test]
    fn lines_that_fit_nothing_are_told() {
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
        let idle: Vec<_> = filters.idle(&[CANDIDATE()]).collect();
        assert_eq!(idle, [("tags", "cats"), ("methods", "put")]);
    }
}
