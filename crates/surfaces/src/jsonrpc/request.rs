//! What is a request, what is not, and why.

use std::borrow::Cow;
use std::collections::BTreeSet;

use panpan_failure::pointer::joined;
use panpan_failure::read::{self, ReadError};
use panpan_failure::{Failure, Violation, codes};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::reader::BodyReader;
use crate::json::Twice;

/// What a body holds.
#[derive(Debug)]
pub(super) enum Body<'a> {
    One(Item<'a>),
    Batch(Vec<Item<'a>>),
    /// A batch of so many, which is too many.
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
}

#[derive(Debug)]
pub(crate) enum Params {
    Named(Map<String, Value>),
    /// By position, and at least one.
    Listed,
    /// A name in them stands twice, at this pointer.
    Twice(Map<String, Value>, String),
}

/// Something that is no request, with its id where that could be read.
#[derive(Debug)]
pub(super) struct Invalid<'a> {
    pub(super) id: Option<&'a RawValue>,
    pub(super) problem: Problem,
}

#[derive(Debug)]
pub(super) enum Problem {
    NoObject,
    Twice(String),
    Member {
        name: &'static str,
        expected: &'static str,
    },
}

/// Reads a body of at most so many bytes, and a batch of at most so many requests.
pub(super) fn read(
    body: &[u8],
    bytes_limit: usize,
    batch_limit: usize,
) -> Result<Body<'_>, ReadError> {
    let read = read::document_as(body, bytes_limit, BodyReader { batch_limit })?;
    let wide = read::wide_numbers(body).find(|at| !read.is_of_id(body, *at));
    match wide {
        Some(offset) => Err(read::wide_number_at(body, offset)),
        None => Ok(read),
    }
}

impl Body<'_> {
    /// Whether a place in the body is within an id, which is repeated as it was written, whatever it is.
    fn is_of_id(&self, body: &[u8], at: usize) -> bool {
        let items = match self {
            Body::One(item) => std::slice::from_ref(item),
            Body::Batch(items) => items,
            Body::TooMany(_) => &[],
        };
        let ids = items.iter().filter_map(|item| match item {
            Item::Request(request) => request.id,
            Item::Invalid(invalid) => invalid.id,
        });
        let mut places = ids.map(|id| {
            let start = id.get().as_ptr().addr() - body.as_ptr().addr();
            start..start + id.get().len()
        });
        places.any(|place| place.contains(&at))
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        let failure = Failure::new(codes::INVALID_REQUEST);
        let (name, reason) = match problem {
            Problem::NoObject => return failure.with_message("a request is an object"),
            Problem::Twice(name) => {
                let reason = format!("the member {name} stands twice in the request");
                (name, reason)
            }
            Problem::Member { name, expected } => {
                (name.to_owned(), format!("{name} has to be {expected}"))
            }
        };
        failure
            .with_message(&*reason)
            .with_violation(Violation::value(joined("", &name), reason))
    }
}

/// The members of an object that may be a request.
#[derive(Default)]
pub(super) struct Members<'a> {
    pub(super) jsonrpc: Option<&'a RawValue>,
    pub(super) method: Option<&'a RawValue>,
    pub(super) id: Option<&'a RawValue>,
    /// Of two ids nobody can tell which is meant.
    pub(super) id_is_unclear: bool,
    pub(super) params: Option<Value>,
    /// Names the protocol does not know. They are ignored.
    others: BTreeSet<Cow<'a, str>>,
    pub(super) twice: Option<Cow<'a, str>>,
    pub(super) twice_in_params: Twice,
}

impl<'a> Members<'a> {
    /// Notes a member the protocol does not know.
    pub(super) fn other(&mut self, name: Cow<'a, str>) {
        if self.others.contains(&name) {
            self.twice.get_or_insert(name);
        } else {
            self.others.insert(name);
        }
    }

    pub(super) fn into_item(self) -> Item<'a> {
        let id = self.id.filter(|id| !self.id_is_unclear && is_id(id));
        match self.into_request() {
            Ok(request) => Item::Request(request),
            Err(problem) => Item::Invalid(Invalid { id, problem }),
        }
    }

    fn into_request(self) -> Result<Request<'a>, Problem> {
        let must_be = |name, expected| Problem::Member { name, expected };
        if let Some(name) = self.twice {
            return Err(Problem::Twice(name.chars().take(NAME_SHOWN).collect()));
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
            Some(Value::Array(_)) => Params::Listed,
            Some(Value::Object(members)) => match self.twice_in_params.pointer() {
                None => Params::Named(members),
                Some(pointer) => Params::Twice(members, pointer),
            },
            Some(_) => return Err(must_be("params", "an object")),
        };
        Ok(Request {
            id: self.id,
            method: method.ok_or_else(|| must_be("method", "a string"))?,
            params,
        })
    }
}

/// How much of a name is shown that stands twice, in characters.
const NAME_SHOWN: usize = 64;

fn is_id(raw: &RawValue) -> bool {
    matches!(
        raw.get().as_bytes(),
        [b'"' | b'-' | b'0'..=b'9', ..] | b"null"
    )
}

/// The text of a value that is one.
fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        return serde_json::from_str(raw.get()).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inner))
}
