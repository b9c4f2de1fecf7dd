//! Parses a body into requests, in a single pass.
//!
//! A body that is JSON is always read to its end: an error in one request affects that request only, and its id
//! is reported if it can be read. Unknown members are skipped at any depth.

use std::borrow::Cow;

use panpan_failure::read::AnyValue;
use panpan_failure::{Failure, codes, visit_scalars};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::request::{Body, Invalid, Item, Members};

/// Deserializes a body with at most `batch_limit` requests in a batch.
pub(super) struct BodyReader {
    pub(super) batch_limit: usize,
}

impl<'de> DeserializeSeed<'de> for BodyReader {
    type Value = Body<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Body<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for BodyReader {
    type Value = Body<'de>;

    visit_scalars!(_ => Body::One(not_an_object()));

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Body<'de>, A::Error> {
        let mut batch = Vec::new();
        while batch.len() < self.batch_limit {
            match items.next_element_seed(Self { batch_limit: 0 })? {
                Some(Body::One(item)) => batch.push(item),
                Some(Body::Batch(_) | Body::TooMany(_)) => batch.push(not_an_object()),
                None => return Ok(Body::Batch(batch)),
            }
        }
        match skip_rest(items)? {
            0 => Ok(Body::Batch(batch)),
            rest => Ok(Body::TooMany(self.batch_limit + rest)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Body<'de>, A::Error> {
        let mut found = Members::default();
        while let Some(Name(name)) = members.next_key()? {
            let member = match &*name {
                "jsonrpc" => &mut found.jsonrpc,
                "method" => &mut found.method,
                "metadata" => &mut found.metadata,
                "id" => {
                    found.has_two_ids = found.id.is_some();
                    &mut found.id
                }
                "params" => {
                    let params =
                        members.next_value_seed(AnyValue(&mut found.duplicate_in_params))?;
                    put(&mut found.params, params, &mut found.duplicate, name);
                    continue;
                }
                _ => {
                    let _: IgnoredAny = members.next_value()?;
                    found.add_unknown(name);
                    continue;
                }
            };
            put(member, members.next_value()?, &mut found.duplicate, name);
        }
        Ok(Body::One(found.into_item()))
    }
}

fn put<'a, T>(
    member: &mut Option<T>,
    value: T,
    duplicate: &mut Option<Cow<'a, str>>,
    name: Cow<'a, str>,
) {
    if member.replace(value).is_some() {
        duplicate.get_or_insert(name);
    }
}

/// Skips the remaining items and returns their number.
fn skip_rest<'de, A: SeqAccess<'de>>(mut items: A) -> Result<usize, A::Error> {
    let mut count = 0;
    while let Some(IgnoredAny) = items.next_element()? {
        count += 1;
    }
    Ok(count)
}

fn not_an_object<'a>() -> Item<'a> {
    let problem = Failure::new(codes::INVALID_REQUEST).with_message("a request must be an object");
    Item::Invalid(Invalid { id: None, problem })
}

/// The name of a member, borrowed if it has no escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
