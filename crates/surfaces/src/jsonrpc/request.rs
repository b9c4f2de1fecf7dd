//! Requests of JSON-RPC, and the checks that make an object one.

use std::borrow::Cow;
use std::collections::BTreeSet;

use panpan_failure::pointer::joined;
use panpan_failure::read::{self, DuplicateMember, ReadError};
use panpan_failure::{Failure, Violation, codes};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::reader::BodyReader;

/// The contents of a body.
#[derive(Debug)]
pub(super) enum Body<'a> {
    One(Item<'a>),
    Batch(Vec<Item<'a>>),
    /// A batch with this many requests, which exceeds the limit.
    TooMany(usize),
}

#[derive(Debug)]
pub(super) enum Item<'a> {
    Request(Request<'a>),
    Invalid(Invalid<'a>),
}

/// A request; without an id, a notification.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) id: Option<&'a RawValue>,
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: Params,
    /// Not part of JSON-RPC: the metadata of a request in the task protocol.
    pub(crate) metadata: Option<&'a RawValue>,
}

#[derive(Debug)]
pub(crate) enum Params {
    Named(Map<String, Value>),
    /// An array with at least one item.
    Positional(Vec<Value>),
    /// An object with a duplicate member at this JSON pointer.
    Duplicate(Map<String, Value>, String),
}

/// An invalid request, with its id if it could be read.
#[derive(Debug)]
pub(super) struct Invalid<'a> {
    pub(super) id: Option<&'a RawValue>,
    pub(super) problem: Failure,
}

/// Parses a body within the limits.
pub(super) fn read(
    body: &[u8],
    bytes_limit: usize,
    batch_limit: usize,
) -> Result<Body<'_>, ReadError> {
    let read = read::document_as(body, bytes_limit, BodyReader { batch_limit })?;
    let wide = read::wide_numbers(body).find(|offset| !read.is_in_id(body, *offset));
    match wide {
        Some(offset) => Err(read::wide_number_at(body, offset)),
        None => Ok(read),
    }
}

impl Body<'_> {
    /// Whether an offset in the body lies within an id. Ids are repeated verbatim, so they may be any number.
    fn is_in_id(&self, body: &[u8], offset: usize) -> bool {
        let items = match self {
            Body::One(item) => std::slice::from_ref(item),
            Body::Batch(items) => items,
            Body::TooMany(_) => &[],
        };
        let ids = items.iter().filter_map(|item| match item {
            Item::Request(request) => request.id,
            Item::Invalid(invalid) => invalid.id,
        });
        let mut ranges = ids.map(|id| {
            let start = id.get().as_ptr().addr() - body.as_ptr().addr();
            start..start + id.get().len()
        });
        ranges.any(|range| range.contains(&offset))
    }
}

/// The failure of a request with an invalid member.
fn invalid_member(name: &str, reason: String) -> Failure {
    Failure::new(codes::INVALID_REQUEST)
        .with_message(&*reason)
        .with_violation(Violation::value(joined("", name), reason))
}

/// The members of an object that should be a request.
#[derive(Default)]
pub(super) struct Members<'a> {
    pub(super) jsonrpc: Option<&'a RawValue>,
    pub(super) method: Option<&'a RawValue>,
    pub(super) id: Option<&'a RawValue>,
    /// Neither of two ids is used.
    pub(super) has_two_ids: bool,
    pub(super) params: Option<Value>,
    pub(super) metadata: Option<&'a RawValue>,
    /// Unknown members; ignored unless one is duplicated.
    unknown: BTreeSet<Cow<'a, str>>,
    pub(super) duplicate: Option<Cow<'a, str>>,
    pub(super) duplicate_in_params: DuplicateMember,
}

impl<'a> Members<'a> {
    /// Adds a member that the protocol does not define.
    pub(super) fn add_unknown(&mut self, name: Cow<'a, str>) {
        if self.unknown.contains(&name) {
            self.duplicate.get_or_insert(name);
        } else {
            self.unknown.insert(name);
        }
    }

    pub(super) fn into_item(self) -> Item<'a> {
        let id = self.id.filter(|id| !self.has_two_ids && is_id(id));
        match self.into_request() {
            Ok(request) => Item::Request(request),
            Err(problem) => Item::Invalid(Invalid { id, problem }),
        }
    }

    fn into_request(self) -> Result<Request<'a>, Failure> {
        let must_be = |name, expected| invalid_member(name, format!("{name} must be {expected}"));
        if let Some(name) = self.duplicate {
            let shown: String = name.chars().take(SHOWN_NAME_CHARACTERS).collect();
            return Err(invalid_member(&shown, format!("duplicate member {shown}")));
        }
        if self.id.is_some_and(|id| !is_id(id)) {
            return Err(must_be("id", "a string, a number or null"));
        }
        if self.jsonrpc.and_then(text).as_deref() != Some("2.0") {
            return Err(must_be("jsonrpc", "\"2.0\""));
        }
        let method = self.method.and_then(text);
        let params = match self.params {
            None => Params::Named(Map::new()),
            Some(Value::Array(items)) if items.is_empty() => Params::Named(Map::new()),
            Some(Value::Array(items)) => match self.duplicate_in_params.pointer() {
                None => Params::Positional(items),
                Some(pointer) => Params::Duplicate(Map::new(), pointer),
            },
            Some(Value::Object(members)) => match self.duplicate_in_params.pointer() {
                None => Params::Named(members),
                Some(pointer) => Params::Duplicate(members, pointer),
            },
            Some(_) => return Err(must_be("params", "an object")),
        };
        Ok(Request {
            id: self.id,
            method: method.ok_or_else(|| must_be("method", "a string"))?,
            params,
            metadata: self.metadata,
        })
    }
}

/// How much of a duplicate member's name messages show, in characters.
const SHOWN_NAME_CHARACTERS: usize = 64;

fn is_id(raw: &RawValue) -> bool {
    matches!(
        raw.get().as_bytes(),
        [b'"' | b'-' | b'0'..=b'9', ..] | b"null"
    )
}

/// The text of a JSON string.
fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        return serde_json::from_str(raw.get()).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inner))
}
