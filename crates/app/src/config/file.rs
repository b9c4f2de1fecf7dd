//! What the file says: TOML, walked with the table of keys, every value with its place.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use panpan_failure::catalogue::nearest;
use serde::de::{DeserializeOwned, IntoDeserializer as _};
use toml::Spanned;
use toml::de::{DeArray, DeInteger, DeTable, DeValue};

use super::calls;
use super::given::{Given, Raw};
use super::keys::{self, KEYS, Key};
use super::problem::{Place, Problem, Wrong};
use crate::sources::{WrittenServer, WrittenService};

/// The largest file that is read.
const FILE_BYTES_LIMIT: u64 = 64 * 1024;
/// The longest name that is repeated whole, in characters.
const NAME_CHARACTERS: usize = 60;

type Told = Vec<Result<Given, Problem>>;

/// Reads the file. One that nobody named need not be there.
pub(super) fn read(path: &Path, is_named: bool) -> Told {
    match text_of(path) {
        Ok(text) => parsed(path, &text),
        Err(error) if error.kind() == ErrorKind::NotFound && !is_named => Vec::new(),
        Err(error) => {
            let place = Place::WholeFile(path.to_owned());
            vec![Err(Problem::of("", place, Wrong::Unreadable(error)))]
        }
    }
}

fn text_of(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    // One byte more than is read at most, so that a larger file is noticed.
    File::open(path)?
        .take(FILE_BYTES_LIMIT + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > FILE_BYTES_LIMIT {
        let said = format!("it has more than {FILE_BYTES_LIMIT} bytes");
        return Err(io::Error::new(ErrorKind::FileTooLarge, said));
    }
    Ok(text)
}

/// What a text says as the file of this name.
pub(super) fn parsed(path: &Path, text: &str) -> Told {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut walk = Walk {
        path,
        text,
        told: Vec::new(),
        broken: BTreeSet::new(),
    };
    for error in &errors {
        walk.syntax(error);
    }
    walk.table(None, table.get_ref());
    walk.told
}

struct Walk<'a> {
    path: &'a Path,
    text: &'a str,
    told: Told,
    /// The lines that are not TOML: what could be made of them says nothing.
    broken: BTreeSet<usize>,
}

impl Walk<'_> {
    /// Says the first thing that is wrong with a line. The line itself is not repeated: it may hold a
    /// password.
    fn syntax(&mut self, error: &toml::de::Error) {
        let start = error.span().map_or(0, |span| span.start);
        let (line, column) = position(self.text, start);
        if self.broken.insert(line) {
            let wrong = Wrong::Syntax(error.message().to_owned());
            self.told
                .push(Err(Problem::of("", self.place(line, column), wrong)));
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
        if let Some(key) = keys::find(name) {
            return match value.get_ref() {
                DeValue::Array(tables) if is_long_form(key, tables) => self.tables(key, tables),
                _ => self.value(key, value),
            };
        }
        match value.get_ref() {
            DeValue::Table(table) if keys::is_table(name) => self.table(Some(name), table),
            other if keys::is_table(name) => {
                let wrong = Wrong::Value {
                    expected: format!("a table, as in [{name}]"),
                    found: raw(other).shown_by_kind(),
                };
                self.wrong(name, value.span().start, wrong);
            }
            _ => self.wrong(name, key_start, Wrong::Unknown { near: near(name) }),
        }
    }

    fn value(&mut self, key: &'static Key, value: &Spanned<DeValue<'_>>) {
        let (line, column) = position(self.text, value.span().start);
        if !self.broken.contains(&line) {
            let place = self.place(line, column);
            let raw = raw(value.get_ref());
            self.told.push(Ok(Given { key, place, raw }));
        }
    }

    /// Services or servers, a table each: what is wrong with one says nothing about the next.
    fn tables(&mut self, key: &'static Key, tables: &DeArray<'_>) {
        let folder = self.path.parent().unwrap_or(Path::new("")).to_owned();
        let raw = match key.name {
            keys::SERVICES => {
                let read = |written: WrittenService| Ok(written.seen_from(&folder));
                Raw::Services(self.read(key, tables, read))
            }
            _ => {
                let read = |written: WrittenServer| written.seen_from(&folder);
                Raw::Servers(self.read(key, tables, read))
            }
        };
        let start = tables.iter().next().map_or(0, |first| first.span().start);
        let (line, column) = position(self.text, start);
        let place = self.place(line, column);
        self.told.push(Ok(Given { key, place, raw }));
    }

    fn read<W: DeserializeOwned, T>(
        &mut self,
        key: &Key,
        tables: &DeArray<'_>,
        seen: impl Fn(W) -> Result<T, String>,
    ) -> Vec<T> {
        let mut read = Vec::new();
        for table in tables {
            let start = table.span().start;
            let (table, wrong) = calls::apart(table);
            for (name, start, problem) in wrong {
                let name = format!("{}.{name}", key.name);
                self.wrong(&name, start, Wrong::Table(problem));
            }
            let written = W::deserialize(table.into_deserializer());
            let written = written.map_err(|error| {
                let start = error.span().map_or(start, |span| span.start);
                (start, error.message().to_owned())
            });
            match written.and_then(|it| seen(it).map_err(|problem| (start, problem))) {
                Ok(it) => read.push(it),
                Err((start, problem)) => self.wrong(key.name, start, Wrong::Table(problem)),
            }
        }
        read
    }

    fn wrong(&mut self, name: &str, start: usize, wrong: Wrong) {
        let (line, column) = position(self.text, start);
        if !self.broken.contains(&line) {
            let place = self.place(line, column);
            let name: String = name.chars().take(NAME_CHARACTERS).collect();
            // A name in quotes may hold anything, and a problem is one line.
            let name = name.escape_debug().to_string();
            self.told.push(Err(Problem::of(name, place, wrong)));
        }
    }

    fn place(&self, line: usize, column: usize) -> Place {
        let path = self.path.to_owned();
        Place::File { path, line, column }
    }
}

