//! The values in the configuration file, each with its line and column.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

use panpan_failure::catalogue::nearest;
use serde::de::{DeserializeOwned, IntoDeserializer as _};
use toml::Spanned;
use toml::de::{DeArray, DeInteger, DeTable, DeValue};

use super::assignment::{Assignment, RawValue};
use super::calls;
use super::problem::{Location, Problem, Reason};
use super::settings::{self, SETTINGS, Setting};
use crate::files::read_text_file;
use crate::sources::{ServerSource, ServiceSource};

/// The maximum size of the file.
const FILE_BYTES_LIMIT: usize = 64 * 1024;
/// The maximum length of a name in a message, in characters.
const NAME_CHARACTERS: usize = 60;

type Assignments = Vec<Result<Assignment, Problem>>;

/// Reads the file, which may be missing unless it is required.
pub(super) fn read(path: &Path, is_required: bool) -> Assignments {
    match read_text_file(path, FILE_BYTES_LIMIT) {
        Ok(text) => parse(path, &text),
        Err(error) if error.kind() == ErrorKind::NotFound && !is_required => Vec::new(),
        Err(error) => {
            let location = Location::WholeFile(path.to_owned());
            vec![Err(Problem::of("", location, Reason::Unreadable(error)))]
        }
    }
}

/// The values in the text of a file.
pub(super) fn parse(path: &Path, text: &str) -> Assignments {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut parser = Parser {
        path,
        text,
        assignments: Vec::new(),
        invalid_lines: BTreeSet::new(),
    };
    for error in &errors {
        parser.syntax_error(error);
    }
    parser.table(None, table.get_ref());
    parser.assignments
}

struct Parser<'a> {
    path: &'a Path,
    text: &'a str,
    assignments: Assignments,
    /// The lines that are not valid TOML; what the parser recovered from them is ignored.
    invalid_lines: BTreeSet<usize>,
}

impl Parser<'_> {
    /// Reports the first error of a line, without the line itself, which may contain a password.
    fn syntax_error(&mut self, error: &toml::de::Error) {
        let start = error.span().map_or(0, |span| span.start);
        let location = self.location(start);
        if self.invalid_lines.insert(position(self.text, start).0) {
            let reason = Reason::Syntax(error.message().to_owned());
            self.assignments
                .push(Err(Problem::of("", location, reason)));
        }
    }

    fn table(&mut self, name: Option<&str>, table: &DeTable<'_>) {
        for (key, value) in table {
            let name = match name {
                Some(table) => format!("{table}.{}", key.get_ref()),
                None => key.get_ref().to_string(),
            };
            self.entry(&name, key.span().start, value);
        }
    }

    fn entry(&mut self, name: &str, key_start: usize, value: &Spanned<DeValue<'_>>) {
        if let Some(setting) = settings::find(name) {
            return match value.get_ref() {
                DeValue::Array(tables) if are_source_tables(setting, tables) => {
                    self.source_tables(setting, tables);
                }
                _ => self.value(setting, value),
            };
        }
        match value.get_ref() {
            DeValue::Table(table) if settings::is_table(name) => self.table(Some(name), table),
            other if settings::is_table(name) => {
                let reason = Reason::Value {
                    expected: format!("a table, as in [{name}]"),
                    found: raw_value(other).shown_by_type(),
                };
                self.problem(name, value.span().start, reason);
            }
            _ => self.problem(
                name,
                key_start,
                Reason::Unknown {
                    near: nearest_name(name),
                },
            ),
        }
    }

    fn value(&mut self, setting: &'static Setting, value: &Spanned<DeValue<'_>>) {
        let start = value.span().start;
        if self.is_valid(start) {
            self.assign(setting, start, raw_value(value.get_ref()));
        }
    }

    fn assign(&mut self, setting: &'static Setting, start: usize, value: RawValue) {
        let location = self.location(start);
        self.assignments.push(Ok(Assignment {
            setting,
            location,
            value,
        }));
    }

    /// Reads the tables of services or servers, and reports the problems of all of them.
    fn source_tables(&mut self, setting: &'static Setting, tables: &DeArray<'_>) {
        let folder = self.path.parent().unwrap_or(Path::new("")).to_owned();
        let value = match setting.name {
            settings::SERVICES => {
                let resolve = |it: ServiceSource| Ok(it.resolve(&folder));
                RawValue::Services(self.read(setting, tables, resolve))
            }
            _ => {
                let resolve = |it: ServerSource| it.resolve(&folder);
                RawValue::Servers(self.read(setting, tables, resolve))
            }
        };
        let start = tables.iter().next().map_or(0, |first| first.span().start);
        self.assign(setting, start, value);
    }

    fn read<T: DeserializeOwned>(
        &mut self,
        setting: &Setting,
        tables: &DeArray<'_>,
        resolve: impl Fn(T) -> Result<T, String>,
    ) -> Vec<T> {
        let mut read = Vec::new();
        for table in tables {
            let start = table.span().start;
            let (table, invalid) = calls::split_invalid(table);
            for (name, start, reason) in invalid {
                let name = format!("{}.{name}", setting.name);
                self.problem(&name, start, Reason::Table(reason));
            }
            let written = T::deserialize(table.into_deserializer());
            let written = written.map_err(|error| {
                let start = error.span().map_or(start, |span| span.start);
                (start, error.message().to_owned())
            });
            match written.and_then(|it| resolve(it).map_err(|reason| (start, reason))) {
                Ok(it) => read.push(it),
                Err((start, reason)) => self.problem(setting.name, start, Reason::Table(reason)),
            }
        }
        read
    }

    fn problem(&mut self, name: &str, start: usize, reason: Reason) {
        if self.is_valid(start) {
            let location = self.location(start);
            let name: String = name.chars().take(NAME_CHARACTERS).collect();
            // A quoted name may contain line breaks.
            let name = name.escape_debug().to_string();
            self.assignments
                .push(Err(Problem::of(name, location, reason)));
        }
    }

    /// Whether the line at this byte is valid TOML.
    fn is_valid(&self, start: usize) -> bool {
        !self.invalid_lines.contains(&position(self.text, start).0)
    }

    fn location(&self, start: usize) -> Location {
        let (line, column) = position(self.text, start);
        let path = self.path.to_owned();
        Location::File { path, line, column }
    }
}

