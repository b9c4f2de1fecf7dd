//! Maps values of other protocols back to codes.
//!
//! Several codes may share a value; the table marks one of them as canonical. A test checks
//! `reverse(forward(code)) == canonical(code)` for every row.

use crate::entry::{Entry, Mapping};
use crate::facts::Grpc;
use crate::known::{Family, Known};
use crate::{entries, lookup, table};

/// The code for an upstream's HTTP status; `None` outside 400 to 599.
pub fn for_status(status: u16) -> Option<Known> {
    if !(400..=599).contains(&status) {
        return None;
    }
    let listed = listed_row(status).map(Known::Row);
    Some(listed.unwrap_or(Known::Member {
        family: Family::ErrHttp,
        status,
    }))
}

/// The code for a JSON-RPC number.
pub fn for_jsonrpc(number: i64) -> Option<Known> {
    let member = Family::ALL.iter().find_map(|&family| {
        let status = number.checked_sub(i64::from(family.number_base()))?;
        let status = u16::try_from(status).ok()?;
        (400..=599)
            .contains(&status)
            .then_some(Known::Member { family, status })
    });
    member.or_else(|| {
        canonical(Mapping::JsonRpc, |row| i64::from(row.jsonrpc) == number).map(Known::Row)
    })
}

/// The name of a JSON-RPC number: as in the specification, else the title of its code.
pub fn jsonrpc_name(number: i64) -> Option<std::borrow::Cow<'static, str>> {
    let standard = match number {
        -32700 => "Parse error",
        -32600 => "Invalid Request",
        -32601 => "Method not found",
        -32602 => "Invalid params",
        -32603 => "Internal error",
        _ => return for_jsonrpc(number).map(|known| known.title()),
    };
    Some(standard.into())
}

/// The code for a google.rpc code.
pub fn for_grpc(code: Grpc) -> Option<Known> {
    canonical(Mapping::Grpc, |row| row.grpc == code).map(Known::Row)
}

/// The code for a name of the flat dialect.
pub fn for_flat_name(name: &str) -> Option<Known> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let is_named = |row: &Entry| match row.flat_name {
        Some(renamed) => renamed == name,
        None => row.code.eq_ignore_ascii_case(name),
    };
    let row = canonical(Mapping::Flat, is_named).map(Known::Row);
    let member = || match lookup(&name.to_ascii_uppercase()) {
        Some(member @ Known::Member { .. }) => Some(member),
        _ => None,
    };
    row.or_else(member)
}

/// The row whose facts apply to an HTTP status: its own, a shared row, or the row for all others.
pub fn row_for_status(status: u16) -> &'static Entry {
    const CLIENT: &Entry = &table::UNLISTED_CLIENT_STATUS;
    const SERVER: &Entry = &table::UNLISTED_SERVER_STATUS;
    let shared = table::SHARED.iter().find(|(all, _)| all.contains(&status));
    let shared = || shared.map(|(_, row)| *row);
    let other = if status < 500 { CLIENT } else { SERVER };
    listed_row(status).or_else(shared).unwrap_or(other)
}

fn listed_row(status: u16) -> Option<&'static Entry> {
    let is_http =
        |row: &&Entry| row.http == status && row.code.starts_with(Family::ErrHttp.prefix());
    entries().find(is_http)
}

/// The only matching row, or the matching row that is marked as canonical.
fn canonical(mapping: Mapping, fits: impl Fn(&Entry) -> bool) -> Option<&'static Entry> {
    let mut matching = entries().filter(|row| fits(row));
    let first = matching.next()?;
    let mut rest = matching.peekable();
    if rest.peek().is_none() {
        return Some(first);
    }
    std::iter::once(first)
        .chain(rest)
        .find(|row| row.is_canonical(mapping))
}
