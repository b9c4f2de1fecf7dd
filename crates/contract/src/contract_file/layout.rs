//! The order of the members in the text of a document, and duplicate members, which a parsed
//! document does not keep. It has names and positions only; the values are in the document.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::problem::Problems;
use super::{MEMBER_NAME_LIMIT, rule};
use crate::path::Path;
use panpan_failure::pointer::steps;

/// The structure of a document in the order of its text.
#[derive(Debug)]
pub(super) enum Layout {
    /// A scalar.
    Leaf,
    /// A list.
    List(Vec<Layout>),
    /// An object.
    Object(Box<Members>),
}

/// The members of an object.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// Each with its position in the file; of duplicates, the last.
    numbered: BTreeMap<String, (u32, Layout)>,
    duplicates: Vec<String>,
}

impl Layout {
    /// The layout of a document that was already parsed.
    pub(super) fn of(bytes: &[u8]) -> Self {
        serde_json::from_slice(bytes).unwrap_or(Layout::Leaf)
    }

    /// The position of a pointer, as numbers that sort in the order of the file. A missing value
    /// has the position of the innermost existing value around it.
    pub(super) fn position(&self, pointer: &str) -> Vec<u32> {
        let mut position = Vec::new();
        let mut here = self;
        for step in steps(pointer) {
            let Some((number, next)) = here.step(&step) else {
                break;
            };
            position.push(number);
            here = next;
        }
        position
    }

    fn step(&self, step: &str) -> Option<(u32, &Layout)> {
        match self {
            Layout::Leaf => None,
            Layout::List(items) => {
                let number: u32 = step.parse().ok()?;
                Some((number, items.get(number as usize)?))
            }
            Layout::Object(members) => {
                let (number, member) = members.numbered.get(step)?;
                Some((*number, member))
            }
        }
    }

    /// Reports duplicate and overlong names. Returns `false` if a name is overlong.
    pub(super) fn check(&self, problems: &mut Problems<'_>) -> bool {
        self.check_at(&Path::TOP, problems)
    }

    fn check_at(&self, path: &Path<'_>, problems: &mut Problems<'_>) -> bool {
        match self {
            Layout::Leaf => true,
            Layout::List(items) => {
                let items = items.iter().enumerate();
                items.fold(true, |is_valid, (index, item)| {
                    item.check_at(&path.index(index), problems) && is_valid
                })
            }
            Layout::Object(members) => members.check_at(path, problems),
        }
    }
}

impl Members {
    fn check_at(&self, path: &Path<'_>, problems: &mut Problems<'_>) -> bool {
        let mut is_valid = true;
        for (name, (_, member)) in &self.numbered {
            if name.len() > MEMBER_NAME_LIMIT {
                problems.note(path, rule::FILE_MEMBER_NAME, overlong(name.len()));
                is_valid = false;
            } else {
                is_valid &= member.check_at(&path.name(name), problems);
            }
        }
        let duplicates = self.duplicates.iter();
        for name in duplicates.filter(|name| name.len() <= MEMBER_NAME_LIMIT) {
            let message = "duplicate member; keep one of them";
            problems.note(&path.name(name), rule::FILE_REPEATED_MEMBER, message);
        }
        is_valid
    }

    fn insert(&mut self, name: String, member: Layout) {
        let number = u32::try_from(self.numbered.len() + self.duplicates.len()).unwrap_or(u32::MAX);
        if self.numbered.contains_key(&name) {
            self.duplicates.push(name.clone());
        }
        self.numbered.insert(name, (number, member));
    }
}

fn overlong(bytes: usize) -> String {
    format!(
        "a member name has {bytes} bytes, the limit is {MEMBER_NAME_LIMIT}; write a shorter name"
    )
}

impl<'de> Deserialize<'de> for Layout {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LayoutVisitor)
    }
}

struct LayoutVisitor;

impl<'de> Visitor<'de> for LayoutVisitor {
    type Value = Layout;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Layout, E> {
        Ok(Layout::Leaf)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Layout, E> {
        Ok(Layout::Leaf)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Layout, E> {
        Ok(Layout::Leaf)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Layout, E> {
        Ok(Layout::Leaf)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Layout, E> {
        Ok(Layout::Leaf)
    }

    fn visit_unit<E: Error>(self) -> Result<Layout, E> {
        Ok(Layout::Leaf)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Layout, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element()? {
            items.push(item);
        }
        Ok(Layout::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Layout, A::Error> {
        let mut members = Members::default();
        while let Some((name, member)) = map.next_entry()? {
            members.insert(name, member);
        }
        Ok(Layout::Object(Box::new(members)))
    }
}