/// Line and column of a byte, counted from 1, the column in characters.
fn position(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    (line, before[start..].chars().count() + 1)
}

/// The name that was most likely meant: one of the same table that is spelled alike, or one that was put
/// into the wrong table.
fn near(name: &str) -> Option<String> {
    let (table, last) = match name.split_once('.') {
        Some((table, last)) => (Some(table), last),
        None => (None, name),
    };
    let beside = || KEYS.iter().filter(move |key| key.table() == table);
    let tables = KEYS
        .iter()
        .filter_map(Key::table)
        .filter(|_| table.is_none());
    let names: BTreeSet<&str> = beside().map(Key::last_part).chain(tables).collect();
    if let Some(near) = nearest(last, names).first() {
        let table = table.map_or_else(String::new, |table| format!("{table}."));
        return Some(format!("{table}{near}"));
    }
    let elsewhere = nearest(last, KEYS.iter().map(Key::last_part));
    let key = KEYS
        .iter()
        .find(|key| Some(&key.last_part()) == elsewhere.first())?;
    Some(key.name.to_owned())
}

fn raw(value: &DeValue<'_>) -> Raw {
    match value {
        DeValue::String(text) => Raw::String(text.to_string()),
        DeValue::Boolean(value) => Raw::Boolean(*value),
        DeValue::Integer(number) => Raw::Number(number.to_string(), whole(number)),
        DeValue::Float(number) => Raw::Number(number.to_string(), None),
        DeValue::Datetime(_) => Raw::Other("a date or a time"),
        DeValue::Array(list) => {
            strings(list).map_or(Raw::Other("a list of something else"), Raw::List)
        }
        DeValue::Table(_) => Raw::Other("a table"),
    }
}

/// Whether a list holds tables, one for each service or server.
fn is_long_form(key: &Key, list: &DeArray<'_>) -> bool {
    let is_table = |it: &Spanned<DeValue<'_>>| matches!(it.get_ref(), DeValue::Table(_));
    [keys::SERVICES, keys::SERVERS].contains(&key.name)
        && !list.is_empty()
        && list.iter().all(is_table)
}

fn whole(number: &DeInteger<'_>) -> Option<u64> {
    u64::from_str_radix(number.as_str(), number.radix()).ok()
}

fn strings(list: &DeArray<'_>) -> Option<Vec<String>> {
    let text = |item: &Spanned<DeValue<'_>>| item.get_ref().as_str().map(str::to_owned);
    list.iter().map(text).collect()
}
