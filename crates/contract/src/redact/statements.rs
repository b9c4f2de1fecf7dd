//! Finds the values that an SQL statement inserts into a sensitive column. Statements are not
//! parsed: where one column is sensitive, every quoted value of the statement goes.

use std::sync::LazyLock;

use regex::Regex;

use super::names::is_sensitive_name;
use super::spans::Spans;

/// A statement up to its values, so that one does not hide the next.
static INSERT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\binsert\s+into\s[^(;]{1,200}\(([^()]{1,2000})\)\s*values\s*\(")
        .expect("a fixed pattern compiles")
});

/// Collects the quoted values of every statement that fills a sensitive column, and of those behind it up
/// to a semicolon: a quoted value may hold what looks like the next statement.
pub(super) fn find_inserted(text: &str, spans: &mut Spans) {
    let mut done = 0;
    for statement in INSERT.captures_iter(text) {
        let start = statement.get_match().end();
        let sensitive = |column: &str| is_sensitive_name(column.trim());
        if start >= done && statement[1].split(',').any(sensitive) {
            let end = text[start..].find(';').map_or(text.len(), |at| start + at);
            quoted(&text[start..end], start, spans);
            done = end;
        }
    }
}

/// Collects what stands between single quotes; an open quote reaches to the end.
fn quoted(values: &str, offset: usize, spans: &mut Spans) {
    let mut open = None;
    for (at, _) in values.match_indices('\'') {
        match open.take() {
            None => open = Some(at + 1),
            Some(start) => spans.push(offset + start..offset + at),
        }
    }
    if let Some(start) = open {
        spans.push(offset + start..offset + values.len());
    }
}
