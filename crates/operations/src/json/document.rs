//! Reads a document and checks its limits: bytes, depth and items of a list.

use std::borrow::Cow;
use std::io;

use panpan_failure::pointer::joined;
use panpan_failure::read::document_within;
use serde_json::Value;

use super::problem::Problem;

/// The largest document or result, in bytes of JSON.
pub(super) const BYTES_LIMIT: usize = 10_485_760;
/// The maximum depth of lists and objects.
pub(super) const DEPTH_LIMIT: usize = 100;
/// The maximum number of items of a list.
pub(super) const ITEMS_LIMIT: usize = 100_000;
/// How many bytes of text count as one step of work.
const BYTES_PER_STEP: usize = 16;

/// A document within the limits.
#[derive(Debug)]
pub(super) struct Document<'a> {
    pub(super) value: Cow<'a, Value>,
    /// The size as it was sent; of a value, the size of its compact JSON.
    pub(super) bytes: usize,
    pub(super) depth: usize,
    /// The work to visit everything once.
    pub(super) steps: usize,
}

impl<'a> Document<'a> {
    /// Reads a parameter: a value, or a string with JSON text.
    pub(super) fn read(argument: &'a Value, parameter: &'static str) -> Result<Self, Problem> {
        let text = argument.as_str();
        let value = match text {
            Some(text) => Cow::Owned(parsed(text, parameter)?),
            None => Cow::Borrowed(argument),
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

/// The size of a value as compact JSON; `None` if it exceeds the limit.
pub(super) fn bytes_within(value: &Value, limit: usize) -> Option<usize> {
    let mut counter = Counter { left: limit };
    serde_json::to_writer(&mut counter, value).ok()?;
    Some(limit - counter.left)
}

/// A writer that counts bytes and fails beyond its limit.
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
        let exceeded = measured.visit(value, 0);
        exceeded.map_or(Ok(measured), |exceeded| Err(exceeded.problem(parameter)))
    }

    /// Visits a value at this depth. Recursion ends at the depth limit.
    fn visit(&mut self, value: &Value, inside: usize) -> Option<Exceeded> {
        self.values += 1;
        let depth = inside + 1;
        let has_members = value.is_array() || value.is_object();
        if has_members && depth > DEPTH_LIMIT {
            return Some(Exceeded::default());
        }
        if has_members {
            self.depth = self.depth.max(depth);
        }
        match value {
            Value::Array(items) if items.len() > ITEMS_LIMIT => Some(Exceeded {
                items: Some(items.len()),
                steps: Vec::new(),
            }),
            Value::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
                let exceeded = self.visit(item, depth)?;
                Some(exceeded.inside(index.to_string()))
            }),
            Value::Object(members) => members.iter().find_map(|(name, member)| {
                let exceeded = self.visit(member, depth)?;
                Some(exceeded.inside(name.clone()))
            }),
            _ => None,
        }
    }
}

/// An exceeded limit: the length of a list, or the depth.
#[derive(Debug, Default)]
struct Exceeded {
    items: Option<usize>,
    /// The path from the inside to the outside.
    steps: Vec<String>,
}

impl Exceeded {
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
