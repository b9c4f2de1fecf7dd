//! A document that is to be transformed, read and measured: how large, how deep, how long its lists are.
//!
//! Does not know what is done with it.

use std::borrow::Cow;
use std::io;

use panpan_failure::pointer::joined;
use panpan_failure::read::document_within;
use serde_json::Value;

use super::problem::Problem;

/// The largest document, in bytes of JSON; what comes out is held to the same.
pub(super) const BYTES_LIMIT: usize = 10_485_760;
/// How deep lists and objects may be nested.
pub(super) const DEPTH_LIMIT: usize = 100;
/// The most items of one list.
pub(super) const ITEMS_LIMIT: usize = 100_000;
/// So many bytes of text are as much work as one value.
const BYTES_PER_STEP: usize = 16;

/// A document within the limits.
#[derive(Debug)]
pub(super) struct Document<'a> {
    pub(super) value: Cow<'a, Value>,
    /// In bytes, as it was given; what was given as a value counts as compact JSON.
    pub(super) bytes: usize,
    pub(super) depth: usize,
    /// How much work it is to look at everything once.
    pub(super) steps: usize,
}

impl<'a> Document<'a> {
    /// Reads a parameter: a value, or a string with JSON text.
    pub(super) fn read(given: &'a Value, parameter: &'static str) -> Result<Self, Problem> {
        let text = given.as_str();
        let value = match text {
            Some(text) => Cow::Owned(parsed(text, parameter)?),
            None => Cow::Borrowed(given),
        };
        let measured = Measured::of(&value, parameter)?;
        let bytes = match text {
            Some(text) => text.len(),
            None => bytes_within(&value, BYTES_LIMIT).ok_or(Problem::TooLarge { parameter })?,
        };
        Ok(Self {
            value,
            bytes,
            depth: measured.depth,
            steps: measured.values + bytes / BYTES_PER_STEP,
        })
    }
}

fn parsed(text: &str, parameter: &'static str) -> Result<Value, Problem> {
    document_within(text.as_bytes(), BYTES_LIMIT)
        .map_err(|error| Problem::Unreadable { parameter, error })
}

/// How many bytes of compact JSON a value takes; nothing when they are more than allowed.
pub(super) fn bytes_within(value: &Value, limit: usize) -> Option<usize> {
    let mut counter = Counter { left: limit };
    serde_json::to_writer(&mut counter, value).ok()?;
    Some(limit - counter.left)
}

/// Counts what is written, and refuses what is too much before it is made.
struct Counter {
    left: usize,
}

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.left.checked_sub(bytes.len());
        self.left = left.ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug, Default)]
struct Measured {
    values: usize,
    depth: usize,
}

impl Measured {
    fn of(value: &Value, parameter: &'static str) -> Result<Self, Problem> {
        let mut measured = Self::default();
        let refused = measured.look(value, 0);
        refused.map_or(Ok(measured), |refused| Err(refused.problem(parameter)))
    }

    /// Looks at a value inside so many others. Goes no deeper than is allowed, and so may call itself.
    fn look(&mut self, value: &Value, inside: usize) -> Option<Refused> {
        self.values += 1;
        let depth = inside + 1;
        let has_members = value.is_array() || value.is_object();
        if has_members && depth > DEPTH_LIMIT {
            return Some(Refused::default());
        }
        if has_members {
            self.depth = self.depth.max(depth);
        }
        match value {
            Value::Array(items) if items.len() > ITEMS_LIMIT => Some(Refused {
                items: Some(items.len()),
                steps: Vec::new(),
            }),
            Value::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
                let refused = self.look(item, depth)?;
                Some(refused.inside(index.to_string()))
            }),
            Value::Object(members) => members.iter().find_map(|(name, member)| {
                let refused = self.look(member, depth)?;
                Some(refused.inside(name.clone()))
            }),
            _ => None,
        }
    }
}

/// Where a limit is broken: by a list that is too long, or by depth.
#[derive(Debug, Default)]
struct Refused {
    items: Option<usize>,
    /// From the inside to the outside.
    steps: Vec<String>,
}

impl Refused {
    fn inside(mut self, step: String) -> Self {
        self.steps.push(step);
        self
    }

    fn problem(self, parameter: &'static str) -> Problem {
        let top = joined("", parameter);
        let steps = self.steps.iter().rev();
        let pointer = steps.fold(top, |pointer, step| joined(&pointer, step));
        match self.items {
            Some(items) => Problem::LongList { pointer, items },
            None => Problem::TooDeep { pointer },
        }
    }
}