/// The line and column of a byte offset, from 1, the column in characters.
fn position(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    (line, before[start..].chars().count() + 1)
}

/// The nearest name of a setting: in the same table, otherwise in any table.
fn nearest_name(name: &str) -> Option<String> {
    let (table, last) = match name.split_once('.') {
        Some((table, last)) => (Some(table), last),
        None => (None, name),
    };
    let same_table = || SETTINGS.iter().filter(move |it| it.table() == table);
    let tables = SETTINGS
        .iter()
        .filter_map(Setting::table)
        .filter(|_| table.is_none());
    let names: BTreeSet<&str> = same_table().map(Setting::last_part).chain(tables).collect();
    if let Some(near) = nearest(last, names).first() {
        let table = table.map_or_else(String::new, |table| format!("{table}."));
        return Some(format!("{table}{near}"));
    }
    let elsewhere = nearest(last, SETTINGS.iter().map(Setting::last_part));
    let setting = SETTINGS
        .iter()
        .find(|it| Some(&it.last_part()) == elsewhere.first())?;
    Some(setting.name.to_owned())
}

fn raw_value(value: &DeValue<'_>) -> RawValue {
    match value {
        DeValue::String(text) => RawValue::String(text.to_string()),
        DeValue::Boolean(value) => RawValue::Boolean(*value),
        DeValue::Integer(number) => RawValue::Number(number.to_string(), as_u64(number)),
        DeValue::Float(number) => RawValue::Number(number.to_string(), None),
        DeValue::Datetime(_) => RawValue::Other("a date or a time"),
        DeValue::Array(list) => {
            strings(list).map_or(RawValue::Other("a list of other values"), RawValue::List)
        }
        DeValue::Table(_) => RawValue::Other("a table"),
    }
}

/// Whether a list consists of tables of services or servers.
fn are_source_tables(setting: &Setting, list: &DeArray<'_>) -> bool {
    let is_table = |it: &Spanned<DeValue<'_>>| matches!(it.get_ref(), DeValue::Table(_));
    [settings::SERVICES, settings::SERVERS].contains(&setting.name)
        && !list.is_empty()
        && list.iter().all(is_table)
}

fn as_u64(number: &DeInteger<'_>) -> Option<u64> {
    u64::from_str_radix(number.as_str(), number.radix()).ok()
}

fn strings(list: &DeArray<'_>) -> Option<Vec<String>> {
    let text = |item: &Spanned<DeValue<'_>>| item.get_ref().as_str().map(str::to_owned);
    list.iter().map(text).collect()
}
