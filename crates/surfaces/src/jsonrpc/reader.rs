//! Parses a body into requests, in a single pass.
//!
//! A body that is JSON is always read to its end: an error in one request affects that request only, and its id
//! is reported if it can be read. Unknown members are skipped at any depth.

use std::borrow::Cow;
use std::fmt;

use panpan_failure::read::AnyValue;
use panpan_failure::visit_scalars;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::request::{Body, Invalid, Item, Members, Problem};

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

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Body<'de>, A::Error> {
        ItemReader.visit_map(members).map(Body::One)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Body<'de>, A::Error> {
        let mut batch = Vec::new();
        while batch.len() < self.batch_limit {
            match items.next_element()? {
                Some(item) => batch.push(item),
                None => return Ok(Body::Batch(batch)),
            }
        }
        match skip_rest(items)? {
            0 => Ok(Body::Batch(batch)),
            rest => Ok(Body::TooMany(self.batch_limit + rest)),
        }
    }
}

impl<'de> Deserialize<'de> for Item<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ItemReader)
    }
}

struct ItemReader;

impl<'de> Visitor<'de> for ItemReader {
    type Value = Item<'de>;

    visit_scalars!(_ => not_an_object());

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Item<'de>, A::Error> {
        skip_rest(items).map(|_| not_an_object())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Item<'de>, A::Error> {
        let mut found = Members::default();
        while let Some(Name(name)) = members.next_key()? {
            match &*name {
                "jsonrpc" => put(
                    &mut found.jsonrpc,
                    members.next_value()?,
                    &mut found.duplicate,
                    name,
                ),
                "method" => put(
                    &mut found.method,
                    members.next_value()?,
                    &mut found.duplicate,
                    name,
                ),
                "id" => {
                    found.has_two_ids = found.id.is_some();
                    put(
                        &mut found.id,
                        members.next_value()?,
                        &mut found.duplicate,
                        name,
                    );
                }
                "params" => {
                    let params =
                        members.next_value_seed(AnyValue(&mut found.duplicate_in_params))?;
                    put(&mut found.params, params, &mut found.duplicate, name);
                }
                _ => {
                    let _: IgnoredAny = members.next_value()?;
                    found.add_unknown(name);
                }
            }
        }
        Ok(found.into_item())
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
    Item::Invalid(Invalid {
        id: None,
        problem: Problem::NotAnObject,
    })
}

/// The name of a member, borrowed if it has no escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameReader;

        impl<'de> Visitor<'de> for NameReader {
            type Value = Name<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a name")
            }

            fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(name)))
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }

        deserializer.deserialize_str(NameReader)
    }
}
