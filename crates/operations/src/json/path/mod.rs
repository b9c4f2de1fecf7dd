//! A path into a document, by RFC 9535, that is neither too long to be read nor too much work to follow.

mod outline;
mod regex;

use serde_json::Value;
use serde_json_path::JsonPath;

use self::outline::Outline;
use self::regex::{RegexProblem, bounded};
use super::document::Document;
use super::problem::Problem;

/// The longest path, in bytes.
pub(super) const LENGTH_LIMIT: usize = 1000;
/// How deep brackets and parentheses may be nested: the library reads a nested filter twice, and what
/// is nested in it four times.
pub(super) const NESTING_LIMIT: usize = 6;
/// How many values a query may look at.
pub(super) const WORK_LIMIT: u64 = 20_000_000;
/// How many members are named when a path leads nowhere, and how many characters of each.
const NAMES_SHOWN: usize = 10;
const NAME_CHARACTERS_SHOWN: usize = 40;

/// A path, and the parameter it was given as.
#[derive(Debug)]
pub(super) struct Path {
    query: JsonPath,
    outline: Outline,
    text: String,
    pointer: &'static str,
}

impl Path {
    /// Reads the path a parameter holds.
    pub(super) fn read(text: &str, pointer: &'static str) -> Result<Self, Problem> {
        let refused = |position: Option<usize>, problem: String| Problem::Path {
            pointer,
            path: text.to_owned(),
            position,
            problem,
        };
        if text.len() > LENGTH_LIMIT {
            let problem = format!("it is longer than {LENGTH_LIMIT} bytes");
            return Err(refused(None, problem));
        }
        if nesting(text) > NESTING_LIMIT {
            let problem = format!("it is nested more than {NESTING_LIMIT} levels deep");
            return Err(refused(None, problem));
        }
        let query = JsonPath::parse(text).map_err(|error| {
            let before = text.get(..error.position()).unwrap_or(text);
            let position = before.chars().count();
            refused(Some(position), unreadable(text, position, error.message()))
        })?;
        Ok(Self {
            query,
            outline: Outline::of(text),
            text: text.to_owned(),
            pointer,
        })
    }

    /// Whether it selects one value at most, whatever the data.
    pub(super) fn is_singular(&self) -> bool {
        self.outline.is_singular()
    }

    /// Refuses data on which following the path could be too much work. Everything it selects has to
    /// be part of that data.
    pub(super) fn affordable(&self, document: &Document<'_>) -> Result<(), Problem> {
        let work = self.outline.work(document.steps, document.depth);
        if work > WORK_LIMIT as f64 {
            return Err(Problem::TooMuchWork {
                pointer: self.pointer,
                steps: work as u64,
                limit: WORK_LIMIT,
            });
        }
        Ok(())
    }

    /// What it selects in each of these parts of the data, in order; `each` is told of one part at a
    /// time, so that it can stop.
    pub(super) fn select<'v, T>(
        &self,
        parts: impl IntoIterator<Item = &'v Value>,
        mut each: impl FnMut(Vec<&'v Value>) -> Result<T, Problem>,
    ) -> Result<Vec<T>, Problem> {
        let parts = parts.into_iter();
        let made = bounded(|| {
            parts
                .map(|part| each(self.query.query(part).all()))
                .collect()
        });
        made.map_err(|problem| self.unmatchable(&problem))?
    }

    /// The one value a singular path selects.
    pub(super) fn value<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.query.query(value).first()
    }

    /// Why a singular path selects nothing.
    pub(super) fn not_found(&self, top: &Value) -> Problem {
        let starts = self.text.char_indices().rev();
        let mut beginnings = starts
            .filter(|(_, character)| matches!(character, '.' | '['))
            .map(|(end, _)| self.text[..end].trim_end());
        let found = beginnings.find_map(|beginning| {
            let query = JsonPath::parse(beginning).ok()?;
            let value = query.query(top).first()?;
            Some((beginning, value))
        });
        let (there, value) = found.unwrap_or(("$", top));
        Problem::NotFound {
            path: self.text.clone(),
            there: there.to_owned(),
            what: described(value),
        }
    }

    fn unmatchable(&self, problem: &RegexProblem) -> Problem {
        Problem::Path {
            pointer: self.pointer,
            path: self.text.clone(),
            position: None,
            problem: problem.to_string(),
        }
    }
}

/// How deep brackets and parentheses are nested; those in strings do not count.
fn nesting(text: &str) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    let mut quoted = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quoted, character) {
            (Some(_), '\\') => drop(characters.next()),
            (Some(quote), _) if quote == character => quoted = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quoted = Some(character),
            (None, '[' | '(') => {
                open += 1;
                deepest = deepest.max(open);
            }
            (None, ']' | ')') => open = open.saturating_sub(1),
            (None, _) => {}
        }
    }
    deepest
}

fn unreadable(text: &str, position: usize, message: &str) -> String {
    if !text.starts_with('$') {
        return "it has to start with $, the top of the data".to_owned();
    }
    let message = match message {
        // What the library says when it knows nothing better.
        "parser error" => "what follows cannot be read",
        name if name.contains("must start with") => {
            "a name has to start with a letter or _; write others as ['name']"
        }
        other => other,
    };
    format!("after character {position}, {message}")
}

fn described(value: &Value) -> String {
    match value {
        Value::Object(members) if members.is_empty() => "an empty object".to_owned(),
        Value::Object(members) => {
            let names = members.keys().take(NAMES_SHOWN);
            let names: Vec<String> = names.map(|name| shortened(name)).collect();
            let more = match members.len() - names.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("an object with {}{more}", names.join(", "))
        }
        Value::Array(items) => format!("a list of {} items", items.len()),
        scalar => panpan_failure::read::type_name(scalar).to_owned(),
    }
}

fn shortened(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARACTERS_SHOWN) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}
