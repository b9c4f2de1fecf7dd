//! JSONPath (RFC 9535) with limits for the length of the path and the work of the query.

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
/// The maximum nesting of brackets and parentheses: the library parses a nested filter twice, and a filter
/// nested in it four times.
pub(super) const NESTING_LIMIT: usize = 6;
/// How many values a query may visit.
pub(super) const WORK_LIMIT: u64 = 20_000_000;
/// How many members a failure names if a path selects nothing, and how many characters of each.
const NAMES_SHOWN: usize = 10;
const NAME_CHARACTERS_SHOWN: usize = 40;

/// A path, and the pointer of its parameter.
#[derive(Debug)]
pub(super) struct Path {
    query: JsonPath,
    outline: Outline,
    text: String,
    pointer: &'static str,
}

impl Path {
    /// Parses a path.
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
            refused(
                Some(position),
                syntax_error(text, position, error.message()),
            )
        })?;
        Ok(Self {
            query,
            outline: Outline::of(text),
            text: text.to_owned(),
            pointer,
        })
    }

    /// Whether it selects at most one value, whatever the data.
    pub(super) fn is_singular(&self) -> bool {
        self.outline.is_singular()
    }

    /// Refuses data on which the query could exceed the work limit.
    pub(super) fn check_work(&self, document: &Document<'_>) -> Result<(), Problem> {
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

    /// Selects values in each of these parts of the data, in order; `each` gets the values of one part, and can
    /// stop the selection.
    pub(super) fn select<'v, T>(
        &self,
        parts: impl IntoIterator<Item = &'v Value>,
        mut each: impl FnMut(Vec<&'v Value>) -> Result<T, Problem>,
    ) -> Result<Vec<T>, Problem> {
        let parts = parts.into_iter();
        let selected = bounded(|| {
            parts
                .map(|part| each(self.query.query(part).all()))
                .collect()
        });
        selected.map_err(|problem| self.regex_problem(&problem))?
    }

    /// The value that a singular path selects.
    pub(super) fn value<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.query.query(value).first()
    }

    /// Why a singular path selects nothing.
    pub(super) fn not_found(&self, top: &Value) -> Problem {
        let starts = self.text.char_indices().rev();
        let mut prefixes = starts
            .filter(|(_, character)| matches!(character, '.' | '['))
            .map(|(end, _)| self.text[..end].trim_end());
        let found = prefixes.find_map(|prefix| {
            let query = JsonPath::parse(prefix).ok()?;
            let value = query.query(top).first()?;
            Some((prefix, value))
        });
        let (there, value) = found.unwrap_or(("$", top));
        Problem::NotFound {
            path: self.text.clone(),
            there: there.to_owned(),
            what: described(value),
        }
    }

    fn regex_problem(&self, problem: &RegexProblem) -> Problem {
        Problem::Path {
            pointer: self.pointer,
            path: self.text.clone(),
            position: None,
            problem: problem.to_string(),
        }
    }
}

/// The nesting of brackets and parentheses, without those in strings.
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

fn syntax_error(text: &str, position: usize, message: &str) -> String {
    if !text.starts_with('$') {
        return "it has to start with $, the top of the data".to_owned();
    }
    let message = match message {
        // The generic message of the library.
        "parser error" => "the rest cannot be parsed",
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
