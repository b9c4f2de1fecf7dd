//! The order in which a document was written, and what its parser forgets: members written twice.
//!
//! Holds names and numbers of places only; the values are in the document itself.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::path::{Path, steps};
use super::problem::Problems;
use super::{MEMBER_NAME_LIMIT, rule};

/// The shape of a document in the order it was written.
#[derive(Debug)]
pub(super) enum Layout {
    /// Neither a list nor an object.
    Leaf,
    /// A list.
    List(Vec<Layout>),
    /// An object.
    Object(Box<Members>),
}

/// The members of an object.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// Each with its number in the order of the file; of repeated ones, the last.
    numbered: BTreeMap<String, (u32, Layout)>,
    repeated: Vec<String>,
}

impl Layout {
    /// The layout of a document that has already been read once.
    pub(super) fn of(bytes: &[u8]) -> Self {
        serde_json::from_slice(bytes).unwrap_or(Layout::Leaf)
    }

    /// Where a pointer stands, as numbers that sort in the order of the file. What does not exist
    /// stands where the innermost existing thing around it does.
    pub(super) fn place(&self, pointer: &str) -> Vec<u32> {
        let mut place = Vec::new();
        let mut here = self;
        for step in steps(pointer) {
            let Some((number, next)) = here.step(&step) else {
                break;
            };
            place.push(number);
            here = next;
        }
        place
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

    /// Notes repeated and overlong names; false when there are overlong ones.
    pub(super) fn check(&self, problems: &mut Problems<'_>) -> bool {
        self.check_at(&Path::top(), problems)
    }

    fn check_at(&self, path: &Path<'_>, problems: &mut Problems<'_>) -> bool {
        match self {
            Layout::Leaf => true,
            Layout::List(items) => {
                let items = items.iter().enumerate();
                items.fold(true, |bearable, (index, item)| {
                    item.check_at(&path.index(index), problems) && bearable
                })
            }
            Layout::Object(members) => members.check_at(path, problems),
        }
    }
}

impl Members {
    fn check_at(&self, path: &Path<'_>, problems: &mut Problems<'_>) -> bool {
        let mut bearable = true;
        for (name, (_, member)) in &self.numbered {
            if name.len() > MEMBER_NAME_LIMIT {
                problems.note(path, rule::FILE_MEMBER_NAME, overlong(name.len()));
                bearable = false;
            } else {
                bearable &= member.check_at(&path.name(name), problems);
            }
        }
        let repeated = self.repeated.iter();
        for name in repeated.filter(|name| name.len() <= MEMBER_NAME_LIMIT) {
            let message = "is written more than once in this object; keep one of them";
            problems.note(&path.name(name), rule::FILE_REPEATED_MEMBER, message);
        }
        bearable
    }

    fn insert(&mut self, name: String, member: Layout) {
        let number = u32::try_from(self.numbered.len() + self.repeated.len()).unwrap_or(u32::MAX);
        if self.numbered.contains_key(&name) {
            self.repeated.push(name.clone());
        }
        self.numbered.insert(name, (number, member));
    }
}

fn overlong(bytes: usize) -> String {
    format!(
        "a member here has a name of {bytes} bytes; write a name of at most {MEMBER_NAME_LIMIT}"
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
